"""Where branch and bound cuts a box: along which attribute, and between which levels.

A cut does two things. The lower half gets a lower high corner, where more must be suppressed; the upper half gets a
higher low corner, which costs more. What a cut will bring is not known before, but well foretold by what
generalizing an attribute costs and by what it tells: how finely it divides the records and, where a privacy model
looks at sensitive attributes, how much it tells about those. All numbers here are guesses that decide how long a
search takes, never what it finds.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.lattice.evaluator import Evaluator

COST = 3.0
"""Weight of what generalizing an attribute costs, beside what it tells, in a spread."""

TOLD = 10.0
"""Weight of what an attribute tells about sensitive ones, beside how finely it divides the records."""

FINENESS = 0.2
"""Share of records that a division by an entropy of 1 brings to suppression, roughly, other things equal."""

SECOND = 0.25
"""Weight of the half that gains more, beside the one that gains less."""

BUCKETS = 64
"""Sensitive values are told apart by so many ranges at most."""

MOST_CELLS = 2**20
"""Cells of a contingency table at most."""

Numbers = list[list[float]]
"""A number for each attribute and level."""


class Cuts(Protocol):
    """A rule for cutting boxes."""

    def where(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Return the attribute along which to cut, and its highest level in the lower half."""


def cuts_for(evaluator: Evaluator) -> Cuts:
    """Choose the rule that was measured to need the fewest checks.

    Bounds of models that look at the distribution of a sensitive attribute tighten slowly; where they may suppress as
    they like, it pays to weigh what each half gains. All others like boxes cut where their corners differ most.
    """
    unlimited = 2 * evaluator.allowed >= evaluator.sample.records
    if evaluator.keeping and unlimited and not evaluator.measure.counts_classes:
        return ByGain(evaluator)
    return BySpread(evaluator)


class BySpread:
    """Cut the attribute that tells most less, and costs most more, at the high corner than at the low one, in the
    middle.

    Measured: where classes may be suppressed, bounds that count them like boxes cut by entropy best.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        measure, frequencies = evaluator.measure, evaluator.sample.frequencies
        by_entropy = measure.counts_classes and evaluator.allowed > 0
        fineness = _entropy if by_entropy else _log_distinct
        costs, _ = _costs(evaluator)
        everything = sum(levels[-1] for levels in costs)
        weight = COST * len(costs) / everything if everything > 0 else 0.0
        told = _mean_distances(evaluator)
        self.spreads = [
            [
                fineness(counts) + TOLD * about - weight * cost
                for counts, about, cost in zip(*levels, strict=True)
            ]
            for levels in zip(frequencies, told, costs, strict=True)
        ]

    def where(self, low: Levels, high: Levels) -> tuple[int, int]:
        widths = [
            spread[a] - spread[b] if a < b else -math.inf
            for spread, a, b in zip(self.spreads, low, high, strict=True)
        ]
        attribute = max(range(len(widths)), key=widths.__getitem__)
        spread = self.spreads[attribute]
        middle = (spread[low[attribute]] + spread[high[attribute]]) / 2
        level = low[attribute]
        while level + 1 < high[attribute] and spread[level + 1] > middle:
            level += 1
        return attribute, level


class ByGain:
    """Cut where the half that gains less gains most; what the other one gains counts in part.

    The lower half gains by suppression, a share of the records that grows with what the attribute tells; the upper
    one by what the attribute costs.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        costs, worth = _costs(evaluator)
        self.best = [
            _best_cuts(
                cost, worth, [_share_kept(counts, about) for counts, about in zip(*tells, strict=True)]
            )
            for cost, *tells in zip(
                costs, evaluator.sample.frequencies, _mean_distances(evaluator), strict=True
            )
        ]

    def where(self, low: Levels, high: Levels) -> tuple[int, int]:
        cuts = [best[a, b] for best, a, b in zip(self.best, low, high, strict=True)]
        attribute = max(range(len(cuts)), key=cuts.__getitem__)
        return attribute, cuts[attribute][1]


