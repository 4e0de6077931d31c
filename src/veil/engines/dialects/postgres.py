"""Differences of PostgreSQL: rows go in and out by COPY, and are addressed by their blocks."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv

from veil.engines.dialects.base import ROWS, Dialect, as_plain_text, register
from veil.engines.dialects.connections import stored_name
from veil.engines.dialects.quoting import quote_text
from veil.engines.dialects.spans import Chunk, Span, ranges
from veil.errors import InputError, OutputError
from veil.tables.csv.writer import write_csv
from veil.tables.formats import Csv

if TYPE_CHECKING:
    import ibis

_LONGEST = 1 << 25
"""Bytes of the longest row that is read."""

# PostgreSQL takes an unquoted empty field for null, as Veil does, and a lone \. for the end of the data.
_CSV = Csv(separator=",", header=False, missing=("", "\\."))
_COLLATING = (
    "SELECT EXISTS (SELECT FROM pg_collation WHERE NOT collisdeterministic) "
    "OR EXISTS (SELECT FROM pg_type WHERE typname = 'citext')"
)

_POLICIES = "SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass({})"
_COLUMNS = (
    "SELECT attname::text FROM pg_attribute WHERE attrelid = {}::regclass AND attnum > 0 AND NOT attisdropped"
)
_OWNER = (
    "SELECT pg_get_userbyid(relowner)::text, pg_get_userbyid(relowner) = current_user FROM pg_class "
    "WHERE oid = {}::regclass"
)
_GRANTS = """
SELECT held.attname::text, right_.privilege_type, role.rolname::text, right_.is_grantable
FROM (SELECT NULL::name AS attname, relacl AS acl, relowner FROM pg_class WHERE oid = {0}::regclass UNION ALL
      SELECT attname, attacl, NULL FROM pg_attribute
      WHERE attrelid = {0}::regclass AND attnum > 0 AND NOT attisdropped) AS held
