"""How much information is left in one quasi-identifier. `veil.utility.quality` says how this compares with ARX."""

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
    """What is left of one quasi-identifier.

    Attributes
    ----------
    granularity
        Share of the domain that a cell covers, on average (Iyengar 2002). A label that the hierarchy does not know
        counts as one value.
    intensity
        Level of a cell over the height of the hierarchy, on average (Sweeney 2002). A label that the hierarchy does
        not know counts as its top.
    entropy
        Bits that are missing to derive the original values from the released ones (de Waal and Willenborg 1999).
    squared_error
        Squared distance from the original value to the farther end of what the cell may stand for. Numbers and dates
        have distances of their own, anything else that of positions in the hierarchy.
    missings, missings_before
        Share of the cells that show nothing, after and before.
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


def attribute_quality(column: Column, taken: NDArray[np.bool_] | None = None) -> AttributeQuality:
    """Measured what is left of a quasi-identifier. Records that are `taken` for suppressed have lost everything."""
    count = column.count.astype(np.float64)
    records = float(count.sum())
    return AttributeQuality(
        column=column.name,
        granularity=_granularity(column, taken),
        intensity=_intensity(column, taken),
        entropy=_entropy(column),
        squared_error=_squared_error(column),
        missings=float(count @ column.missing) / records,
        missings_before=float(count @ column.missing_before) / records,
    )


def _granularity(column: Column, taken: NDArray[np.bool_] | None) -> Measured:
    hierarchy = column.hierarchy
    least = 1.0 / hierarchy.domain_size
    if column.untouched and taken is None:
        return Measured(least, least, 1.0)
    return Measured(_mean(column, column.covering(hierarchy.shares, least), taken), least, 1.0)


def _intensity(column: Column, taken: NDArray[np.bool_] | None) -> Measured:
    height = column.hierarchy.height
    level = np.where(column.unknown, height, column.level)
    return Measured(_mean(column, level / height, taken), 0.0, 1.0)


def _mean(column: Column, lost: NDArray[np.float64], taken: NDArray[np.bool_] | None) -> float:
    """Average over records; those `taken` for suppressed have lost everything."""
    if taken is None:
        return float(column.count @ lost) / float(column.count.sum())
    return float(np.where(taken, 1.0, lost[column.pair]).mean())


def alike(columns: Sequence[Column]) -> NDArray[np.bool_]:
    """Tell for each record whether all its quasi-identifiers show the same text."""
    ids: dict[str | None, int] = {}
    shown = []
    for column in columns:
        texts = np.array([ids.setdefault(text, len(ids)) for text in column.texts], np.int64)
        texts[-1] = -1
        shown.append(texts[column.text][column.pair])
    alike: NDArray[np.bool_] = np.logical_and.reduce([each == shown[0] for each in shown])
    return alike


def _entropy(column: Column) -> Measured:
    """Add up, level by level of those in use, the bits that are lost from one to the next.

    Frequencies on a level count the records that are generalized to it or further.
    """
    hierarchy, count = column.hierarchy, column.count.astype(np.float64)
    lost, before = 0.0, 0
    level = np.where(column.unknown, hierarchy.height, column.level)
    for here in np.unique(level).tolist():
        some = level >= here
        times = count * some
        fine, coarse = (_frequencies(column, times, each)[some] for each in (before, here))
        lost -= float(count[some] @ np.log2(fine / coarse))
        before = here
    records = float(count.sum())
    most = -float(count @ np.log2(_frequencies(column, count, 0) / records))
    return Measured(lost + 0.0, 0.0, most + 0.0)


def _frequencies(column: Column, times: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """For each pair, how many of the counted records share its label on a level."""
    labels = column.hierarchy.label_map(level)[column.base]
    return np.bincount(labels, weights=times).astype(np.float64)[labels]


def _squared_error(column: Column) -> Measured:
    known = ~np.isnan(column.number)
    count, most = column.count[known], farthest(column, *column.extent)[known]
    error = np.minimum(farthest(column, *column.bounds)[known], most)
    return Measured(float(count @ error), 0.0, float(count @ most))


def farthest(column: Column, low: Any, high: Any) -> NDArray[np.float64]:
    """For each pair, the larger squared distance of the original number to two others."""
    found: NDArray[np.float64] = np.maximum(np.square(column.number - low), np.square(column.number - high))
    return found
