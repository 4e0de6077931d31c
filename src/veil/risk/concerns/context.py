"""A release as those see it who look for what no model judges: what is published as it is, and what is hidden."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.engines.engine_source import EngineSource
from veil.masking.pseudonyms.methods import Pseudonyms
from veil.outcome.outcome import Outcome
from veil.tables.columns import count_codes, encode_values, is_list, number_rows

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]

SAMPLE = 10_000
"""Records that are enough for a first look: a share of them is right to one percent."""

GROUPS = 50_000
"""Records of whole groups that are enough to tell how many are alone in their part of a group."""


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """Cells of the release: the different values, for each row which one it has, and how many records have each."""

    values: pa.Array
    codes: Codes
    counts: NDArray[np.int64]

    @property
    def alone(self) -> int:
        """Number of records with a value of their own."""
        return int(np.count_nonzero(self.counts == 1))

    @property
    def different(self) -> int:
        """Number of values that occur."""
        return int(np.count_nonzero(self.counts))


class View:
    """The rows of a release that show something, column by column."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.published = outcome.published
        self.shown: Rows = np.flatnonzero(~self.published.suppressed)
        self.weights = None if outcome.weights is None else outcome.weights[self.shown]
        self.records = int(self.shown.size if self.weights is None else self.weights.sum())
        self._columns: dict[str, ReleasedColumn] = {}
        self._glances: dict[str, ReleasedColumn] = {}
        self._whole: dict[str, Rows] = {}
        self._beside: dict[tuple[str, str], ReleasedColumn] = {}
        self.changed = {name for method in outcome.methods for name in method.column_names}
        self.pseudonyms = tuple(
            name
            for method in outcome.methods
            if isinstance(method, Pseudonyms)
            for name in method.columns
            if name in outcome.table.column_names
        )

    @property
    def is_private(self) -> bool:
        """Whether the release is differentially private, so that nothing may be said of it but what it says itself."""
        return self.outcome.statement is not None

    def remedy(self, remove: str, what: str) -> str:
        """Say how columns can be covered, in words that fit how the release was made: masks know no quasi-identifiers."""
        if self.outcome.plan is None:
            return f"{remove}, or mask {what}."
        one = what == "it"
        return f"{remove}, or make {what} {'a quasi-identifier' if one else 'quasi-identifiers'}."

    @functools.cached_property
    def kept(self) -> list[str]:
        """Columns that are published as they are and that no class is made of."""
        table = self.outcome.table
        return [
            name
            for name in table.column_names
            if name != self.outcome.flag
            and name not in self.changed
            and name not in self.published.names
            and self.outcome.role_of(name) in ("sensitive", "insensitive")
            and can_be_compared(table[name].type)
        ]

    @property
    def insensitive(self) -> list[str]:
        """Those of them that others may know."""
        return [name for name in self.kept if self.outcome.role_of(name) == "insensitive"]

    @functools.cached_property
    def sample(self) -> Rows:
        """Records for a first look, in an order that has nothing to do with theirs: positions in `shown`."""
        chance, rows = np.random.default_rng(0), np.arange(self.shown.size)
        if self.weights is not None:
            if self.records > 100 * SAMPLE:  # hardly any record is drawn twice
                return chance.choice(rows, SAMPLE, p=self.weights / self.records)
            rows = np.repeat(rows, self.weights)
        return chance.choice(rows, min(SAMPLE, rows.size), replace=False)

    def glance(self, name: str) -> ReleasedColumn:
        """Return a column in the records of the sample."""
        if name not in self._glances:
            self._glances[name] = self.cells(name, self.sample)
        return self._glances[name]

    def column(self, name: str) -> ReleasedColumn:
        """Return a column in all rows that are shown."""
        if name not in self._columns:
            if name in self.published.names:
                values, codes = self.published.encode(name)
            else:
                values, codes = encode_values(self.outcome.table[name])
            codes = codes if self.shown.size == codes.size else codes[self.shown]
            self._columns[name] = ReleasedColumn(values, codes, count_codes(codes, len(values), self.weights))
        return self._columns[name]

    def cells(self, name: str, rows: Rows) -> ReleasedColumn:
        """Return a column in some of the rows that are shown, each of them one record."""
        if name in self._columns or name in self.published.names:
            column = self.column(name)
            codes = column.codes[rows]
            return ReleasedColumn(column.values, codes, count_codes(codes, len(column.values), None))
        values, codes = encode_values(self.outcome.table[name].take(pa.array(self.shown[rows])))
        return ReleasedColumn(values, codes, count_codes(codes, len(values), None))

    def alone(self, name: str) -> int:
        """Return how many records have a value of a column of their own."""
        numbers = None if self.weights is not None or name in self._columns else self._numbers(name)
        if numbers is None:
            return self.column(name).alone
        missing = self.shown.size - numbers.size
        return count_alone(numbers) + (missing == 1)

    def whole_values(self, name: str) -> Rows:
        """Return all records of some values of a column, picked by chance; all records if these are few."""
        if name not in self._whole:
            self._whole[name] = self._records_of_some_values(name)
        return self._whole[name]

    def beside(self, first: str, name: str) -> ReleasedColumn:
        """Return a column in all records of some values of another one."""
        if (first, name) not in self._beside:
            self._beside[first, name] = self.cells(name, self.whole_values(first))
        return self._beside[first, name]

    def _records_of_some_values(self, name: str) -> Rows:
        numbers = None if self.shown.size <= GROUPS or name in self._columns else self._numbers(name)
        if numbers is not None and numbers.size == self.shown.size:
            # The quick way: which values are picked follows from their bits, mixed by Fibonacci hashing.
            bits = (numbers + 0).astype(np.float64).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
            rows = np.flatnonzero(mixed < np.uint64(2**64 // self.shown.size * GROUPS))
            if GROUPS // 2 <= rows.size <= 2 * GROUPS:
                return rows
        column = self.column(name)
        return whole_groups(column.codes, column.counts)

    def _numbers(self, name: str) -> NDArray[Any] | None:
        """Return the numbers and dates of a column that are there, in rows that are shown; None if it holds others."""
        column = self.outcome.table[name]
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind)):
            return None
        column = column if self.shown.size == len(column) else column.take(pa.array(self.shown))
        column = column.cast(pa.int32()) if pa.types.is_date32(kind) else column
        numbers: NDArray[Any] = column.drop_null().to_numpy()
        return numbers

    # --- what it was made from --------------------------------------------------------------------

    @property
    def has_input(self) -> bool:
        """Whether the input is here, row by row, and may be looked at."""
        held = isinstance(self.outcome.source, EngineSource) and self.outcome.prepared is None
        return not (self.is_private or held)

    def original(self, name: str, rows: Rows) -> pa.ChunkedArray:
        """Return what a column of the input has in some rows of the release, given by their position there."""
        origins = rows if self.outcome.rows is None else self.outcome.rows[rows]
        return self.outcome.original[name].take(pa.array(origins))