def _share_kept(frequencies: NDArray[np.int64], told: float) -> float:
    """The share of records that is foretold to stay."""
    return math.exp(-FINENESS * (_entropy(frequencies) + TOLD * told))


def _best_cuts(
    costs: list[float], worth: float, kept: list[float]
) -> dict[tuple[int, int], tuple[float, int]]:
    """For each range of levels of one attribute: the greatest gain, and the highest level of the lower half."""
    found = {}
    for low in range(len(costs)):
        found[low, low] = (-math.inf, low)
        for high in range(low + 1, len(costs)):
            gains = []
            for level in range(low, high):
                lower = worth * (1.0 - kept[level] / kept[high])
                upper = costs[level + 1] - costs[low]
                gains.append((min(lower, upper) + SECOND * max(lower, upper), level))
            found[low, high] = max(gains)
    return found


def _costs(evaluator: Evaluator) -> tuple[Numbers, float]:
    """What the bounds say that generalizing each attribute alone costs, and that suppressing everything does.

    Nothing, if they say nothing.
    """
    measure, records = evaluator.measure, evaluator.sample.records
    heights = evaluator.encoding.heights
    nothing = (0,) * len(heights)

    def bound(levels: Levels, least: int = 0) -> float:
        return measure.bound(levels, least, records)[0]

    base = bound(nothing)
    costs = [
        [bound((*nothing[:j], level, *nothing[j + 1 :])) - base for level in range(height + 1)]
        for j, height in enumerate(heights)
    ]
    worth = bound(nothing, records) - base
    if not (math.isfinite(worth) and all(math.isfinite(levels[-1]) for levels in costs)):
        return [[0.0] * len(levels) for levels in costs], 1.0
    return costs, worth


def _mean_distances(evaluator: Evaluator) -> Numbers:
    """How far the sensitive values of records that an attribute groups are from those of all, on average.

    That is half the sum of |q - p| over the values, for shares q in the group and p in the table.
    """
    sample = evaluator.sample
    encoding, table = sample.encoding, sample.table
    told = [[0.0] * (height + 1) for height in encoding.heights]
    most = int(encoding.cardinalities[:, 0].max())
    for name in evaluator.sensitive:
        entries = sample.histogram(table, name)
        buckets = min(entries.domain, BUCKETS, max(2, MOST_CELLS // most))
        counted = np.zeros((len(told), most, buckets))
        _contingencies(table.keys, encoding.layout, *entries, counted)
        for j, hierarchy in enumerate(encoding.hierarchies):
            together = counted[j, : len(hierarchy.labels[0])]
            told[j][0] = max(told[j][0], _distance(together))
            for level, groups in enumerate(hierarchy.maps, start=1):
                finer, together = together, np.zeros((len(hierarchy.labels[level]), buckets))
                np.add.at(together, groups, finer)
                told[j][level] = max(told[j][level], _distance(together))
    return told


@kernel
def _contingencies(
    keys: kernels.Words,
    layout: NDArray[np.int64],
    starts: NDArray[np.int64],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    counted: NDArray[np.float64],
) -> None:
    """For each attribute, count records by its value and by range of the sensitive values."""
    domain = starts.size - 1
    for value in range(domain):
        bucket = value * counted.shape[2] // domain
        for e in range(starts[value], starts[value + 1]):
            for j in range(layout.shape[0]):
                word = keys[layout[j, 0]][classes[e]]
                code = np.int64((word >> np.uint64(layout[j, 1])) & np.uint64(layout[j, 2]))
                counted[j, code, bucket] += counts[e]


def _distance(together: NDArray[np.float64]) -> float:
    total = max(1.0, float(together.sum()))
    expected = np.outer(together.sum(axis=1), together.sum(axis=0)) / total
    return float(np.abs(together - expected).sum()) / 2 / total


def _log_distinct(frequencies: NDArray[np.int64]) -> float:
    return math.log(max(1, int(np.count_nonzero(frequencies))))


def _entropy(frequencies: NDArray[np.int64]) -> float:
    shares = frequencies[frequencies > 0] / frequencies.sum()
    return float(-np.sum(shares * np.log(shares)))
