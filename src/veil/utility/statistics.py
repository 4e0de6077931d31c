"""Summary statistics of columns before and after, as far as their scale of measure allows.

Blank cells and missing values never count. Numbers are of ratio scale, dates and times of interval scale,
ordered categories ordinal and all other values nominal. The labels of generalized numbers and dates are
ordinal, in the order of the values below them.

Three figures differ from ARX: a negative kurtosis is shown, the median of integers is not rounded, and the
geometric mean is that of the values (ARX computes it, but prints that of the values plus one, minus one).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError
from veil.hierarchies.hierarchy import ROOT
from veil.tables.arrow import has_ordered_categories
from veil.tables.columns import as_numbers, encode_values, is_measured, is_number
from veil.tables.text import canonical_text
from veil.utility.comparison import Comparison
from veil.utility.distributions import label_ranks, natural_ranks

Scale = Literal["nominal", "ordinal", "interval", "ratio"]
Plain = str | int | float | bool | None


@dataclass(frozen=True)
class Statistics:
    """Statistics of a column; None where undefined on its scale, or with too few values.

    Attributes
    ----------
    count
        Number of values.
    mode
        The most frequent value, the first in order if there are several.
    median
        The middle value. Of two: the mean of numbers and dates; otherwise None unless they agree.
    sample_variance, population_variance, standard_deviation, range
        For dates and times in squared and plain days. The deviation is that of the sample.
    kurtosis
        Excess kurtosis, corrected for bias.
    """

    scale: Scale
    count: int
    mode: Plain = None
    median: Plain = None
    minimum: Plain = None
    maximum: Plain = None
    mean: Plain = None
    sample_variance: float | None = None
    population_variance: float | None = None
    standard_deviation: float | None = None
    range: float | None = None
    kurtosis: float | None = None
    geometric_mean: float | None = None

    def without_values(self) -> Statistics:
        """Return the statistics without values of the column."""
        return replace(self, mode=None, median=None, minimum=None, maximum=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of a column before and after."""

    column: str
    before: Statistics
    after: Statistics

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"column": self.column, "before": self.before.to_dict(), "after": self.after.to_dict()}


def summary_statistics(
    comparison: Comparison, columns: list[str] | None = None, *, listwise: bool = False
) -> tuple[ColumnStatistics, ...]:
    """Summarize columns before and after.

    Parameters
    ----------
    columns
        By default all columns of both tables whose values have a text form.
    listwise
        Leave out suppressed records and those with a missing value in any column (list-wise deletion).

    >>> table = pa.table({"age": [21, 23, 35, 38]})
    >>> statistics = summary_statistics(Comparison(table, table, "age"))[0].before
    >>> statistics.mean, statistics.median, statistics.range
    (29.25, 29.0, 17.0)
    """
    names = (
        [name for name in comparison.shared if is_spelled(comparison, name)] if columns is None else columns
    )
    for name in names:
        comparison.require(name)
    suppressed = comparison.released_suppressed
    before, after = comparison.original.select(names), comparison.released.select(names)
    keep, keep_after = np.ones(before.num_rows, np.bool_), np.ones(after.num_rows, np.bool_)
    if listwise:
        keep, keep_after = _complete(before), _complete(after) & ~suppressed
    return tuple(
        ColumnStatistics(
            name,
            _original(before[name], keep, name, comparison.marker),
            _released_statistics(comparison, name, keep_after, suppressed),
        )
        for name in names
    )


def is_spelled(comparison: Comparison, name: str) -> bool:
    """Whether the values of a column have a text form in both tables."""
    try:
        for table in (comparison.original, comparison.released):
            canonical_text(table[name].slice(0, 0), column=name)
    except InputError:
        return False
    return True


def scale_of(kind: pa.DataType) -> Scale:
    """Return the scale of measure of a type."""
    if has_ordered_categories(kind):
        return "ordinal"
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if is_number(kind):
        return "ratio"
    return "interval" if is_measured(kind) else "nominal"


def _complete(table: pa.Table) -> NDArray[np.bool_]:
    missing = [np.array(pc.is_null(column), dtype=np.bool_) for column in table.columns]
    return ~np.logical_or.reduce(missing) if missing else np.ones(table.num_rows, np.bool_)


def _original(column: pa.ChunkedArray, keep: NDArray[np.bool_], name: str, marker: str | None) -> Statistics:
    values, codes = encode_values(column)
    counts = np.bincount(codes[keep], minlength=len(values))
    texts = canonical_text(values, column=name)
    return _statistics(values, texts, counts, natural_ranks(values, column), scale_of(column.type), marker)


