"""Information left in one quasi-identifier; differences from ARX are listed in `veil.utility.quality`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.utility.column import Column
from veil.utility.measure import Measured

ATTRIBUTE_MEASURES = ("granularity", "intensity", "entropy", "squared_error")


@dataclass(frozen=True)
class AttributeQuality:
    """Information left in one quasi-identifier.

    Attributes
    ----------
    granularity
        Mean share of the domain that a cell covers (Iyengar 2002). Labels unknown to the hierarchy count as
        one value.
    intensity
        Mean level of a cell over the height of the hierarchy (Sweeney 2002). Labels unknown to the hierarchy
        count as its top.
    entropy
        Bits missing to derive the original values from the released ones (de Waal and Willenborg 1999).
    squared_error
        Squared distance from the original value to the farther end of the cell's range. Numbers and dates
        have their own distances; other values have those of positions in the hierarchy.
    missings, missings_before
        Share of blank cells, after and before.
    """

    column: str
    granularity: Measured
    intensity: Measured
    entropy: Measured
    squared_error: Measured
    missings: float
    missings_before: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        measures = {name: getattr(self, name).to_dict() for name in ATTRIBUTE_MEASURES}
        return {
            "column": self.column,
            **measures,
            "missings": self.missings,
            "missings_before": self.missings_before,
        }


def attribute_quality(column: Column, suppressed_mask: NDArray[np.bool_] | None = None) -> AttributeQuality:
    """Measure the information left in a quasi-identifier; the loss of records in the mask is 1."""
    count = column.count.astype(np.float64)
    records = float(count.sum())
    return AttributeQuality(
        column=column.name,
        granularity=_granularity(column, suppressed_mask),
        intensity=_intensity(column, suppressed_mask),
        entropy=_entropy(column),
        squared_error=_squared_error(column),
        missings=float(count @ column.missing) / records,
        missings_before=float(count @ column.missing_before) / records,
    )


def _granularity(column: Column, suppressed_mask: NDArray[np.bool_] | None) -> Measured:
    hierarchy = column.hierarchy
    least = 1.0 / hierarchy.domain_size
    if column.untouched and suppressed_mask is None:
        return Measured(least, least, 1.0)
    return Measured(_mean(column, column.covering(hierarchy.shares, least), suppressed_mask), least, 1.0)


def _intensity(column: Column, suppressed_mask: NDArray[np.bool_] | None) -> Measured:
    height = column.hierarchy.height
    level = np.where(column.unknown, height, column.level)
    return Measured(_mean(column, level / height, suppressed_mask), 0.0, 1.0)


def _mean(column: Column, losses: NDArray[np.float64], suppressed_mask: NDArray[np.bool_] | None) -> float:
    """Return the mean loss of records; it is 1 for those in `suppressed_mask`."""
    if suppressed_mask is None:
        return float(column.count @ losses) / float(column.count.sum())
    return float(np.where(suppressed_mask, 1.0, losses[column.pair]).mean())


def alike(columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Return a mask of the records whose quasi-identifiers all show the same text."""
    ids: dict[str | None, int] = {}
    text_codes = []
    for column in columns:
        texts = np.array([ids.setdefault(text, len(ids)) for text in column.texts], np.int64)
        texts[-1] = -1
        text_codes.append(texts[column.text][column.pair])
    alike: NDArray[np.bool_] = np.logical_and.reduce([each == text_codes[0] for each in text_codes])
    return alike


def _entropy(column: Column) -> Measured:
    """Return the sum of the bits that are lost from each used level to the next.

    Frequencies on a level count the records that are generalized to it or further.
    """
    hierarchy, count = column.hierarchy, column.count.astype(np.float64)
    loss, before = 0.0, 0
    level = np.where(column.unknown, hierarchy.height, column.level)
    for here in np.unique(level).tolist():
        some = level >= here
        times = count * some
        fine, coarse = (_frequencies(column, times, each)[some] for each in (before, here))
        loss -= float(count[some] @ np.log2(fine / coarse))
        before = here
    records = float(count.sum())
    most = -float(count @ np.log2(_frequencies(column, count, 0) / records))
    return Measured(loss + 0.0, 0.0, most + 0.0)


def _frequencies(column: Column, times: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """Return for each pair the number of counted records that share its label on a level."""
    labels = column.hierarchy.label_map(level)[column.base]
    return np.bincount(labels, weights=times).astype(np.float64)[labels]


def _squared_error(column: Column) -> Measured:
    present_mask = ~np.isnan(column.number)
    count, most = column.count[present_mask], farthest(column, *column.extent)[present_mask]
    error = np.minimum(farthest(column, *column.bounds)[present_mask], most)
    return Measured(float(count @ error), 0.0, float(count @ most))


def farthest(column: Column, low: Any, high: Any) -> NDArray[np.float64]:
    """Return for each pair the larger squared distance of the original number to two others."""
    error: NDArray[np.float64] = np.maximum(np.square(column.number - low), np.square(column.number - high))
    return error
