"""Information left in a release: measures of each quasi-identifier, and of all of them together.

The definitions are those of ARX, with the following exceptions.

- ARX counts a record whose quasi-identifiers all show the same text as suppressed, so that granularity and
  intensity of a single quasi-identifier are always 0. `arx=True` does the same.
- A blank cell covers its whole domain, also in a record with other values, and if the root of the hierarchy
  has another name. ARX would treat it as an unknown label.
- Shares defined by a hierarchy are used unchanged. ARX treats a redacted cell whose hierarchy has an alphabet
  as an original value.
- Where nothing is released, the average class has the largest possible size.
- Positions in a hierarchy may be any of its positions, whether they occur or not.

Arithmetic is vectorized over the distinct cells of a column; only measures of whole records read records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.utility.attributes import ATTRIBUTE_MEASURES, AttributeQuality, alike, attribute_quality, farthest
from veil.utility.column import Column
from veil.utility.comparison import Comparison
from veil.utility.measure import Function, Measured, aggregate

DATA_MEASURES = ("discernibility", "class_size", "ambiguity", "record_error")


@dataclass(frozen=True)
class Quality:
    """Information left in all quasi-identifiers.

    Attributes
    ----------
    attributes
        One entry for each quasi-identifier.
    discernibility
        Squared class sizes, plus the number of records for each suppressed one (Bayardo and Agrawal 2005).
    class_size
        Mean size of the classes, without suppressed records.
    ambiguity
        Combinations of original values that a record covers, summed over records (Goldberger and Tassa 2010).
    record_error
        Mean distance from a record to the farthest one that it covers, in standard deviations of the input.
    sse_sst
        1 - SSE/SST: squared distances of released from original values, divided by those of released values
        from the original mean, cut off at 0. Attributes are added without scaling, so that large numbers
        dominate; see `Preservation` for a measure that does not depend on units.
    """

    attributes: tuple[AttributeQuality, ...]
    discernibility: Measured
    class_size: Measured
    ambiguity: Measured
    record_error: Measured
    sse_sst: float

    def aggregate(
        self, measure: str, function: Function = "arithmetic_mean", *, normalized: bool = False
    ) -> float:
        """Return the quality of all attributes together, by one of their measures."""
        return aggregate(
            [getattr(each, measure) for each in self.attributes], function, normalized=normalized
        )

    @property
    def overall(self) -> dict[str, float]:
        """Qualities from 0 to 1 by name: arithmetic means of attributes, then those of the whole table."""
        qualities = {measure: self.aggregate(measure) for measure in ATTRIBUTE_MEASURES}
        qualities |= {measure: getattr(self, measure).quality for measure in DATA_MEASURES}
        return {**qualities, "sse_sst": self.sse_sst}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        functions: Sequence[Function] = ("arithmetic_mean", "geometric_mean", "maximum")
        return {
            "attributes": [each.to_dict() for each in self.attributes],
            "aggregates": {
                measure: {function: self.aggregate(measure, function) for function in functions}
                for measure in ATTRIBUTE_MEASURES
            },
            **{measure: getattr(self, measure).to_dict() for measure in DATA_MEASURES},
            "sse_sst": self.sse_sst,
        }

    def __str__(self) -> str:
        titles = ["quasi-identifier", "granularity", "intensity", "entropy", "squared error", "missing"]
        lines = ["  ".join([f"{titles[0]:20}", *(f"{title:>13}" for title in titles[1:])])]
        for each in self.attributes:
            shares = [getattr(each, measure).quality for measure in ATTRIBUTE_MEASURES]
            lines.append(
                "  ".join([f"{each.column:20}", *(f"{share:13.4f}" for share in [*shares, each.missings])])
            )
        shares = [self.aggregate(measure) for measure in ATTRIBUTE_MEASURES]
        lines.append("  ".join([f"{'together':20}", *(f"{share:13.4f}" for share in shares)]))
        for title, share in (
            ("discernibility", self.discernibility.quality),
            ("class size", self.class_size.quality),
            ("ambiguity", self.ambiguity.quality),
            ("record error", self.record_error.quality),
            ("1 - SSE/SST", self.sse_sst),
        ):
            lines.append(f"{title:20}  {share:13.4f}")
        return "\n".join(lines)


def quality_measures(comparison: Comparison, *, arx: bool = False) -> Quality:
    """Measure the information left in a release.

    Parameters
    ----------
    arx
        Treat records whose quasi-identifiers all show the same text as suppressed, as ARX does.

    >>> import pyarrow as pa
    >>> before = pa.table({"age": [21, 23, 35], "sex": ["f", "f", "m"]})
    >>> after = pa.table({"age": ["20-29", "20-29", "*"], "sex": ["f", "f", "*"]})
    >>> ages = [["21", "20-29", "*"], ["23", "20-29", "*"], ["35", "30-39", "*"]]
    >>> from veil import hierarchies as h
    >>> quality = quality_measures(Comparison(before, after, {"age": h.table(ages), "sex": h.suppression()}))
    >>> round(quality.attributes[0].granularity.value, 4), quality.discernibility.value
    (0.7778, 7.0)
    """
    columns = list(comparison.columns.values())
    suppressed_mask = alike(columns) if arx and not all(column.untouched for column in columns) else None
    return Quality(
        attributes=tuple(attribute_quality(column, suppressed_mask) for column in columns),
        discernibility=_discernibility(comparison),
        class_size=_class_size(comparison),
        ambiguity=_ambiguity(columns, comparison.records),
        record_error=_record_error(columns, comparison.records),
        sse_sst=_sse_sst(columns),
    )


def class_sizes(comparison: Comparison) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sizes of the classes of the original, and of the release without suppressed records."""
    columns = [column.cells for column in comparison.columns.values()]
    released_mask = ~comparison.suppressed
    before = _sizes([(each.base, each.hierarchy.size) for each in columns])
    return before, _sizes([(each.shown[released_mask], len(each.texts)) for each in columns])


