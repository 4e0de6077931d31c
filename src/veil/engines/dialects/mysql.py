"""Differences of MySQL and MariaDB.

Their collations take texts for equal that differ in case, accents or trailing blanks; a date may be invalid
(``0000-00-00``); joins without an index compare every pair of rows; and Ibis fetches values as floats, and
all at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import secrets
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.engines.dialects.base import ROWS, Dialect, register
from veil.engines.dialects.connections import typed_table
from veil.engines.dialects.quoting import quote_text
from veil.engines.dialects.values import fetch_batches, parse_texts
from veil.errors import InputError

if TYPE_CHECKING:
    import ibis

_INDEXED = 255
"""Bytes of a text that an index holds; rows with the same beginning are compared in full."""

_LONGEST = 65536
"""Letters of a text that are compared; longer texts are refused."""


_ALL = 2**63 - 1
"""More rows than there are."""


@register
class MySQL(Dialect):
    """A database of a MySQL or MariaDB server."""

    name = "mysql"
    schemes = ("mysql", "mariadb")
    extra = "mysql"
    drivers = frozenset({"MySQLdb"})
    timeout = "connect_timeout"
    copying = "if asked"
    has_nan = False
    identity = "SELECT @@hostname, @@port, @@datadir, @@pid_file"
    transaction = "START TRANSACTION"
    undoes_definitions = False
    renames_together = True
    placeholder = "%s"
    patience = "SET SESSION lock_wait_timeout = 5, SESSION innodb_lock_wait_timeout = 5"
    views_query = "SELECT table_schema, table_name FROM information_schema.views"

    @classmethod
    def log_in(cls, arguments: dict[str, Any]) -> Any:
        """Open a connection with full Unicode, whose clock is UTC."""
        with warnings.catch_warnings():
            # Ibis sets the time zone by a name that servers without a table of zones do not know.
            warnings.filterwarnings("ignore", message="Unable to set session timezone")
            backend = cls.driver().connect(**{"charset": "utf8mb4", **arguments})
        for statement in ("SET time_zone = '+00:00'", cls.patience):
            backend.raw_sql(statement).close()
        return backend

    # --- read -----------------------------------------------------------------------------------------

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        """Return the rows in the types of their schema in Ibis."""
        # Ibis takes times for nanoseconds, which MySQL does not have and not every reader of files knows.
        fields = [
            field.with_type(pa.time64("us")) if pa.types.is_time(field.type) else field
            for field in expression.schema().to_pyarrow()
        ]
        schema = pa.schema(fields)
        return pa.RecordBatchReader.from_batches(schema, self._fetch(expression, schema, rows))

    def _fetch(self, expression: ibis.Table, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        backend = self.backend
        if backend.con.character_set_name() != "utf8mb4":
            raise InputError(
                f"the connection to MySQL uses {backend.con.character_set_name()}, which cannot represent every text. "
                'Connect with charset="utf8mb4"'
            )
        query = expression.select(**{name: _sendable_column(expression[name]) for name in expression.columns})
        backend._run_pre_execute_hooks(query)
        cursor = backend.con.cursor(_streaming())
        try:
            cursor.execute(backend.compile(query))
            yield from fetch_batches(cursor, schema, rows, _array, _misfit)
        except BaseException:
            with contextlib.suppress(Exception):  # between query and answer, the driver cannot close it
                cursor.close()
            raise
        cursor.close()

    # --- compare --------------------------------------------------------------------------------------

    def exact(self, text: Any) -> Any:
        """Return the bytes of a text, which have no collation, or of a date or time as it is written."""
        import ibis

        functions = {"hex": _hex, "unhex": _unhex}
        call = {name: ibis.udf.scalar.builtin(each, name=name) for name, each in functions.items()}
        # The cast converts texts of another character set to that of the connection; Ibis would leave out one
        # to the same type. From texts without a bound on their length, MariaDB's UNHEX makes nothing.
        return call["unhex"](call["hex"](text.cast("!string").left(_LONGEST)))

    def collated(self, table: ibis.Table, texts: Sequence[str]) -> set[str]:
        return set(texts)

    def comparable(self, column: Any) -> Any:
        kind = column.type()
        if kind.is_temporal():
            return self.exact(column)
        return self.as_released(column.cast("float64") if kind.is_float32() else column)

    def check_lengths(self, name: str, values: pa.Array) -> None:
        ((compared,),) = self.rows("SELECT @@max_sort_length")
        compared = min(int(compared), _LONGEST)
        longest = pc.max(pc.binary_length(values)).as_py() or 0
        if longest >= compared:
            raise InputError(
                f"column {name!r} holds a text of {longest} bytes or more, and the server compares only the first "
                f"{compared}. Leave the column out of the plan, or let the server compare more: SET GLOBAL "
                f"max_sort_length = {_LONGEST}"
            )

    def with_truth(self, table: ibis.Table, flags: Sequence[str]) -> ibis.Table:
        """Compare flags with 0, as MySQL stores Booleans as small numbers."""
        return table.mutate(**{name: table[name] != 0 for name in flags if table[name].type().is_int8()})

    def hand_over(self, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
        """Create a temporary table of this session, with an index for joins."""
        import ibis

        kinds = ibis.schema(table.schema)
        name = f"veil_{secrets.token_hex(8)}"
        indexed = ", ".join(
            f"{self.quote(each)}({_INDEXED})" if kinds[each].is_binary() else self.quote(each)
            for each in keys
        )
        self.run(f"CREATE TEMPORARY TABLE {name} ({self.definitions(kinds)}, INDEX ({indexed}))")
        self.load(name, [self.quote(each) for each in kinds.names], table.to_reader())
        return self.table(name, kinds)

    # --- sample ---------------------------------------------------------------------------------------

    def digest(self, text: Any) -> Any:
        import ibis

        return ibis.udf.scalar.builtin(_sha2, name="sha2")(text, 256)

    def sort(self, table: ibis.Table, by: str, names: Sequence[str]) -> ibis.Table:
        # Without a limit, the order of a subquery is ignored.
        return super().sort(table, by, names).limit(_ALL)

    def keep(self, rows: ibis.Table, pieces: int | None = None) -> ibis.Table:
        """Store rows for this session, with every column unchanged."""
        name = f"veil_{secrets.token_hex(8)}"
        self.run(f"CREATE TEMPORARY TABLE {name} {self.backend.compile(rows)}")
        return self.table(name, rows.schema())

    # --- write ----------------------------------------------------------------------------------------

    def run(self, statement: str) -> None:
        self.backend.raw_sql(statement).close()

    def lock(self, name: str) -> tuple[str, str]:
        mark = quote_text(f"veil-{hashlib.sha256(name.encode()).hexdigest()[:40]}")
        return f"SELECT GET_LOCK({mark}, 0)", f"SELECT RELEASE_LOCK({mark})"

    def obstacle(self, table: str, schema: str | None) -> str | None:
        """Also lock the table for a moment: if it is in use, the server's error is raised after seconds."""
        reason = super().obstacle(table, schema)
        if reason is None and table in self.tables(schema):
            try:
                self.run(f"LOCK TABLES {self.quote(schema, table)} WRITE")
            except Exception as error:
                if "denied" not in str(error):  # without the right to lock tables, it shows only at the end
                    raise
            self.run("UNLOCK TABLES")
        return reason

    def has(self, kind: Any) -> bool:
        return True  # `definitions` spells them

    def create(self, table: str, kinds: ibis.Schema, schema: str | None = None) -> None:
        self.run(f"CREATE TABLE {self.quote(schema, table)} ({self.definitions(kinds)}) ENGINE = InnoDB")

    def definitions(self, kinds: ibis.Schema) -> str:
        """Return the columns of a new table: full Unicode, compared exactly, and times with all digits."""
        return ", ".join(f"{self.quote(name)} {_definition(kind)}" for name, kind in kinds.items())

    def table(self, name: str, kinds: ibis.Schema, schema: str | None = None) -> ibis.Table:
        """Return a table with the types it was created with: MySQL stores a Boolean as a small number."""
        return typed_table(self.backend, name, kinds, schema)

    def rename_all(self, staging: Mapping[str, str], old: Collection[str], schema: str | None) -> list[str]:
        """Rename several tables in one step, as definitions cannot be rolled back."""
        moves, replaced = [], []
        for table, new in staging.items():
            if table in old:
                replaced.append(self.quote(schema, f"{new}_old"))
                moves.append(f"{self.quote(schema, table)} TO {replaced[-1]}")
            moves.append(f"{self.quote(schema, new)} TO {self.quote(schema, table)}")
        return [f"RENAME TABLE {', '.join(moves)}", *(f"DROP TABLE {each}" for each in replaced)]

    def replace(self, staging: str, table: str, schema: str | None, *, exists: bool) -> list[str]:
        return self.rename_all({table: staging}, [table] if exists else [], schema)


