"""Distribution of class sizes and of risks over the records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from veil.risk.grouping import histogram

BINS = (
    *("0.00000001", "0.0000001", "0.000001", "0.00001", "0.0001", "0.001"),
    *("0.01", "0.02", "0.03", "0.04", "0.05", "0.06", "0.07", "0.08", "0.09", "0.1"),
    *("0.125", "0.143", "0.167", "0.2", "0.25", "0.334", "0.5", "1"),
)
"""Upper ends of the bins of risks, as in ARX: the last eight hold one class size each."""

_SMALLEST = np.array([math.ceil(1 / Fraction(upper)) for upper in BINS])
"""Smallest class whose risk is at most the upper end of each bin."""


@dataclass(frozen=True)
class ClassSizes:
    """Number of classes of each size, as ascending pairs of size and number, without suppressed records."""

    histogram: tuple[tuple[int, int], ...]
    classes: int
    records: int
    suppressed: int

    @property
    def average(self) -> float:
        """Records for each class; 0 if there is none."""
        return self.records / self.classes if self.classes else 0.0

    @property
    def smallest(self) -> int:
        """Size of the smallest class; 0 if there is none."""
        return self.histogram[0][0] if self.histogram else 0

    @property
    def largest(self) -> int:
        """Size of the largest class; 0 if there is none."""
        return self.histogram[-1][0] if self.histogram else 0


def class_sizes(sizes: NDArray[np.int64], suppressed: int = 0) -> ClassSizes:
    """Count the classes of each size.

    >>> class_sizes(np.array([2, 1, 2])).histogram
    ((1, 1), (2, 2))
    """
    different, counts = histogram(sizes)
    pairs = tuple(zip(different.tolist(), counts.tolist(), strict=True))
    return ClassSizes(pairs, int(sizes.size), int(sizes.sum()), suppressed)


@dataclass(frozen=True)
class RiskBin:
    """Records with a risk up to `upper` and above the previous bin: their share, and the cumulative share."""

    upper: float
    share: float
    cumulative: float


def risk_distribution(sizes: NDArray[np.int64]) -> tuple[RiskBin, ...]:
    """Sort the records of classes of the given sizes into bins by their risk, 1 / size.

    >>> [(each.upper, each.share) for each in risk_distribution(np.array([3, 1])) if each.share]
    [(0.334, 0.75), (1.0, 0.25)]
    """
    places = len(BINS) - np.searchsorted(_SMALLEST[::-1], sizes, side="right")
    records = np.bincount(places, weights=sizes, minlength=len(BINS)).astype(np.int64)
    total = max(1, int(sizes.sum()))
    return tuple(
        RiskBin(float(upper), here / total, so_far / total)
        for upper, here, so_far in zip(BINS, records.tolist(), records.cumsum().tolist(), strict=True)
    )
