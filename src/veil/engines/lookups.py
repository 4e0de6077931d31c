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

from veil.engines.dialects import Dialect, dialect_of

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
        The values as the engine spells them, and which of them are missing values. A quoted empty field of a CSV file may
        be one to Veil, and is a text to the engine, which is joined like any other.
    payload
        Labels or numbers, one for each value.
    """

    tag: str
    column: str
    values: pa.Array
    missing: NDArray[np.bool_]
    payload: dict[str, pa.Array]

    def __post_init__(self) -> None:
        equals_nothing = np.array(self.values.is_null(nan_is_null=True), np.bool_)
        object.__setattr__(self, "missing", self.missing & equals_nothing)

    def join_to(self, table: ibis.Table) -> ibis.Table:
        """Join what is not the same for all values."""
        known = self._hand_over(_engine_of(table))
        return table if known is None else table.left_join(known, self._key(table) == known[self.tag])

    def _key(self, table: ibis.Table) -> Any:
        column = table[self.column]
        dialect = _dialect(column)
        return dialect.exact(column) if pa.types.is_binary(self.values.type) else dialect.comparable(column)

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
    def _hand_over(self) -> Callable[[Any], ibis.Table | None]:
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
        return hand_over(engine, pa.table({self.tag: self.values.filter(there), **varying}), [self.tag])


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


class CombinationLookup:
    """Combinations of numbers that the engine finds again."""

    def __init__(
        self, packing: Packing, numbers: Sequence[NDArray[np.int32]], rows: NDArray[np.bool_]
    ) -> None:
        self.packing = packing
        chosen = np.stack(packing.pack([each[rows] for each in numbers]))
        self.combinations = np.unique(chosen, axis=1) if chosen.size else chosen

    def __len__(self) -> int:
        return int(self.combinations.shape[1])

    def join_to(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        """Join the list, and return what tells of a row whether its combination is on it."""
        import ibis

        if not len(self):
            return table, ibis.literal(False)
        table = table.mutate(**self.packing.words(table))
        table = table.left_join(
            self._hand_over(_engine_of(table)), [(name, f"{name}_listed") for name in self.packing.names]
        )
        return table, table[f"{self.packing.tag}_hit"].notnull()

    @functools.cached_property
    def _hand_over(self) -> Callable[[Any], ibis.Table]:
        return functools.cache(self._table)

    def _table(self, engine: Any) -> ibis.Table:
        names = [f"{name}_listed" for name in self.packing.names]
        columns = dict(zip(names, self.combinations, strict=True))
        columns[f"{self.packing.tag}_hit"] = np.ones(len(self), np.int64)
        return hand_over(engine, pa.table(columns), names)


def hand_over(engine: Any, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
    """Hand a table of the driver over to an engine, to be joined by some of its columns."""
    return dialect_of(engine).hand_over(table, keys)


def keys(table: ibis.Table, columns: Sequence[str]) -> dict[str, Any]:
    """What the engine tells values of each column apart by: the values as they are shown, or their bytes where it takes
    texts for equal. What is counted as one value must not be shown as two.
    """
    dialect, collated = _dialect(table), _collated_columns(table, columns)
    return {
        name: dialect.exact(table[name]) if name in collated else dialect.comparable(table[name])
        for name in columns
    }


def key(column: Any) -> Any:
    """What the engine tells values of one column apart by."""
    dialect = _dialect(column)
    return dialect.exact(column) if _is_collated(column) else dialect.comparable(column)


def is_not(column: Any, text: str) -> Any:
    """Tell of each row whether a column shows anything but a text."""
    import ibis

    if not _is_collated(column):
        return column.isnull() | (column != text)
    dialect = _dialect(column)
    return column.isnull() | (dialect.exact(column) != dialect.exact(ibis.literal(text)))


def _is_collated(column: Any) -> bool:
    return bool(_collated_columns(column.as_table(), [column.get_name()]))


def _collated_columns(table: ibis.Table, columns: Sequence[str]) -> set[str]:
    """Columns of which an engine may take different texts for equal. Seldom so, but where it is, classes melt away."""
    texts = [name for name in columns if table[name].type().is_string()]
    return _dialect(table).collated(table, texts) if texts else set()


def is_missing(column: Any) -> Any:
    """Tell of each row whether a column shows no value; not-a-number is none."""
    return _dialect(column).missing(column)


def as_released(column: Any) -> Any:
    """The values as they are shown: what was counted as one value must not look like two."""
    return _dialect(column).as_released(column)


def _engine_of(column: Any) -> Any:
    return column._find_backend(use_default=True)


def _dialect(column: Any) -> Dialect:
    return dialect_of(_engine_of(column))


def free_prefix(columns: Sequence[str]) -> str:
    """Return a beginning for names that none of the columns has.

    >>> free_prefix(["age", "veil_0"])
    'veil_'
    """
    prefix = "veil"
    while any(name.lower().startswith(f"{prefix}_") for name in columns):
        prefix += "_"
    return prefix