def _definition(kind: Any) -> str:
    from ibis.backends.sql.datatypes import MySQLType

    if kind.is_string():
        return "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL"
    if kind.is_binary():
        return "LONGBLOB NULL"
    if kind.is_timestamp():
        return "DATETIME(6) NULL" if kind.timezone is None else "TIMESTAMP(6) NULL"
    if kind.is_decimal() and kind.scale is None:
        return "DECIMAL(38, 9) NULL"  # as Ibis has it in Arrow
    return f"{MySQLType.to_string(kind.copy(nullable=True))} NULL"


def _streaming() -> Any:
    """Return the class of cursors that leave rows on the server until they are fetched."""
    return importlib.import_module("MySQLdb.cursors").SSCursor


def _sendable_column(column: Any) -> Any:
    """Cast a column that the driver would change: rounded float32, bits as bytes, invalid dates as NULL."""
    kind = column.type()
    if kind.is_float32():
        return column.cast("float64")
    if kind.is_signed_integer():
        return column.cast("!int64")
    return column.cast("string") if kind.is_temporal() else column


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind):
        return pa.array([None if value is None else int(value) for value in values], kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(value) for value in values], kind)
    if pa.types.is_temporal(kind):
        return parse_texts(pa.array(values, pa.string()), kind)
    return pa.array(values, kind)


def _misfit(field: pa.Field, error: Exception) -> str:
    return (
        f"column {field.name!r} should hold values of type {field.type}, and holds something else. Correct it, or make a "
        f"view that casts it: CAST(`{field.name}` AS CHAR) or CAST(`{field.name}` AS SIGNED)"
    )


# Functions of MySQL; Ibis takes their types from these signatures.


def _hex(text: str) -> str: ...  # type: ignore[empty-body]


def _unhex(text: str) -> bytes: ...  # type: ignore[empty-body]


def _sha2(text: str, bits: int) -> str: ...  # type: ignore[empty-body]
