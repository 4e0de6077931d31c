"""Small tables that the driver hands over and the engine joins to its rows: values with labels, classes by number."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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
        known = self._table
        return table if known is None else table.left_join(known, key(table[self.column]) == known[self.tag])

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
    def _table(self) -> ibis.Table | None:
        import ibis

        there = pa.array(~self.missing)
        varying = {
            f"{self.tag}_{name}": values.filter(there)
            for name, values in self.payload.items()
            if not self._is_constant(name)
        }
        if not varying:
            return None
        return ibis.memtable(pa.table({self.tag: self.values.filter(there), **varying}))


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
        table = table.left_join(self._table, [(name, f"{name}_listed") for name in self.packing.names])
        return table, table[f"{self.packing.tag}_hit"].notnull()

    @functools.cached_property
    def _table(self) -> ibis.Table:
        import ibis

        columns = dict(zip([f"{name}_listed" for name in self.packing.names], self.combinations, strict=True))
        columns[f"{self.packing.tag}_hit"] = np.ones(len(self), np.int64)
        return ibis.memtable(pa.table(columns))


def key(column: Any) -> Any:
    """What the engine tells values of a column apart by: the values, or their text where SQLite knows no more.

    SQLite stores dates, times and decimals in whatever spelling they came, and may take texts for equal that are not.
    """
    kind = column.type()
    if _engine_of(column).name != "sqlite":
        return column
    if kind.is_string():
        return column + ""  # which has no collation
    return column.cast("string") if kind.is_temporal() or kind.is_decimal() else column


def is_missing(column: Any) -> Any:
    """Tell of each row whether a column shows no value; not-a-number is none."""
    return column.isnull() | column.isnan() if _may_be_nan(column) else column.isnull()


def as_released(column: Any) -> Any:
    """The values as they are shown: what was counted as one value must not look like two.

    Engines take -0.0 and 0.0 for equal, and for Veil not-a-number is a missing value.
    """
    import ibis

    if not column.type().is_floating():
        return column
    unsigned = (column == 0).ifelse(ibis.literal(0.0, type=column.type()), column)
    return column.isnan().ifelse(None, unsigned) if _may_be_nan(column) else unsigned


def _may_be_nan(column: Any) -> bool:
    import ibis.expr.operations as operations

    return bool(column.type().is_floating() and _engine_of(column).has_operation(operations.IsNan))


def _engine_of(column: Any) -> Any:
    return column._find_backend(use_default=True)


def free_prefix(columns: Sequence[str]) -> str:
    """Return a beginning for names that none of the columns has.

    >>> free_prefix(["age", "veil_0"])
    'veil_'
    """
    prefix = "veil"
    while any(name.lower().startswith(f"{prefix}_") for name in columns):
        prefix += "_"
    return prefix
