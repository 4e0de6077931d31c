"""Preservation of columns of numbers: errors, means, variances, covariances and correlations.

A label of numbers counts as the middle between the least and the greatest original value with this label. All
measures use the numbers that are present; `compared` is their share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import InputError
from veil.tables.columns import as_numbers, is_number
from veil.utility.comparison import Comparison

Floats = NDArray[np.float64]
Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class ColumnPreservation:
    """Preservation of one column of numbers.

    Attributes
    ----------
    compared
        Share of the original numbers that have a released one.
    means, variances
        Before and after; variances are those of samples.
    mean_change, variance_change
        |after - before| / |before|; None if undefined.
    sse
        Sum of squared differences between original and released numbers, without scaling.
    sse_sst
        SSE divided by the squared differences of the same original numbers from their mean; 0 is perfect, 1
        as bad as the mean.
    ned
        Mean of the squared normalized Euclidean distance: the difference divided by the range of the original
        numbers; 1 for a number that was not released.
    il1s
        Mean absolute difference divided by the standard deviation times √2 (Mateo-Sanz et al. 2004).
    """

    column: str
    compared: float
    means: tuple[float | None, float | None]
    variances: tuple[float | None, float | None]
    mean_change: float | None
    variance_change: float | None
    sse: float
    sse_sst: float | None
    ned: float
    il1s: float | None


@dataclass(frozen=True)
class Preservation:
    """Preservation of all columns of numbers.

    Attributes
    ----------
    sse
        Sum of squared errors over all columns, in their own units (Soria-Comas 2013, section 6.5).
    sse_sst
        Mean of SSE/SST over the columns that have one.
    ned
        Mean of the squared normalized Euclidean distances over records and columns.
    correlations
        Pearson correlations before and after, over the records with both numbers; None for constants.
    covariance_change
        Mean absolute change of (co)variances, divided by the product of standard deviations before.
    correlation_change, largest_correlation_change
        Mean and greatest absolute change of a correlation between two columns.
    """

    columns: tuple[ColumnPreservation, ...]
    sse: float
    sse_sst: float | None
    ned: float
    correlations: tuple[Matrix, Matrix]
    covariance_change: float | None
    correlation_change: float | None
    largest_correlation_change: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        lines = []
        for each in self.columns:
            parts = [f"{each.column}: {each.compared:.1%} of the numbers released"]
            if None not in each.means:
                parts.append(f"mean {each.means[0]:.6g} -> {each.means[1]:.6g}")
            if None not in each.variances:
                parts.append(f"variance {each.variances[0]:.6g} -> {each.variances[1]:.6g}")
            if each.sse_sst is not None:
                parts.append(f"SSE/SST {each.sse_sst:.4g}")
            lines.append(", ".join(parts))
        if self.correlation_change is not None:
            lines.append(
                f"correlations change by {self.correlation_change:.4g} on average, {self.largest_correlation_change:.4g} "
                "at most"
            )
        return "\n".join(lines)


def preservation(comparison: Comparison, columns: Sequence[str] | None = None) -> Preservation | None:
    """Compare columns of numbers; by default all of them. None if there are none.

    >>> before = pa.table({"pay": [10, 20, 30, 40], "age": [20, 30, 40, 50]})
    >>> after = pa.table({"pay": [15, 15, 35, 35], "age": [20, 30, 40, 50]})
    >>> result = preservation(Comparison(before, after, "pay"))
    >>> result.columns[0].sse, result.columns[0].sse_sst, round(result.correlation_change, 4)
    (100.0, 0.2, 0.1056)
    """
    names = comparison.shared if columns is None else list(columns)
    pairs: dict[str, tuple[Floats, Floats]] = {}
    for name in names:
        comparison.require(name)
        pair = numbers(comparison, name)
        if pair is not None:
            pairs[name] = pair
        elif columns is not None:
            raise InputError(
                f"column {name!r} has no numbers in both tables. Choose others, or name it as a quasi-identifier with "
                "its hierarchy"
            )
    if not pairs:
        return None
    measures = tuple(_column(name, *each) for name, each in pairs.items())
    ratios = [each.sse_sst for each in measures if each.sse_sst is not None]
    before, after = (_moments(np.array([each[which] for each in pairs.values()])) for which in (0, 1))
    return Preservation(
        columns=measures,
        sse=math.fsum(each.sse for each in measures),
        sse_sst=math.fsum(ratios) / len(ratios) if ratios else None,
        ned=math.fsum(each.ned for each in measures) / len(measures),
        correlations=(_to_lists(before[1]), _to_lists(after[1])),
        **_changes(before, after),
    )


def numbers(comparison: Comparison, name: str) -> tuple[Floats, Floats] | None:
    """Return the original and the released numbers of a column, record by record, NaN for gaps.

    None if the original has no numbers, or the released texts have no known numbers.
    """
    old, new = (_plain(table[name]) for table in (comparison.original, comparison.released))
    if not is_number(old.type):
        return None
    before = _finite(as_numbers(old))
    present = comparison.place >= 0
    if name in comparison.columns:
        column = comparison.columns[name]
        low, high = column.bounds
        middles = np.where(column.missing, np.nan, (low + high) / 2)
        return before, middles[column.pair]
    if not is_number(new.type):
        return None
    after = np.full(comparison.records, np.nan)
    after[present] = _finite(as_numbers(new))[comparison.place[present]]
    return before, after


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)


def _column(name: str, before: Floats, after: Floats) -> ColumnPreservation:
    original_mask, released_mask = ~np.isnan(before), ~np.isnan(after)
    both = original_mask & released_mask
    error = before[both] - after[both]
    sse = float(error @ error)
    spread = float(np.square(before[both] - before[both].mean()).sum()) if both.any() else 0.0
    count = int(original_mask.sum())
    width = float(np.ptp(before[original_mask])) if count else 0.0
    distances = float(np.square(error / width).sum()) if width > 0 else float(np.count_nonzero(error))
    means = _mean(before[original_mask]), _mean(after[released_mask])
    variances = _variance(before[original_mask]), _variance(after[released_mask])
    deviation = math.sqrt(variances[0] or 0.0)
    return ColumnPreservation(
        column=name,
        compared=int(both.sum()) / count if count else 0.0,
        means=means,
        variances=variances,
        mean_change=_relative(*means),
        variance_change=_relative(*variances),
        sse=sse,
        sse_sst=sse / spread if spread > 0 else None,
        ned=(distances + count - int(both.sum())) / count if count else 0.0,
        il1s=float(np.abs(error).mean()) / (math.sqrt(2) * deviation) if both.any() and deviation else None,
    )


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _variance(values: Floats) -> float | None:
    return float(values.var(ddof=1)) if values.size > 1 else None


def _relative(before: float | None, after: float | None) -> float | None:
    return None if not before or after is None else abs(after - before) / abs(before)


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Return pairwise-complete covariances and correlations of columns (rows of the array).

    So gaps in a column do not change the figures of others. Columns with the same gaps are computed together.
    """
    there = ~np.isnan(values)
    alike: dict[bytes, list[int]] = {}
    for i, row in enumerate(there):
        alike.setdefault(row.tobytes(), []).append(i)
    matrices = np.full((2, len(values), len(values)), np.nan)
    for left, right in combinations_with_replacement(alike.values(), 2):
        some = left if left is right else left + right
        both = there[left[0]] & there[right[0]]
        for matrix, each in zip(matrices, _complete(values[some][:, both]), strict=True):
            block = each[: len(left), -len(right) :]
            matrix[np.ix_(left, right)], matrix[np.ix_(right, left)] = block, block.T
    return matrices[0], matrices[1]