def count_alone(keys: NDArray[Any], weights: NDArray[np.int64] | None = None) -> int:
    """Count the records whose key no other record has.

    >>> count_alone(np.array([3, 1, 3])), count_alone(np.array([3, 1]), np.array([1, 2]))
    (1, 1)
    """
    if weights is not None:
        return int(np.count_nonzero(count_codes(number_rows(keys), 0, weights) == 1))
    ordered = np.sort(keys)
    differs = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    return int(np.count_nonzero(differs[1:] & differs[:-1])) if keys.size else 0


def whole_groups(groups: Codes, sizes: NDArray[np.int64], most: int = GROUPS) -> Rows:
    """Return all rows of groups picked by chance, about as many as asked for, in random order; all rows if these are few.

    >>> whole_groups(np.array([0, 1, 0, 1], np.int32), np.array([2, 2]), most=1).size
    2
    """
    chance = np.random.default_rng(0)
    if groups.size <= most:
        return chance.permutation(groups.size)
    order = chance.permutation(sizes.size)
    wanted = np.zeros(sizes.size, np.bool_)
    wanted[order[: 1 + np.searchsorted(np.cumsum(sizes[order]), most)]] = True
    return chance.permutation(np.flatnonzero(wanted[groups]))


def can_be_compared(kind: pa.DataType) -> bool:
    """Whether values of a type can be told apart."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not pa.types.is_nested(kind.value_type if is_list(kind) else kind)
