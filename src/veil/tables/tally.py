"""Frequencies of values in a table, by which repeated rows are recognized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.tables.canonical import widened
from veil.tables.columns import count_codes, encode_values, is_list, is_text
from veil.tables.spelling import fold_texts, fold_values

PLACEHOLDERS = ("", "-", "?", "*", "n/a", "na", "none", "null", "unknown", "unbekannt", "k.a.")
"""Texts, in lower case, for missing values."""

_SOME = 1000
"""Different values of a column that suffice to recognize their form."""


class Tally(NamedTuple):
    """Frequencies of the combinations of some columns, among rows that have a value in each.

    Attributes
    ----------
    rows, different
        Number of rows, and of different combinations.
    pairs
        Number of pairs of rows with the same combination.
    most
        Number of rows with the most frequent combination.
    """

    rows: int
    different: int
    pairs: int
    most: int


class Tallied(Protocol):
    """A table whose values can be counted, in memory or in an engine."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of its columns."""

    def some(self, name: str) -> pa.ChunkedArray:
        """Return some of the different values of a column, enough to recognize their form."""

    def tally(self, names: Sequence[str]) -> Tally:
        """Count the combinations of some columns."""

    def words(self, name: str) -> tuple[Tally, Tally]:
        """Count the last words of a column of text, and the texts before them."""

    def alike(self, name: str) -> tuple[str, ...]:
        """Return some values that are counted as one: they differ in blanks, case or Unicode form only."""


class MemoryTally:
    """A table in memory, with the number of records of each row in `weights`.

    >>> table = MemoryTally(pa.table({"name": ["Ada Jones", "Ada Smith", "Ada Jones", None]}))
    >>> table.tally(["name"])
    Tally(rows=3, different=2, pairs=1, most=2)
    >>> table.words("name")
    (Tally(rows=3, different=2, pairs=1, most=2), Tally(rows=3, different=1, pairs=3, most=3))
    """

    def __init__(self, table: pa.Table, weights: NDArray[np.int64] | None = None) -> None:
        self._table, self._weights = table, weights
        self._encoded: dict[str, tuple[pa.Array, NDArray[np.int64], tuple[str, ...]]] = {}

    @property
    def columns(self) -> Sequence[str]:
        names: Sequence[str] = self._table.column_names
        return names

    def some(self, name: str) -> pa.ChunkedArray:
        values, _, _ = self._values(name)
        return pa.chunked_array([values.slice(0, _SOME)])

    def tally(self, names: Sequence[str]) -> Tally:
        combined = np.zeros(self._table.num_rows, np.int64)
        there = np.ones(self._table.num_rows, np.bool_)
        for name in names:
            values, codes, _ = self._values(name)
            there &= codes >= 0
            combined = combined * (len(values) + 1) + codes + 1
            combined = np.unique(combined, return_inverse=True)[1] if len(names) > 1 else combined
        weights = None if self._weights is None else self._weights[there]
        return tally_of(count_codes(combined[there], 0, weights))

    def words(self, name: str) -> tuple[Tally, Tally]:
        values, codes, _ = self._values(name)
        there = codes >= 0
        weights = None if self._weights is None else self._weights[there]
        return words_of(values, count_codes(codes[there], len(values), weights))

    def alike(self, name: str) -> tuple[str, ...]:
        return self._values(name)[2]

    def _values(self, name: str) -> tuple[pa.Array, NDArray[np.int64], tuple[str, ...]]:
        """Return the different values, the code of each cell (-1 if missing), and spellings of one value."""
        if name not in self._encoded:
            values, codes = encode_values(self._table[name])
            there = ~no_value(values)
            folded, places, alike = fold_values(values.filter(pa.array(there)))
            place = np.append(places, -1)[np.where(there, np.cumsum(there) - 1, -1)]
            self._encoded[name] = folded, place[codes], alike
        return self._encoded[name]


def no_value(values: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of missing values and placeholders."""
    if is_list(values.type) or pa.types.is_nested(values.type):
        return np.array(values.is_null(), dtype=np.bool_)
    missing = np.array(widened(values).is_null(nan_is_null=True), dtype=np.bool_)
    if not is_text(values.type):
        return missing
    return missing | np.array(pc.is_in(fold_texts(values), pa.array(PLACEHOLDERS)), dtype=np.bool_)


def tally_of(counts: NDArray[np.int64]) -> Tally:
    """Return the tally of combinations with these counts.

    >>> tally_of(np.array([3, 0, 1]))
    Tally(rows=4, different=2, pairs=3, most=3)
    """
    counts = counts[counts > 0].astype(np.int64)
    pairs = int((counts * (counts - 1) // 2).sum())
    return Tally(int(counts.sum()), counts.size, pairs, int(counts.max(initial=0)))


def words_of(values: pa.Array, counts: NDArray[np.int64]) -> tuple[Tally, Tally]:
    """Tally the last words of texts with these counts, and the texts before them."""
    texts = pc.utf8_trim_whitespace(values.cast(pa.string()))
    tallies = []
    for pattern in (r"^.*\s", r"\s*\S+$"):
        rest, codes = encode_values(pa.chunked_array([pc.replace_substring_regex(texts, pattern, "")]))
        tallies.append(tally_of(np.bincount(codes, weights=counts, minlength=len(rest)).astype(np.int64)))
    return tallies[0], tallies[1]
