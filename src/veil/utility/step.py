"""Information loss and remaining risk of a masking step: the same figures for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.outcome.method import Method
from veil.published.finding import Verification
from veil.published.table import Published
from veil.risk.nearest import Linkage, record_linkage
from veil.tables.columns import (
    as_numbers,
    column_of,
    encode_values,
    is_comparable,
    is_measured,
    is_number,
    texts,
)
from veil.tables.rows import Rows


@dataclass(frozen=True)
class ColumnLoss:
    """Information loss of one column.

    Attributes
    ----------
    changed
        Share of the released cells that differ from the cell they come from.
    error
        SSE / SST of a column of numbers or dates: squared differences between input and output, divided by
        the squared differences from the mean of the input. None for categories, and if the input is constant.
    means, variances
        Of the input and of the output; only for numbers.
    total_variation
        Half the sum of absolute differences between shares before and after; only for categories.
    """

    column: str
    changed: float
    error: float | None = None
    means: tuple[float, float] | None = None
    variances: tuple[float, float] | None = None
    total_variation: float | None = None


@dataclass(frozen=True)
class Summary:
    """Information loss and risk of one step.

    Attributes
    ----------
    records
        Number of records before and after.
    columns
        Information loss, column by column.
    error
        Mean SSE / SST of the masked columns of numbers or dates; None if there is none.
    correlation
        Greatest change of a correlation of a masked column of numbers with another; None if there is none.
    smallest_class, uniques
        Size of the smallest class by all masked columns, and share of unique records, before and after.
    linkage
        Distance-based record linkage over the masked columns.

    A method that changes no column, such as sampling, is measured on all columns.
    """

    records: tuple[int, int]
    columns: tuple[ColumnLoss, ...]
    error: float | None
    correlation: float | None
    smallest_class: tuple[int, int]
    uniques: tuple[float, float]
    linkage: Linkage

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        lines = []
        for each in self.columns:
            parts = [f"{each.changed:.1%} of the cells changed"]
            if each.error is not None:
                parts.append(f"SSE/SST {each.error:.4g}")
            if each.means is not None:
                parts.append(f"mean {each.means[0]:.6g} -> {each.means[1]:.6g}")
            if each.variances is not None:
                parts.append(f"variance {each.variances[0]:.6g} -> {each.variances[1]:.6g}")
            if each.total_variation is not None:
                parts.append(f"total variation {each.total_variation:.4g}")
            lines.append(f"{each.column}: {', '.join(parts)}")
        if self.correlation is not None:
            lines.append(f"correlations change by at most {self.correlation:.4g}")
        lines.append(
            f"linked by distance: {self.linkage.forward:.2%} of the input, {self.linkage.backward:.2%} of the "
            f"output ({self.linkage.basis})"
        )
        (k, new_k), (unique, new_unique) = self.smallest_class, self.uniques
        lines.append(f"smallest class {k} -> {new_k}, unique records {unique:.2%} -> {new_unique:.2%}")
        return "\n".join(lines)


@dataclass(frozen=True)
class StepSummary:
    """One method with its information loss and risk, its promises, and facts about the run."""

    method: Method
    summary: Summary
    verification: Verification
    facts: Mapping[str, Any]

    def __str__(self) -> str:
        lines = [str(self.method)]
        lines += [f"  {line}" for line in str(self.summary).splitlines()]
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        lines += [f"  {line}" for line in str(self.verification).splitlines()]
        return "\n".join(lines)


@np.errstate(over="ignore", invalid="ignore")  # squares of huge numbers are infinite
def summarize(
    before: pa.Table, after: pa.Table, columns: Sequence[str], origins: NDArray[np.int64] | None = None
) -> Summary:
    """Compare the input and the output of a step on its masked columns.

    >>> summary = summarize(pa.table({"age": [20, 30]}), pa.table({"age": [25, 25]}), ["age"])
    >>> summary.columns[0].error, summary.smallest_class
    (1.0, (1, 2))
    """
    shared = [
        name
        for name in before.column_names
        if name in after.column_names and is_comparable(before[name].type) and is_comparable(after[name].type)
    ]
    masked = [name for name in columns if name in shared] or shared
    source = before if origins is None else before.take(pa.array(origins))
    losses = tuple(_loss(before, source, after, name) for name in masked)
    errors = [each.error for each in losses if each.error is not None]
    sizes = [Published(Rows.of(table), masked, suppressed="none").sizes for table in (before, after)]
    return Summary(
        records=(before.num_rows, after.num_rows),
        columns=losses,
        error=float(np.mean(errors)) if errors else None,
        correlation=_correlation_change(before, after, masked, shared),
        smallest_class=(_smallest(sizes[0]), _smallest(sizes[1])),
        uniques=(_alone(sizes[0]), _alone(sizes[1])),
        linkage=record_linkage(before, after, masked, origins),
    )


def _smallest(sizes: NDArray[np.int64]) -> int:
    return int(sizes.min()) if sizes.size else 0


def _alone(sizes: NDArray[np.int64]) -> float:
    return float((sizes == 1).sum() / max(1, sizes.sum()))


def _loss(before: pa.Table, source: pa.Table, after: pa.Table, name: str) -> ColumnLoss:
    """Compare a column of the output with `source`, the input rows of its rows."""
    old, new = column_of(source, name, "summary"), column_of(after, name, "summary")
    if not (is_measured(old.type) and is_measured(new.type)):
        whole = column_of(before, name, "summary")
        return _categorical_loss(whole, old, new, name)
    x, y = as_numbers(old), as_numbers(new)
    both = ~np.isnan(x) & ~np.isnan(y)
    changed = float(((x != y) & ~(np.isnan(x) & np.isnan(y))).mean())
    spread = float(np.square(x[both] - x[both].mean()).sum()) if both.any() else 0.0
    error = float(np.square(x[both] - y[both]).sum()) / spread if spread > 0 else None
    means = variances = None
    if is_number(old.type):
        whole_numbers = as_numbers(column_of(before, name, "summary"))
        means = _finite(np.mean, whole_numbers), _finite(np.mean, y)
        variances = _finite(_variance, whole_numbers), _finite(_variance, y)
    return ColumnLoss(name, changed, error, means, variances)


def _finite(statistic: Any, values: NDArray[np.float64]) -> float:
    present = values[~np.isnan(values)]
    return float(statistic(present)) if present.size else float("nan")


def _variance(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.0


def _categorical_loss(
    whole: pa.ChunkedArray, old: pa.ChunkedArray, new: pa.ChunkedArray, name: str
) -> ColumnLoss:
    if old.type != new.type:
        whole, old, new = texts(whole, name), texts(old, name), texts(new, name)
    values, codes = encode_values(pa.chunked_array([*whole.chunks, *old.chunks, *new.chunks], old.type))
    inputs, sources, outputs = np.split(codes, [len(whole), len(whole) + len(old)])
    shares = [np.bincount(part, minlength=len(values)) / max(1, part.size) for part in (inputs, outputs)]
    return ColumnLoss(
        name,
        changed=float((sources != outputs).mean()),
        total_variation=float(np.abs(shares[0] - shares[1]).sum() / 2),
    )


def _correlation_change(
    before: pa.Table, after: pa.Table, masked: Sequence[str], shared: Sequence[str]
) -> float | None:
    """Return the greatest change of Pearson correlations of masked numbers, over the rows without gaps."""
    names = [
        name
        for name in shared
        if all(is_number(column_of(table, name, "summary").type) for table in (before, after))
    ]
    if len(names) < 2 or not set(names) & set(masked):
        return None
    first, second = (_correlations(table, names) for table in (before, after))
    change = np.abs(first - second)[[name in masked for name in names]]
    changes = change[~np.isnan(change)]
    return float(changes.max()) if changes.size else None


def _correlations(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    values = np.array([as_numbers(column_of(table, name, "summary")) for name in names])
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] < 2:
        return np.full((len(names), len(names)), np.nan)
    centred = values - values.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.square(centred).sum(axis=1))
    scale[scale == 0] = np.nan  # a constant has no correlation
    correlations: NDArray[np.float64] = (centred @ centred.T) / np.outer(scale, scale)
    return correlations
