"""Small tables that the engine joins to its rows: values with labels, classes by number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
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
"""Number of combinations that one integer distinguishes."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """Values of a column with their payload, for the engine to join.

    Attributes
    ----------
    tag
        Prefix of the names of everything that is joined.
    values, missing
        The values as the engine spells them, and which of them are missing values. A quoted empty field of a
        CSV file may be missing to Veil, but is a text to the engine, which is joined like any other.
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
        """Join the payload that is not the same for all values."""
        payload = self._hand_over(_engine_of(table))
        return table if payload is None else table.left_join(payload, self._key(table) == payload[self.tag])

    def _key(self, table: ibis.Table) -> Any:
        column = table[self.column]
        dialect = _dialect(column)
        return dialect.exact(column) if pa.types.is_binary(self.values.type) else dialect.comparable(column)

    def cell(self, table: ibis.Table, name: str) -> Any:
        """Return the payload of each row of the joined table."""
        import ibis

        payload = self.payload[name]
        kind = "string" if pa.types.is_string(payload.type) else "int64"
        present = payload.filter(pa.array(~self.missing))
        if self._is_constant(name):
            value = ibis.literal(present[0].as_py() if len(present) else None, type=kind)
        else:
            value = table[f"{self.tag}_{name}"]
        if not self.missing.any():
            return value
        # A missing value equals nothing, so no join finds its payload.
        of_missing = payload[int(np.flatnonzero(self.missing)[0])].as_py()
        if len(present) and self._is_constant(name) and of_missing == present[0].as_py():
            return value
        return ibis.ifelse(is_missing(table[self.column]), ibis.literal(of_missing, type=kind), value)

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
    """A number that rows get from a look-up: the name of its payload, and the number of different ones."""

    lookup: Lookup
    name: str
    size: int


class Packing:
    """Numbers of several look-ups, packed into as few integers as hold every combination."""

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
        """Pack numbers in memory."""
        words = [np.zeros(numbers[0].size, np.int64) for _ in self.names]
        for (word, stride), each in zip(self.places, numbers, strict=True):
            words[word] += each.astype(np.int64) * stride
        return words

    def unpack(self, words: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int32]]:
        """Unpack the numbers."""
        return [
            (words[word] // stride % digit.size).astype(np.int32)
            for (word, stride), digit in zip(self.places, self.digits, strict=True)
        ]

    def words(self, table: ibis.Table) -> dict[str, Any]:
        """Return expressions for the packed integers by name; the table is joined to the look-ups already."""
        import ibis

        integers = {name: ibis.literal(0, type="int64") for name in self.names}
        for (word, stride), digit in zip(self.places, self.digits, strict=True):
            if digit.size > 1:
                name = self.names[word]
                integers[name] = integers[name] + digit.lookup.cell(table, digit.name).cast("int64") * stride
        return integers


class CombinationLookup:
    """A list of combinations of numbers, for the engine to join."""

    def __init__(
        self, packing: Packing, numbers: Sequence[NDArray[np.int32]], rows: NDArray[np.bool_]
    ) -> None:
        self.packing = packing
        packed = np.stack(packing.pack([each[rows] for each in numbers]))
        self.combinations = np.unique(packed, axis=1) if packed.size else packed

    def __len__(self) -> int:
        return int(self.combinations.shape[1])

    def join_to(self, table: ibis.Table) -> tuple[ibis.Table, Any]:
        """Join the list, and return an expression that is true where the combination of a row is on it."""
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


class CombinationPayload:
    """Combinations of numbers with a payload, for the engine to join."""

    def __init__(
        self,
        packing: Packing,
        numbers: Sequence[NDArray[np.int32]],
        payload: Mapping[str, NDArray[np.int64]],
    ) -> None:
        self.packing = packing
        packed = np.stack(packing.pack(numbers))
        self.combinations, first, number = np.unique(packed, axis=1, return_index=True, return_inverse=True)
        self.payload = {name: values[first] for name, values in payload.items()}
        self.is_unique = all(
            np.array_equal(self.payload[name][number.ravel()], values) for name, values in payload.items()
        )

    def join_to(self, table: ibis.Table) -> ibis.Table:
        """Join the payload to the rows; rows whose combination is not listed get none."""
        table = table.mutate(**self.packing.words(table))
        names = [(name, f"{name}_listed") for name in self.packing.names]
        return table.left_join(self._hand_over(_engine_of(table)), names)

    @functools.cached_property
    def _hand_over(self) -> Callable[[Any], ibis.Table]:
        return functools.cache(self._table)

    def _table(self, engine: Any) -> ibis.Table:
        names = [f"{name}_listed" for name in self.packing.names]
        columns = dict(zip(names, self.combinations, strict=True)) | self.payload
        return hand_over(engine, pa.table(columns), names)


def hand_over(engine: Any, table: pa.Table, keys: Sequence[str]) -> ibis.Table:
    """Pass a small table to an engine, to be joined by some of its columns."""
    return dialect_of(engine).hand_over(table, keys)


def keys(table: ibis.Table, columns: Sequence[str]) -> dict[str, Any]:
    """Return the form in which values of each column are compared: as released, or bytes in a collation."""
    dialect, collated = _dialect(table), _collated_columns(table, columns)
    return {
        name: dialect.exact(table[name]) if name in collated else dialect.comparable(table[name])
        for name in columns
    }


def key(column: Any) -> Any:
    """Return the form in which values of one column are compared."""
    dialect = _dialect(column)
    return dialect.exact(column) if _is_collated(column) else dialect.comparable(column)


def is_not(column: Any, text: str) -> Any:
    """Return an expression that is true where a column shows anything but a text."""
    import ibis

    if not _is_collated(column):
        return column.isnull() | (column != text)
    dialect = _dialect(column)
    return column.isnull() | (dialect.exact(column) != dialect.exact(ibis.literal(text)))


def _is_collated(column: Any) -> bool:
    return bool(_collated_columns(column.as_table(), [column.get_name()]))


def _collated_columns(table: ibis.Table, columns: Sequence[str]) -> set[str]:
    """Return the columns whose different texts an engine may take for equal, which would merge classes."""
    texts = [name for name in columns if table[name].type().is_string()]
    return _dialect(table).collated(table, texts) if texts else set()


def is_missing(column: Any) -> Any:
    """Return an expression that is true where a column is NULL or NaN."""
    return _dialect(column).missing(column)


def as_released(column: Any) -> Any:
    """Return the values as they are released: values counted as one must not look like two."""
    return _dialect(column).as_released(column)


def _engine_of(column: Any) -> Any:
    return column._find_backend(use_default=True)


def _dialect(column: Any) -> Dialect:
    return dialect_of(_engine_of(column))


def free_prefix(columns: Sequence[str]) -> str:
    """Return a prefix that the name of no column has.

    >>> free_prefix(["age", "veil_0"])
    'veil_'
    """
    prefix = "veil"
    while any(name.lower().startswith(f"{prefix}_") for name in columns):
        prefix += "_"
    return prefix
