"""Records that match each other where a missing cell matches everything.

Codes are rows of non-negative integers, one column per attribute; -1 is a missing cell. Two rows match if
they agree in every column in which neither cell is missing. Matching is no equivalence: a row with missing
cells may match rows that do not match each other. So there are no classes, only the number of rows that each
row matches, including itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.tables.rows import Owners

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


def keys(codes: Codes, columns: NDArray[np.bool_]) -> Counts:
    """Number the rows so that two numbers are equal if and only if the rows are, in the given columns.

    >>> keys(np.array([[0, 5], [0, 6], [1, 5]], np.int32), np.array([True, False])).tolist()
    [1, 1, 2]
    """
    mixed = np.zeros(len(codes), np.int64)
    possible = 1
    for column in np.flatnonzero(columns):
        size = int(codes[:, column].max(initial=-1)) + 2
        if possible * size >= 2**62:  # too many for one integer: renumber
            mixed = np.unique(mixed, return_inverse=True)[1].astype(np.int64)
            possible = len(codes) + 1
        mixed = mixed * size + codes[:, column] + 1
        possible *= size
    return mixed


def patterns(codes: Codes) -> Counts:
    """Return which cells of each row are missing, as bits."""
    return (codes < 0) @ (1 << np.arange(codes.shape[1], dtype=np.int64))


@dataclass(frozen=True)
class MatchingRows:
    """Rows in two parts: distinct whole rows with their counts, and rows with missing cells one by one.

    `ranges` returns the whole rows that match each partial row, as a range in an order by the columns that
    are not missing in the pattern of the partial row.
    """

    whole: Codes
    sizes: Counts
    of_row: Counts
    """For each row the number of its whole row, or -1."""
    partial: Counts
    """Rows with missing cells."""

    @staticmethod
    def of(codes: Codes) -> MatchingRows:
        """Sort rows into the two parts."""
        gaps = (codes < 0).any(axis=1)
        rows = np.flatnonzero(~gaps)
        numbers = keys(codes[rows], np.ones(codes.shape[1], np.bool_))
        _, first, number, sizes = np.unique(
            numbers, return_index=True, return_inverse=True, return_counts=True
        )
        of_row = np.full(len(codes), -1, np.int64)
        of_row[rows] = number
        return MatchingRows(codes[rows[first]], sizes.astype(np.int64), of_row, np.flatnonzero(gaps))

    def ranges(self, partial_rows: Codes, pattern: int) -> tuple[Counts, Counts, Counts]:
        """Return an order of the whole rows, and the range in it that matches each given row.

        All given rows have the same pattern.
        """
        columns = (pattern >> np.arange(partial_rows.shape[1])) & 1 == 0
        both = keys(np.concatenate([self.whole, partial_rows]), columns)
        mine, theirs = both[: len(self.whole)], both[len(self.whole) :]
        order = np.argsort(mine, kind="stable")
        return order, np.searchsorted(mine[order], theirs), np.searchsorted(mine[order], theirs, side="right")


def matches(codes: Codes) -> tuple[MatchingRows, Counts, Counts]:
    """Count the rows that match each row. Return the two parts, with the counts of whole and of partial rows.

    >>> codes = np.array([[0, 0], [0, 0], [1, 0], [-1, 0]], np.int32)
    >>> crowd, whole, partial = matches(codes)
    >>> whole[crowd.of_row[:3]].tolist(), partial.tolist()
    ([3, 3, 2], [4])
    """
    parts = MatchingRows.of(codes)
    partial_rows = np.ascontiguousarray(codes[parts.partial])
    of_whole = parts.sizes.copy()
    of_partial = np.zeros(len(partial_rows), np.int64)
    kinds = patterns(partial_rows)
    for kind in np.unique(kinds):
        here = np.flatnonzero(kinds == kind)
        order, start, end = parts.ranges(partial_rows[here], int(kind))
        total = np.concatenate([[0], np.cumsum(parts.sizes[order])])
        of_partial[here] += total[end] - total[start]
        steps = np.bincount(start, minlength=order.size + 1) - np.bincount(end, minlength=order.size + 1)
        of_whole[order] += np.cumsum(steps)[:-1]
    values, bits, _ = pack_rows(partial_rows, partial_rows >= 0)
    _match_each_other(values, bits, of_partial)
    return parts, of_whole, of_partial


Words = NDArray[np.uint64]


def pack_rows(codes: Codes, shows: NDArray[np.bool_]) -> tuple[Words, Words, Words]:
    """Pack rows into machine words, with the bits of the cells that each row shows and those of each column.

    Two rows match if their words agree in all bits that both show: a few operations for all columns.
    """
    widths = [max(1, int(each).bit_length()) for each in codes.max(axis=0, initial=0)]
    places: list[tuple[int, int]] = []
    word = used = 0
    for width in widths:
        if used + width > 64:
            word, used = word + 1, 0
        places.append((word, used))
        used += width
    values = np.zeros((len(codes), word + 1), np.uint64)
    bits = np.zeros_like(values)
    fields = np.zeros((len(widths), word + 1), np.uint64)
    for column, (at, shift) in enumerate(places):
        fields[column, at] = ((1 << widths[column]) - 1) << shift
        values[:, at] |= np.maximum(codes[:, column], 0).astype(np.uint64) << np.uint64(shift)
        bits[shows[:, column], at] |= fields[column, at]
    return values, bits, fields


@kernel
def match(values: Words, bits: Words, a: int, b: int) -> bool:
    """Whether two packed rows match."""
    different = np.uint64(0)
    for w in range(values.shape[1]):
        different |= (values[a, w] ^ values[b, w]) & bits[a, w] & bits[b, w]
    return bool(different == 0)


@kernel
def _match_each_other(values: Words, bits: Words, counts: Counts) -> None:
    """Add to each row's count the rows among these that match it, including itself."""
    for a in range(counts.size):
        counts[a] += 1
        for b in range(a + 1, counts.size):
            if match(values, bits, a, b):
                counts[a] += 1
                counts[b] += 1


def fewest_matches(codes: Codes, enough: int, owners: Owners) -> int:
    """Return the least number of people that match a row; `enough` if none has fewer.

    This follows the definition row by row: it is what results are verified with.

    >>> fewest_matches(np.array([[0, 0], [0, 0], [1, -1]], np.int32), 2, Owners(3))
    1
    >>> fewest_matches(np.array([[0, 0], [0, 0]], np.int32), 2, Owners.coded(np.array([7, 7], np.int32)))
    1
    """
    distinct, row = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(row.ravel(), kind="stable")
    starts = np.searchsorted(row.ravel()[order], np.arange(len(distinct) + 1))
    return int(_fewest(np.ascontiguousarray(distinct), starts, owners.array[order], enough))


@kernel
def _fewest(distinct: Codes, starts: Counts, owners: NDArray[np.int32], enough: int) -> int:
    """Return the least number of owners of matching rows; `owners` of distinct row d begin at `starts[d]`."""
    fewest = enough
    met = np.full(owners.max() + 1, -1, np.int64)
    for a in range(len(distinct)):
        matches = 0
        b = -1
        while matches < enough and b < len(distinct):
            d = a if b < 0 else b  # itself first
            same = True
            for c in range(distinct.shape[1]):
                if distinct[a, c] != distinct[d, c] and distinct[a, c] >= 0 and distinct[d, c] >= 0:
                    same = False
                    break
            if same:
                for at in range(starts[d], starts[d + 1]):
                    if met[owners[at]] != a:
                        met[owners[at]] = a
                        matches += 1
            b += 1
        fewest = min(fewest, matches)
    return fewest