def _released_statistics(
    comparison: Comparison, name: str, keep: NDArray[np.bool_], suppressed: NDArray[np.bool_]
) -> Statistics:
    original_column, released_column = comparison.original[name], comparison.released[name]
    values, codes = encode_values(released_column)
    if name in comparison.columns:
        keep = keep & ~suppressed
    counts = np.bincount(codes[keep], minlength=len(values))
    texts, ranks = canonical_text(values, column=name), natural_ranks(values, released_column)
    scale = scale_of(released_column.type)
    if name in comparison.columns and scale == "nominal":
        ranks = label_ranks(comparison.columns[name], original_column, texts, ranks)
        scale = "nominal" if scale_of(original_column.type) == "nominal" else "ordinal"
    return _statistics(values, texts, counts, ranks, scale, comparison.marker)


def _statistics(
    values: pa.Array,
    texts: list[str | None],
    counts: NDArray[np.int64],
    ranks: NDArray[np.float64],
    scale: Scale,
    marker: str | None,
) -> Statistics:
    there = np.array([text is not None and text != ROOT and text != marker for text in texts], np.bool_)
    if scale in ("interval", "ratio"):
        numbers = as_numbers(pa.chunked_array([values]))
        there &= np.isfinite(numbers)
    used = np.flatnonzero(there & (counts > 0))
    used = used[np.argsort(ranks[used], kind="stable")]
    if not used.size:
        return Statistics(scale, 0)
    counts = counts[used]
    if scale == "interval":
        return _interval(values.type, numbers[used], counts)
    if scale == "ratio":
        return _ratio(numbers[used], counts, integers=pa.types.is_integer(values.type))
    words = [texts[code] for code in used]
    low, high = _middle(counts)
    order: dict[str, Plain] = {}
    if scale == "ordinal":
        order = {"median": words[low] if low == high else None, "minimum": words[0], "maximum": words[-1]}
    return Statistics(scale, int(counts.sum()), mode=words[int(counts.argmax())], **order)  # type: ignore[arg-type]


def _middle(counts: NDArray[np.int64]) -> tuple[int, int]:
    """Return the indices of the two middle values (often equal) of ordered values with counts."""
    total, sums = int(counts.sum()), np.cumsum(counts)
    low, high = np.searchsorted(sums, [(total + 1) // 2, total // 2 + 1])
    return int(low), int(high)


def _ratio(numbers: NDArray[np.float64], counts: NDArray[np.int64], *, integers: bool) -> Statistics:
    def plain(number: float) -> float | int:
        return int(number) if integers else float(number)

    low, high = _middle(counts)
    return Statistics(
        "ratio",
        int(counts.sum()),
        mode=plain(numbers[counts.argmax()]),
        median=float((numbers[low] + numbers[high]) / 2),
        minimum=plain(numbers[0]),
        maximum=plain(numbers[-1]),
        mean=_mean(numbers, counts),
        geometric_mean=_geometric_mean(numbers, counts),
        **_spread(numbers, counts),
    )


def _interval(kind: pa.DataType, numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> Statistics:
    def plain(number: float) -> str | None:
        most = 2**31 - 1 if pa.types.is_date32(kind) else 2**63 - 1  # a float may round up to more
        nearest = min(math.floor(number + 0.5), most)
        whole = pa.array([nearest], pa.int32() if pa.types.is_date32(kind) else pa.int64())
        return canonical_text(whole.cast(kind))[0]

    low, high = _middle(counts)
    return Statistics(
        "interval",
        int(counts.sum()),
        mode=plain(numbers[counts.argmax()]),
        median=plain((numbers[low] + numbers[high]) / 2),
        minimum=plain(numbers[0]),
        maximum=plain(numbers[-1]),
        mean=plain(_mean(numbers, counts)),
        **_spread(numbers / _per_day(kind), counts),
    )


def _per_day(kind: pa.DataType) -> float:
    if pa.types.is_timestamp(kind):
        return 86400.0 * {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    return 1.0 if pa.types.is_date32(kind) else 86400e3


def _mean(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    first = numbers[0]  # keeps the digits of large numbers close together
    return float(first + counts @ (numbers - first) / counts.sum())


def _spread(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> dict[str, float | None]:
    n = int(counts.sum())
    apart = numbers - _mean(numbers, counts)
    squares = float(counts @ np.square(apart))
    sample = squares / (n - 1) if n > 1 else None
    kurtosis = None
    if n > 3 and squares > 0:
        fourth = float(counts @ np.square(np.square(apart / math.sqrt(squares / (n - 1)))))
        factor = n * (n + 1) / ((n - 1) * (n - 2) * (n - 3))
        kurtosis = factor * fourth - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
    return {
        "sample_variance": sample,
        "population_variance": squares / n,
        "standard_deviation": None if sample is None else math.sqrt(sample),
        "range": float(numbers[-1] - numbers[0]),
        "kurtosis": kurtosis,
    }


def _geometric_mean(numbers: NDArray[np.float64], counts: NDArray[np.int64]) -> float | None:
    if numbers[0] < 0:
        return None
    return 0.0 if numbers[0] == 0 else float(np.exp(counts @ np.log(numbers) / counts.sum()))
