"""Association of columns of any type: Cramér's V, corrected for bias.

V is 0 for independent columns and 1 if each value of one goes with one value of the other. Without the
correction (Bergsma 2013, "A bias-correction for Cramér's V and Tschuprow's T") columns with many values would
seem to depend on everything. Columns of many numbers or dates are cut into tenths first.

Labels of several levels count as equal shares of the values that they cover, and not at all if they cover every
value: as categories of their own they would make columns seem associated that are generalized together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.tables.columns import as_numbers, count_codes, encode_values, is_measured
from veil.utility.column import as_number
from veil.utility.labels import LabelledColumn

_FEW = 1 << 20
"""Largest contingency table that is counted in a dense array."""

PARTS = 10
"""Quantile bins of numbers, if there are more than twice as many distinct ones."""

Codes = NDArray[np.int64]


def cramers_v(first: Codes, second: Codes, weights: Codes | None = None) -> float | None:
    """Return the association of two columns of codes from 0; None if one of them is constant.

    `weights` are the numbers of records of each row, by default 1.

    >>> cramers_v(np.array([0, 0, 1, 1] * 25), np.array([0, 0, 1, 1] * 25))
    1.0
    """
    rows, columns = count_codes(first, 0, weights), count_codes(second, 0, weights)
    n = int(rows.sum())
    r, k = int(np.count_nonzero(rows)), int(np.count_nonzero(columns))
    if r < 2 or k < 2:
        return None
    joint = first * columns.size + second
    cells: NDArray[np.int64]
    if rows.size * columns.size <= _FEW:
        every = count_codes(joint, 0, weights)
        cells = np.flatnonzero(every)
        counts = every[cells]
    else:
        cells, place = np.unique(joint, return_inverse=True)
        counts = count_codes(place, cells.size, weights)
    expected = rows[cells // columns.size].astype(np.float64) * columns[cells % columns.size]
    # Chi-squared over n, from nonempty cells only: sum of o²/e, minus one.
    return _corrected_v(float((np.square(counts.astype(np.float64)) / expected).sum()) - 1.0, r, k, n)


def _corrected_v(phi: float, r: int, k: int, n: float) -> float | None:
    phi = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1.0
    return min(1.0, math.sqrt(phi / smaller)) if smaller > 1e-9 else None


class Shares(NamedTuple):
    """A column with labels of several levels: the label of each row, and the shares of categories in each label."""

    codes: Codes
    shares: NDArray[np.float64]


def shares_of(
    column: LabelledColumn, visible_mask: NDArray[np.bool_], weights: Codes | None = None
) -> Shares:
    """Return the shares of values in the labels of a column; many numbers are cut into tenths of the release.

    Labels that cover every value have no shares.
    """
    codes, shares = column.codes[visible_mask], column.membership()
    shares[column.sizes == len(column.values)] = 0.0
    numbers = np.array([as_number(value) for value in column.values])
    if is_measured(column.kind) and np.count_nonzero(~np.isnan(numbers)) > 2 * PARTS:
        frequencies = count_codes(codes, len(shares), weights) @ shares
        order = np.argsort(numbers, kind="stable")  # NaN last
        sums = np.cumsum(frequencies[order])
        part = np.minimum(
            (PARTS * (sums - frequencies[order] / 2) / max(sums[-1], 1e-9)).astype(np.int64), PARTS - 1
        )
        bins = np.zeros((numbers.size, PARTS + 1))
        bins[order, np.where(np.isnan(numbers[order]), PARTS, part)] = 1.0
        shares = shares @ bins
    return Shares(codes, shares)


def _shared_v(first: Codes | Shares, second: Codes | Shares, weights: Codes | None) -> float | None:
    """Return the association of two columns, one of which has shares."""
    (left, left_shares), (right, right_shares) = (
        each if isinstance(each, Shares) else Shares(each, np.eye(int(each.max()) + 1))
        for each in (first, second)
    )
    joint = count_codes(left * len(right_shares) + right, len(left_shares) * len(right_shares), weights)
    table = left_shares.T @ joint.reshape(len(left_shares), -1) @ right_shares
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = float(table.sum())
    if min(table.shape) < 2 or n <= 1.0:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    r, k = table.shape
    return _corrected_v(float((np.square(table) / expected).sum()) - 1.0, r, k, n)


def codes_of(column: pa.ChunkedArray, weights: Codes | None = None) -> Codes:
    """Return a column as codes from 0; many numbers, dates or times are cut into bins of about equal size.

    `weights` are the numbers of records of each row, by default 1.
    """
    values, codes = encode_values(column)
    if is_measured(values.type) and len(values) > 2 * PARTS:
        numbers = as_numbers(pa.chunked_array([values]))
        finite_mask = np.isfinite(numbers)
        limits = _limits(numbers[finite_mask], count_codes(codes, len(values), weights)[finite_mask])
        codes = np.where(finite_mask, np.searchsorted(limits, numbers, side="right"), limits.size + 1)[codes]
    return codes.astype(np.int64)


def _limits(numbers: NDArray[np.float64], counts: Codes) -> NDArray[np.float64]:
    """Return the distinct quantiles at which numbers that occur `counts` times are cut.

    >>> _limits(np.array([3.0, 1.0]), np.array([1, 9])).tolist()
    [1.0, 1.2]
    """
    order = np.argsort(numbers)
    numbers, ends = numbers[order], np.cumsum(counts[order])
    place = np.arange(1, PARTS) * (int(ends[-1]) - 1)
    lower, upper = (
        numbers[np.searchsorted(ends, at, side="right")] for at in (place // PARTS, -(-place // PARTS))
    )
    return np.unique(lower + (upper - lower) * (place % PARTS / PARTS))


def associations(columns: Sequence[Codes | Shares], weights: Codes | None = None) -> list[list[float | None]]:
    """Return the association of each pair of columns, to two digits; None where it is undefined."""
    matrix: list[list[float | None]] = [[None] * len(columns) for _ in columns]
    for i, first in enumerate(columns):
        codes = first.codes if isinstance(first, Shares) else first
        if codes.size < 2 or codes.max() == codes.min():
            continue
        matrix[i][i] = 1.0
        for j, second in enumerate(columns[:i]):
            if isinstance(first, Shares) or isinstance(second, Shares):
                association = _shared_v(first, second, weights)
            else:
                association = cramers_v(first, second, weights)
            matrix[i][j] = matrix[j][i] = None if association is None else round(association, 2)
    return matrix