def _complete(values: Floats) -> tuple[Floats, Floats]:
    """Return covariances and correlations of columns without gaps."""
    nothing = np.full((len(values), len(values)), np.nan)
    if values.shape[1] < 2:
        return nothing, nothing
    centred = values - values.mean(axis=1, keepdims=True)
    covariances = centred @ centred.T / (values.shape[1] - 1)
    deviations = np.sqrt(np.diag(covariances))
    # A constant has no correlation, not even by rounding.
    deviations[(values == values[:, :1]).all(axis=1)] = np.nan
    return covariances, covariances / np.outer(deviations, deviations)


def _changes(before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> dict[str, float | None]:
    deviations = np.sqrt(np.diag(before[0]))
    deviations[deviations == 0] = np.nan
    covariances = np.abs(after[0] - before[0]) / np.outer(deviations, deviations)
    above = np.triu_indices(len(deviations), 1)
    correlations = np.abs(after[1] - before[1])[above]
    covariances, correlations = covariances[~np.isnan(covariances)], correlations[~np.isnan(correlations)]
    return {
        "covariance_change": float(covariances.mean()) if covariances.size else None,
        "correlation_change": float(correlations.mean()) if correlations.size else None,
        "largest_correlation_change": float(correlations.max()) if correlations.size else None,
    }


def _to_lists(matrix: Floats) -> Matrix:
    return tuple(tuple(None if math.isnan(each) else each for each in row) for row in matrix.tolist())