def _sizes(columns: Sequence[tuple[NDArray[np.int64], int]]) -> NDArray[np.int64]:
    mixed, possible = np.zeros(columns[0][0].size, np.int64), 1
    for codes, size in columns:
        if possible * max(1, size) >= 2**62:  # too many for one integer
            mixed = np.unique(mixed, return_inverse=True)[1].astype(np.int64)
            possible = mixed.size + 1
        mixed = mixed * size + codes
        possible *= max(1, size)
    return np.unique(mixed, return_counts=True)[1].astype(np.int64)


def _discernibility(comparison: Comparison) -> Measured:
    before, after = (float(np.square(each.astype(np.float64)).sum()) for each in class_sizes(comparison))
    records = float(comparison.records)
    return Measured(after + records * int(comparison.suppressed.sum()), before, records**2)


def _class_size(comparison: Comparison) -> Measured:
    before, after = class_sizes(comparison)
    records = float(comparison.records)
    mean = float(after.mean()) if after.size else records
    return Measured(mean, float(before.mean()), records)


def _ambiguity(columns: Sequence[Column], records: int) -> Measured:
    possible, most = np.ones(records), float(records)
    for column in columns:
        domain = float(column.hierarchy.listed.sum())
        shares = column.hierarchy.materialized_shares
        covered = 1.0 / domain if column.untouched else column.covering(shares, 1.0 / domain)
        possible *= (covered * domain)[column.pair] if isinstance(covered, np.ndarray) else 1.0
        most *= domain
    return Measured(float(possible.sum()), float(records), most)


def _record_error(columns: Sequence[Column], records: int) -> Measured:
    error, most = np.zeros(records), np.zeros(records)
    for column in columns:
        present_mask = ~np.isnan(column.number)
        variance = _variance(column.number[present_mask], column.count[present_mask])
        if variance == 0:
            continue
        low, high = column.bounds
        ends = np.array([*column.extent, *low[present_mask], *high[present_mask]])
        for total, distance in (
            (error, farthest(column, low, high)),
            (most, farthest(column, ends.min(), ends.max())),
        ):
            total += np.where(present_mask, distance / variance, 0.0)[column.pair]
    return Measured(float(np.sqrt(error).mean()), 0.0, float(np.sqrt(most).mean()))


def _variance(values: NDArray[np.float64], count: NDArray[np.int64]) -> float:
    """Return the population variance of values with counts."""
    records = count.sum()
    if not records:
        return 0.0
    mean = count @ values / records
    return float(count @ np.square(values - mean) / records)


def _sse_sst(columns: Sequence[Column]) -> float:
    error = spread = 0.0
    for column in columns:
        present_mask = ~np.isnan(column.number)
        value, count = column.number[present_mask], column.count[present_mask]
        if not value.size:
            continue
        low, high = column.bounds
        middles = (low[present_mask] + high[present_mask]) / 2
        error += float(count @ np.square(value - middles))
        spread += float(count @ np.square(middles - count @ value / count.sum()))
    if error == 0:
        return 1.0
    return max(0.0, 1.0 - error / spread) if spread > 0 else 0.0