CROSS JOIN aclexplode(held.acl) AS right_ LEFT JOIN pg_roles AS role ON role.oid = right_.grantee
WHERE right_.grantee IS DISTINCT FROM held.relowner
"""

# Otherwise the driver writes to the terminal what it cannot undo when a run is stopped.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


@register
class Postgres(Dialect):
    """A database of a PostgreSQL server."""

    name = "postgres"
    schemes = ("postgres", "postgresql")
    extra = "postgres"
    drivers = frozenset({"psycopg"})
    timeout = "connect_timeout"
    copying = "if asked"
    identity = (
        "SELECT oid, current_database(), pg_postmaster_start_time() FROM pg_database "
        "WHERE datname = current_database()"
    )

    patience = "SET lock_timeout = '5s'"
    views_query = (
        "SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE relkind NOT IN ('r', 'p', 'i', 'I', 'S', 't', 'c')"
    )

    @classmethod
    def log_in(cls, arguments: dict[str, Any]) -> Any:
        backend = super().log_in(arguments)
        backend.con.execute(cls.patience)
        backend.con.commit()
        return backend

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        schema = expression.schema().to_pyarrow()
        return pa.RecordBatchReader.from_batches(schema, self._read(expression, schema, rows))

    def _read(self, expression: ibis.Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Read by COPY, three times as fast as through Python objects, all of which the driver would hold."""
        plain = all(map(_plain_in_csv, schema.types))
        names = [
            name for name, kind in expression.schema().items() if kind.is_decimal() and kind.scale is None
        ]
        try:
            if plain:
                yield from self._copy_out(expression, schema)
            else:
                yield from self.backend.to_pyarrow_batches(expression, chunk_size=rows)
        except pa.ArrowInvalid as error:
            if "straddl" in str(error):
                raise InputError(
                    f"a row is longer than {_LONGEST >> 20} MB. Leave the column with such a long text out, or make a "
                    "view that shortens it"
                ) from None
            if not names:
                raise
            # PostgreSQL's ``numeric`` has any number of places, and Ibis takes it for one with nine.
            raise InputError(
                f"{'column' if len(names) == 1 else 'one of the columns'} {', '.join(map(repr, names))} of "
                f"type numeric holds a number with more than nine decimals, or none at all ({error}). Make a "
                "view that tells how "
                f'many there are: CAST("{names[0]}" AS numeric(38, 15)), or one that turns it into text: CAST("{names[0]}" AS text)'
            ) from None

    def _copy_out(self, expression: ibis.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        backend = self.backend
        backend._run_pre_execute_hooks(expression)
        query = f"COPY ({backend.compile(expression)}) TO STDOUT (FORMAT csv)"
        with backend.con.transaction(), backend.con.cursor() as cursor:
            cursor.execute("SET LOCAL datestyle = ISO")
            cursor.execute("SET LOCAL timezone = UTC")
            with cursor.copy(query) as stream:
                file = io.BufferedReader(_Pieces(stream), 1 << 20)
                if not file.peek(1):
                    return  # no rows, which Arrow takes for an error
                yield from csv.open_csv(
                    file,
                    read_options=csv.ReadOptions(column_names=schema.names, block_size=_LONGEST),
                    parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                    convert_options=csv.ConvertOptions(
                        column_types=schema,
                        null_values=[""],
                        true_values=["t"],
                        false_values=["f"],
                        strings_can_be_null=True,
                        quoted_strings_can_be_null=False,
                    ),
                )

    def exact(self, text: Any) -> Any:
        import ibis

        # As the text is shown, with the blanks of CHAR(n); but concat would spell a missing value as "".
        spelling = ibis.udf.scalar.builtin(_concat, name="concat")(text)
        return text.isnull().ifelse(
            None, ibis.udf.scalar.builtin(_convert_to, name="convert_to")(spelling, "UTF8")
        )

    def collated(self, table: ibis.Table, texts: Sequence[str]) -> set[str]:
        return set(texts) if self.backend.raw_sql(_COLLATING).fetchone()[0] else set()

    def as_released(self, column: Any) -> Any:
        return as_plain_text(column) if column.type().is_string() else super().as_released(column)

    def digest(self, text: Any) -> Any:
        import ibis

        functions = {"convert_to": _convert_to, "sha256": _sha256, "encode": _encode}
        call = {name: ibis.udf.scalar.builtin(each, name=name) for name, each in functions.items()}
        return call["encode"](call["sha256"](call["convert_to"](text, "UTF8")), "hex")

    def pieces(self, table: ibis.Table, rows: int) -> list[Chunk] | None:
        """Cut a table into ranges of blocks, which are found without reading the others. The last is open."""
        name = self._name_with_blocks(table)
        if name is None:
            return None
        ((blocks, count),) = self.rows(
            f"SELECT pg_relation_size({quote_text(name)}) / current_setting('block_size')::bigint, "
            f"(SELECT count(*) FROM {name})"
        )
        step = max(1, rows * blocks // max(count, 1))
        columns = ", ".join(self.quote(each) for each in table.columns)

        def piece(start: int, stop: int | None) -> ibis.Table:
            until = "" if stop is None else f" AND ctid < '({stop},0)'::tid"
            query = f"SELECT {columns} FROM {name} WHERE ctid >= '({start},0)'::tid{until}"
            return self.backend.sql(query, schema=table.schema())

        starts = range(0, max(blocks, 1), step)
        return ranges(table, [Span(start, count // len(starts)) for start in starts], 0, "blocks", piece)

    def fingerprint(self, table: ibis.Table) -> str | None:
        """Return the file, the number of rows and the sum of their transactions; each change shows in one."""
        name = self._name_with_blocks(table)
        if name is None:
            return None
        (state,) = self.rows(
            f"SELECT pg_relation_filenode({quote_text(name)}), count(*), sum(xmin::text::bigint) FROM {name}"
        )
        return " ".join(map(str, state))

    def _name_with_blocks(self, table: ibis.Table) -> str | None:
        """Return the quoted name of a table that holds its rows itself: no view, partitions or children."""
        name = stored_name(self.backend, table)
        if name is None:
            return None
        ((kind, parent),) = self.rows(
            f"SELECT relkind::text, relhassubclass FROM pg_class WHERE oid = {quote_text(name)}::regclass"
        )
        return name if kind in ("r", "m") and not parent else None

    def lock(self, name: str) -> tuple[str, str]:
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        return f"SELECT pg_try_advisory_lock({number})", f"SELECT pg_advisory_unlock({number})"

    def obstacle(self, table: str, schema: str | None) -> str | None:
        """Also lock the table for a moment: if another session holds it, the server's error is raised."""
        name = self.quote(schema, table)
        rules = self.rows(_POLICIES.format(quote_text(name)))
        if (reason := super().obstacle(table, schema)) is not None or not rules:
            return reason
        if rules[0][0]:
            return (
                "has row-level security, which a new table in its place would not have. Choose another name, "
                "or drop the table"
            )
        with self.backend.con.transaction(force_rollback=True):
            self.backend.con.execute("SET LOCAL lock_timeout = '5s'")
            self.backend.con.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        return None

    def replace(self, staging: str, table: str, schema: str | None, *, exists: bool) -> list[str]:
        """Also give the new table the owner and the rights of the old one."""
        rights = self._rights(staging, table, schema) if exists else []
        return [*rights, *super().replace(staging, table, schema, exists=exists)]

    def _rights(self, staging: str, table: str, schema: str | None) -> list[str]:
        old, new = quote_text(self.quote(schema, table)), self.quote(schema, staging)
        columns = {name for (name,) in self.rows(_COLUMNS.format(quote_text(new)))}
        statements = []
        for column, privilege, grantee, grantable in self.rows(_GRANTS.format(old)):
            if column is not None and column not in columns:
                raise OutputError(
                    f"{self.quote(schema, table)}: somebody may {privilege} column {column!r}, which the new table does "
                    "not have. Revoke that right, or choose another name"
                )
            what = privilege if column is None else f"{privilege} ({self.quote(column)})"
            whom = "PUBLIC" if grantee is None else self.quote(grantee)
            statements.append(f"GRANT {what} ON {new} TO {whom}{' WITH GRANT OPTION' if grantable else ''}")
        ((owner, ours),) = self.rows(_OWNER.format(old))
        return [*statements, *([] if ours else [f"ALTER TABLE {new} OWNER TO {self.quote(owner)}"])]

    def load(self, table: str, columns: Sequence[str], rows: pa.RecordBatchReader) -> None:
        statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT csv)"
        with self.backend.con.cursor() as cursor, cursor.copy(statement) as copy:
            for batch in rows:
                text = io.BytesIO()
                write_csv(pa.Table.from_batches([batch]), text, _CSV)
                copy.write(text.getbuffer())


def _plain_in_csv(kind: pa.DataType) -> bool:
    is_a = pa.types
    plain = is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_string(kind) or is_a.is_boolean(kind)
    return bool(plain or is_a.is_decimal(kind) or is_a.is_date(kind) or is_a.is_timestamp(kind))


class _Pieces(io.RawIOBase):
    """A file of the pieces that a driver hands over."""

    def __init__(self, pieces: Iterable[Any]) -> None:
        self.pieces, self.rest = iter(pieces), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self.rest:
            piece = next(self.pieces, None)
            if piece is None:
                return 0
            self.rest = memoryview(piece)
        size = min(len(into), len(self.rest))
        into[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


# Functions of PostgreSQL; Ibis takes their types from these signatures.


def _concat(text: str) -> str: ...  # type: ignore[empty-body]


def _convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


def _sha256(data: bytes) -> bytes: ...  # type: ignore[empty-body]


def _encode(data: bytes, form: str) -> str: ...  # type: ignore[empty-body]
