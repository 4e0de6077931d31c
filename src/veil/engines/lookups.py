"""Small tables that the driver hands over and the engine joins to its rows: values with labels, classes by number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.engines.dialects import mysql
from veil.engines.dialects.rows import spark_frame

if TYPE_CHECKING:
    import ibis

_ROOM = 2**62
"""Number of combinations that one integer tells apart."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """What the engine should know about each value of a column.

    Attributes
    ----------
    tag
        Begins the names of everything that is joined.
    values, missing
        The values as the engine spells them, and which of them are missing values.
    payload
        Labels or numbers, one for each value.
    """

    tag: str
    column: str
    values: pa.Array
    missing: NDArray[np.bool_]
    payload: dict[str, pa.Array]

    def joined(self, table: ibis.Table) -> ibis.Table:
        """Join what is not the same for all values."""
        known = self._handed(_engine_of(table))
        return table if known is None else table.left_join(known, self._key(table) == known[self.tag])

    def _key(self, table: ibis.Table) -> Any:
        column = table[self.column]
        return exact(column) if pa.types.is_binary(self.values.type) else _comparable(column)

    def cell(self, table: ibis.Table, name: str) -> Any:
        """What a row of the joined table has of the payload."""
        import ibis

        payload = self.payload[name]
        kind = "string" if pa.types.is_string(payload.type) else "int64"
        there = payload.filter(pa.array(~self.missing))
        if self._is_constant(name):
            found = ibis.literal(there[0].as_py() if len(there) else None, type=kind)
        else:
            found = table[f"{self.tag}_{name}"]
        if not self.missing.any():
            return found
        # What a missing value becomes is no matter of a join, as nothing equals it.
        of_missing = payload[int(np.flatnonzero(self.missing)[0])].as_py()
        if len(there) and self._is_constant(name) and of_missing == there[0].as_py():
            return found
        return ibis.ifelse(is_missing(table[self.column]), ibis.literal(of_missing, type=kind), found)

    def _is_constant(self, name: str) -> bool:
        return len(pc.unique(self.payload[name].filter(pa.array(~self.missing)))) <= 1

    @functools.cached_property
    def _handed(self) -> Callable[[Any], ibis.Table | None]:
        return functools.cache(self._table)  # once to each engine

    def _table(self, engine: Any) -> ibis.Table | None:
        there = pa.array(~self.missing)
        varying = {
            f"{self.tag}_{name}": values.filter(there)
            for name, values in self.payload.items()
            if not self._is_constant(name)
        }
        if not varying:
            return None
        return handed(engine, pa.table({self.tag: self.values.filter(there), **varying}), [self.tag])


class Digit(NamedTuple):
    """A number that rows get from a look-up: the name of its payload, and how many different ones there may be."""

    lookup: Lookup
    name: str
    size: int


class Packing:
    """Numbers of several look-ups, packed into as few integers as hold every combination of them."""

    def __init__(self, tag: str, digits: Sequence[Digit]) -> None:
        self.tag, self.digits = tag, digits
        self.places: list[tuple[int, int]] = []
        word = 0
        room = 1
        for digit in digits:
            if room * digit.size >= _ROOM:
                word, room = word + 1, 1
            self.places.append((word, room))
            room *= digit.size
        self.names = [f"{tag}_{number}" for number in range(word + 1)]

    def pack(self, numbers: Sequence[NDArray[np.int32]]) -> list[NDArray[np.int64]]:
        """Pack numbers that the driver has."""
        words = [np.zeros(numbers[0].size, np.int64) for _ in self.names]
        for (word, stride), each in zip(self.places, numbers, strict=True):
            words[word] += each.astype(np.int64) * stride
        return words

    def unpack(self, words: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int32]]:
        """Return the numbers again."""
        return [
            (words[word] // stride % digit.size).astype(np.int32)
            for (word, stride), digit in zip(self.places, self.digits, strict=True)
        ]

    def words(self, table: ibis.Table) -> dict[str, Any]:
        """The integers of each row of a table that the look-ups are joined to."""
        import ibis

        made = {name: ibis.literal(0, type="int64") for name in self.names}
        for (word, stride), digit in zip(self.places, self.digits, strict=True):
            if digit.size > 1:
                name = self.names[word]
                made[name] = made[name] + digit.lookup.cell(table, digit.name).cast("int64") * stride
        return made


class Listed:
    """Combinations of numbers that the engine finds again."""

    def __init__(
        self, packing: Packing, numbers: Sequence[NDArray[np.int32]], rows: NDArray[np.bool_]
    ) -> None:
        self.packing = packing
        chosen = np.stack(packing.pack([each[rows] for each in numbers]))
        self.combinations = np.unique(chosen, axis=1) if chosen.size else chosen

    def __len__(self) -> int:
        return int(self.combinations.shape[1])

    def joined(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        """Join the list, and return what tells of a row whether its combination is on it."""
        import ibis

        if not len(self):
            return table, ibis.literal(False)
        table = table.mutate(**self.packing.words(table))
        table = table.left_join(
            self._handed(_engine_of(table)), [(name, f"{name}_listed") for name in self.packing.names]
        )
        return table, table[f"{self.packing.tag}_hit"].notnull()

    @functools.cached_property
    def _handed(self) -> Callable[[Any], ibis.Table]:
        return functools.cache(self._table)

    def _table(self, engine: Any) -> ibis.Table:
        names = [f"{name}_listed" for name in self.packing.names]
        columns = dict(zip(names, self.combinations, strict=True))
        columns[f"{self.packing.tag}_hit"] = np.ones(len(self), np.int64)
        return handed(engine, pa.table(columns), names)


def handed(engine: Any, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
    """Hand a table of the driver over to an engine, to be joined by some of its columns."""
    import ibis

    return mysql.handed(engine, table, keys) if engine.name == "mysql" else ibis.memtable(table)


def keys(table: ibis.Table, columns: Sequence[str]) -> dict[str, Any]:
    """What the engine tells values of each column apart by: the values as they are shown, or their bytes where it takes
    texts for equal. What is counted as one value must not be shown as two.
    """
    collated = _collated(table, columns)
    return {name: exact(table[name]) if name in collated else _comparable(table[name]) for name in columns}


def key(column: Any) -> Any:
    """What the engine tells values of one column apart by."""
    return exact(column) if _is_collated(column) else _comparable(column)


def _comparable(column: Any) -> Any:
    """SQLite stores dates, times and decimals in whatever spelling they came, and MySQL dates that are none."""
    kind, engine = column.type(), _engine_of(column)
    if engine.name == "sqlite" and (kind.is_temporal() or kind.is_decimal()):
        return column.cast("string")
    if engine.name == "mysql":
        if kind.is_temporal():
            return exact(column)
        column = column.cast("float64") if kind.is_float32() else column
    return as_released(column)


def exact(text: Any, engine: Any = None) -> Any:
    """The bytes of a text: equal if and only if the texts are the same."""
    import ibis

    engine = _engine_of(text) if engine is None else engine
    if engine.name == "mysql":
        return mysql.exact(text)
    if engine.name == "postgres":
        # Spelled as they are shown, with the blanks of CHAR(n); but a missing value would be spelled "".
        spelled = ibis.udf.scalar.builtin(_concat, name="concat")(text)
        return text.isnull().ifelse(
            None, ibis.udf.scalar.builtin(_convert_to, name="convert_to")(spelled, "UTF8")
        )
    if engine.name == "pyspark":
        return text.cast("binary")
    return ibis.udf.scalar.builtin(_encode, name="encode")(text)


def is_not(column: Any, text: str) -> Any:
    """Tell of each row whether a column shows anything but a text."""
    import ibis

    if not _is_collated(column):
        return column.isnull() | (column != text)
    return column.isnull() | (exact(column) != exact(ibis.literal(text), _engine_of(column)))


def _is_collated(column: Any) -> bool:
    return bool(_collated(column.as_table(), [column.get_name()]))


def _collated(table: ibis.Table, columns: Sequence[str]) -> set[str]:
    """Columns of which an engine may take different texts for equal. Seldom so, but where it is, classes melt away."""
    texts = [name for name in columns if table[name].type().is_string()]
    engine = _engine_of(table)
    if not texts or engine.name not in ("mysql", "postgres", "duckdb", "pyspark"):
        return set()
    if engine.name == "pyspark":
        fields = spark_frame(engine, table.select(texts)).schema.fields
        return {
            each.name for each in fields if getattr(each.dataType, "collation", _SPARK_EXACT) != _SPARK_EXACT
        }
    if engine.name == "postgres":
        collates = engine.raw_sql(_COLLATING_POSTGRES).fetchone()[0]
    elif engine.name == "duckdb":
        spelled = "collate" in engine.compile(table.select(texts)).lower()
        collates = spelled or engine.raw_sql(_COLLATING_DUCKDB).fetchone()[0]
    else:
        collates = True
    return set(texts) if collates else set()


_SPARK_EXACT = "UTF8_BINARY"
_COLLATING_POSTGRES = (
    "SELECT EXISTS (SELECT FROM pg_collation WHERE NOT collisdeterministic) "
    "OR EXISTS (SELECT FROM pg_type WHERE typname = 'citext')"
)
_COLLATING_DUCKDB = (
    "SELECT current_setting('default_collation') <> '' "
    "OR EXISTS (SELECT 1 FROM duckdb_tables() WHERE sql ILIKE '%collate%') "
    "OR EXISTS (SELECT 1 FROM duckdb_views() WHERE NOT internal AND sql ILIKE '%collate%')"
)


def _as_text(column: Any, engine: Any) -> Any:
    """Text and nothing but text.

    PostgreSQL compares and mixes values of an enumeration with nothing else, and DuckDB would write all values of one
    into a Parquet file, also those that no row has. SQLite may keep bytes or numbers in a column of text.
    """
    if engine.name == "sqlite":
        return column + ""  # which has no collation, either
    # A text with a length is no enumeration, and CHAR(n) would lose its blanks.
    if engine.name not in ("postgres", "duckdb") or column.type().length is not None:
        return column
    return column.cast("!string").cast("string")  # Ibis would leave a cast to the same type out


def is_missing(column: Any) -> Any:
    """Tell of each row whether a column shows no value; not-a-number is none."""
    return column.isnull() | column.isnan() if _may_be_nan(column) else column.isnull()


def as_released(column: Any) -> Any:
    """The values as they are shown: what was counted as one value must not look like two.

    Engines take -0.0 and 0.0 for equal, and for Veil not-a-number is a missing value. To SQLite, truth is any number
    but 0. Values of an enumeration are texts.
    """
    import ibis

    if column.type().is_string():
        return _as_text(column, _engine_of(column))
    if column.type().is_boolean() and _engine_of(column).name == "sqlite":
        return column.cast("int64") != 0
    if not column.type().is_floating():
        return column
    unsigned = (column == 0).ifelse(ibis.literal(0.0, type=column.type()), column)
    return column.isnan().ifelse(None, unsigned) if _may_be_nan(column) else unsigned


def _may_be_nan(column: Any) -> bool:
    import ibis.expr.operations as operations

    engine = _engine_of(column)
    if not column.type().is_floating() or engine.name == "mysql":  # where every float is a number
        return False
    return bool(engine.has_operation(operations.IsNan))


def _engine_of(column: Any) -> Any:
    return column._find_backend(use_default=True)


def _concat(text: str) -> str: ...  # type: ignore[empty-body]


def _convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


def _encode(text: str) -> bytes: ...  # type: ignore[empty-body]


def free_prefix(columns: Sequence[str]) -> str:
    """Return a beginning for names that none of the columns has.

    >>> free_prefix(["age", "veil_0"])
    'veil_'
    """
    prefix = "veil"
    while any(name.lower().startswith(f"{prefix}_") for name in columns):
        prefix += "_"
    return prefix
