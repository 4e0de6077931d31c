"""The data that concerns are derived from: unchanged and hidden columns of a release."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase
from veil.engines.engine_source import EngineSource
from veil.masking.pseudonyms.methods import Pseudonyms
from veil.outcome.outcome import Outcome
from veil.tables.columns import count_codes, encode_values, is_list

Codes = NDArray[np.int32]
Rows = NDArray[np.int64]

SAMPLE = 10_000
"""Number of records of a sample: shares in it are accurate to one percent."""

GROUPS = 50_000
"""Number of records of whole groups that are enough to estimate the share of unique records."""


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """Cells of a column: the different values, the code of each row, and the records of each value."""

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


class ReleaseContext:
    """The visible rows of a release, column by column."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.published = outcome.by_records
        self.visible_rows: Rows = np.flatnonzero(~self.published.suppressed)
        self.weights = outcome.after.weights.take(self.visible_rows)
        self.records = self.weights.total
        self._columns: dict[str, ReleasedColumn] = {}
        self._samples: dict[str, ReleasedColumn] = {}
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
        """Whether the release is differentially private, so that no statement may depend on its input."""
        return self.outcome.statement is not None

    def remedy(self, columns: str, what: str, unless: str = "") -> str:
        """Describe how columns can be covered; masks know no quasi-identifiers."""
        roles = "a quasi-identifier" if what == "it" else "quasi-identifiers"
        cover = f"mask {what}" if self.outcome.plan is None else f"make {what} {roles}"
        return Phrase(f"Remove {{columns}}, or {cover}{unless}.", columns=columns)

    @functools.cached_property
    def unchanged(self) -> list[str]:
        """Columns that are published unchanged and are no quasi-identifiers."""
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
        """Unchanged columns that are not sensitive."""
        return [name for name in self.unchanged if self.outcome.role_of(name) == "insensitive"]

    @functools.cached_property
    def sample(self) -> Rows:
        """A random sample of records in random order, as positions in `visible_rows`."""
        chance, rows = np.random.default_rng(0), np.arange(self.visible_rows.size)
        if not self.weights.are_one:
            if self.records > 100 * SAMPLE:  # hardly any record is drawn twice
                return chance.choice(rows, SAMPLE, p=self.weights.array / self.records)
            rows = np.repeat(rows, self.weights.array)
        return chance.choice(rows, min(SAMPLE, rows.size), replace=False)

    def sampled(self, name: str) -> ReleasedColumn:
        """Return a column in the records of the sample."""
        if name not in self._samples:
            self._samples[name] = self.cells(name, self.sample)
        return self._samples[name]

    def column(self, name: str) -> ReleasedColumn:
        """Return a column in all visible rows."""
        if name not in self._columns:
            if name in self.published.names:
                values, codes = self.published.encode(name)
            else:
                values, codes = encode_values(self.outcome.table[name])
            codes = codes if self.visible_rows.size == codes.size else codes[self.visible_rows]
            self._columns[name] = ReleasedColumn(values, codes, self.weights.count_by(codes, len(values)))
        return self._columns[name]

    def cells(self, name: str, rows: Rows) -> ReleasedColumn:
        """Return a column in some of the visible rows, each of them one record."""
        if name in self._columns or name in self.published.names:
            column = self.column(name)
            codes = column.codes[rows]
            return ReleasedColumn(column.values, codes, count_codes(codes, len(column.values), None))
        values, codes = encode_values(self.outcome.table[name].take(pa.array(self.visible_rows[rows])))
        return ReleasedColumn(values, codes, count_codes(codes, len(values), None))

    def alone(self, name: str) -> int:
        """Count the records with a unique value of a column."""
        numbers = None if name in self._columns or not self.weights.are_one else self._numbers(name)
        if numbers is None:
            return self.column(name).alone
        missing = self.visible_rows.size - numbers.size
        return count_alone(numbers) + (missing == 1)

    def whole_values(self, name: str) -> Rows:
        """Return all records of randomly chosen values of a column; all records if these are few."""
        if name not in self._whole:
            self._whole[name] = self._records_of_some_values(name)
        return self._whole[name]

    def beside(self, first: str, name: str) -> ReleasedColumn:
        """Return a column in the records of `whole_values` of another one."""
        if (first, name) not in self._beside:
            self._beside[first, name] = self.cells(name, self.whole_values(first))
        return self._beside[first, name]

    def _records_of_some_values(self, name: str) -> Rows:
        numbers = None if self.visible_rows.size <= GROUPS or name in self._columns else self._numbers(name)
        if numbers is not None and numbers.size == self.visible_rows.size:
            # The fast way: choose values by a hash of their bits (Fibonacci hashing).
            bits = (numbers + 0).astype(np.float64).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
            rows = np.flatnonzero(mixed < np.uint64(2**64 // self.visible_rows.size * GROUPS))
            if GROUPS // 2 <= rows.size <= 2 * GROUPS:
                return rows
        column = self.column(name)
        return whole_groups(column.codes, column.counts)

    def _numbers(self, name: str) -> NDArray[Any] | None:
        """Return the numbers or dates of a column in visible rows, without gaps; None for other types."""
        column = self.outcome.table[name]
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind)):
            return None
        column = column if self.visible_rows.size == len(column) else column.take(pa.array(self.visible_rows))
        column = column.cast(pa.int32()) if pa.types.is_date32(kind) else column
        numbers: NDArray[Any] = column.drop_null().to_numpy()
        return numbers

    # --- the input ------------------------------------------------------------------------------------

    @property
    def has_input(self) -> bool:
        """Whether the input is in memory, row by row, and may be read."""
        in_engine = isinstance(self.outcome.source, EngineSource) and self.outcome.prepared is None
        return not (self.is_private or in_engine)

    @property
    def has_single_rows(self) -> bool:
        """Whether the input is in memory, and each of its rows is one record."""
        return self.has_input and self.weights.are_one

    def original(self, name: str, rows: Rows) -> pa.ChunkedArray:
        """Return the cells of an input column in some rows of the release."""
        origins = self.outcome.origins[rows]
        return self.outcome.original[name].take(pa.array(origins))


def count_alone(keys: NDArray[Any]) -> int:
    """Count the rows whose key no other row has.

    >>> count_alone(np.array([3, 1, 3]))
    1
    """
    ordered = np.sort(keys)
    differs = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    return int(np.count_nonzero(differs[1:] & differs[:-1])) if keys.size else 0


def whole_groups(groups: Codes, sizes: NDArray[np.int64], most: int = GROUPS) -> Rows:
    """Return all rows of random groups, about `most` in number, in random order; all rows if these are few.

    >>> whole_groups(np.array([0, 1, 0, 1], np.int32), np.array([2, 2]), most=1).size
    2
    """
    chance = np.random.default_rng(0)
    if groups.size <= most:
        return chance.permutation(groups.size)
    order = chance.permutation(sizes.size)
    selected_mask = np.zeros(sizes.size, np.bool_)
    selected_mask[order[: 1 + np.searchsorted(np.cumsum(sizes[order]), most)]] = True
    return chance.permutation(np.flatnonzero(selected_mask[groups]))


def can_be_compared(kind: pa.DataType) -> bool:
    """Whether values of a type can be compared."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not pa.types.is_nested(kind.value_type if is_list(kind) else kind)
