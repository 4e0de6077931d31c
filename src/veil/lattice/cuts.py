"""Rules for cutting a box in branch and bound: along which attribute, and between which levels.

A cut does two things. The lower half gets a lower high corner, where more must be suppressed; the upper half
gets a higher low corner, which costs more. The effect of a cut is well predicted by the cost of generalizing
an attribute and by its information: how finely it divides the records and, for privacy models with sensitive
attributes, how strongly it is associated with those. All numbers here are heuristics that affect the duration
of a search, never its result.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from veil.base.arrays import Codes, Floats, Integers
from veil.base.compiled import kernel
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.lattice.evaluator import Evaluator

COST = 3.0
"""Weight of the cost of generalizing an attribute, relative to its information, in a spread."""

ASSOCIATION = 10.0
"""Weight of the association of an attribute with sensitive ones, relative to its fineness."""

FINENESS = 0.2
"""Rough share of records that a division by an entropy of 1 brings to suppression, other things equal."""

SECOND = 0.25
"""Weight of the half that gains more, relative to the one that gains less."""

BUCKETS = 64
"""Largest number of ranges of sensitive values."""

MOST_CELLS = 2**20
"""Largest number of cells of a contingency table."""

Numbers = list[list[float]]
"""A number for each attribute and level."""


class Cuts(Protocol):
    """A rule for cutting boxes."""

    def where(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Return the attribute along which to cut, and its highest level in the lower half."""


def cuts_for(evaluator: Evaluator) -> Cuts:
    """Return the rule that needs the fewest checks, by measurement.

    Bounds of models on the distribution of a sensitive attribute tighten slowly; with unlimited suppression,
    it pays to weigh the gains of both halves. Otherwise boxes are best cut where their corners differ most.
    """
    unlimited = 2 * evaluator.allowed >= evaluator.sample.records
    if evaluator.keeping and unlimited and not evaluator.measure.counts_classes:
        return ByGain(evaluator)
    return BySpread(evaluator)


class BySpread:
    """Cut in the middle of the attribute whose information and cost differ most between the two corners.

    By measurement, entropy is the best information for bounds that count classes, if suppression is allowed.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        measure, frequencies = evaluator.measure, evaluator.sample.frequencies
        by_entropy = measure.counts_classes and evaluator.allowed > 0
        fineness = _entropy if by_entropy else _log_distinct
        costs, _ = _costs(evaluator)
        everything = sum(levels[-1] for levels in costs)
        weight = COST * len(costs) / everything if everything > 0 else 0.0
        distances = _mean_distances(evaluator)
        self.spreads = [
            [
                fineness(counts) + ASSOCIATION * distance - weight * cost
                for counts, distance, cost in zip(*levels, strict=True)
            ]
            for levels in zip(frequencies, distances, costs, strict=True)
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
    """Cut where the half that gains less gains most; the gain of the other one counts in part.

    The lower half gains by suppression, a share of the records that grows with the information of the
    attribute; the upper one by its cost.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        costs, worth = _costs(evaluator)
        self.best = [
            _best_cuts(cost, worth, [_share_kept(*pair) for pair in zip(*statistics, strict=True)])
            for cost, *statistics in zip(
                costs, evaluator.sample.frequencies, _mean_distances(evaluator), strict=True
            )
        ]

    def where(self, low: Levels, high: Levels) -> tuple[int, int]:
        cuts = [best[a, b] for best, a, b in zip(self.best, low, high, strict=True)]
        attribute = max(range(len(cuts)), key=cuts.__getitem__)
        return attribute, cuts[attribute][1]


def _share_kept(frequencies: Integers, distance: float) -> float:
    """Return the predicted share of records that are kept."""
    return math.exp(-FINENESS * (_entropy(frequencies) + ASSOCIATION * distance))


def _best_cuts(
    costs: list[float], worth: float, kept_shares: list[float]
) -> dict[tuple[int, int], tuple[float, int]]:
    """Return the greatest gain and the cut, the highest level of the lower half, for each range of levels."""
    cuts = {}
    for low in range(len(costs)):
        cuts[low, low] = (-math.inf, low)
        for high in range(low + 1, len(costs)):
            gains = []
            for level in range(low, high):
                lower = worth * (1.0 - kept_shares[level] / kept_shares[high])
                upper = costs[level + 1] - costs[low]
                gains.append((min(lower, upper) + SECOND * max(lower, upper), level))
            cuts[low, high] = max(gains)
    return cuts


def _costs(evaluator: Evaluator) -> tuple[Numbers, float]:
    """Return bounds on the cost of generalizing each attribute alone, and of suppressing everything.

    Without finite bounds, all costs are 0.
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
    """Return the mean distance of sensitive values within groups of each attribute from those of the table.

    It is half the sum of |q - p| over the values, for shares q in the group and p in the table.
    """
    sample = evaluator.sample
    encoding, table = sample.encoding, sample.table
    distances = [[0.0] * (height + 1) for height in encoding.heights]
    most = int(encoding.cardinalities[:, 0].max())
    for name in evaluator.sensitive:
        entries = sample.histogram(table, name)
        buckets = min(entries.domain, BUCKETS, max(2, MOST_CELLS // most))
        contingencies = np.zeros((len(distances), most, buckets))
        _contingencies(table.keys, encoding.layout, *entries, contingencies)
        for j, hierarchy in enumerate(encoding.hierarchies):
            contingency = contingencies[j, : len(hierarchy.labels[0])]
            distances[j][0] = max(distances[j][0], _distance(contingency))
            for level, groups in enumerate(hierarchy.maps, start=1):
                finer, contingency = contingency, np.zeros((len(hierarchy.labels[level]), buckets))
                np.add.at(contingency, groups, finer)
                distances[j][level] = max(distances[j][level], _distance(contingency))
    return distances


@kernel
def _contingencies(
    keys: kernels.Words,
    layout: Integers,
    starts: Integers,
    classes: Codes,
    counts: Integers,
    contingencies: Floats,
) -> None:
    """Count the records of each attribute by its value and by range of the sensitive values."""
    domain = starts.size - 1
    for value in range(domain):
        bucket = value * contingencies.shape[2] // domain
        for e in range(starts[value], starts[value + 1]):
            for j in range(layout.shape[0]):
                word = keys[layout[j, 0]][classes[e]]
                code = np.int64((word >> np.uint64(layout[j, 1])) & np.uint64(layout[j, 2]))
                contingencies[j, code, bucket] += counts[e]


def _distance(contingency: Floats) -> float:
    total = max(1.0, float(contingency.sum()))
    expected = np.outer(contingency.sum(axis=1), contingency.sum(axis=0)) / total
    return float(np.abs(contingency - expected).sum()) / 2 / total


def _log_distinct(frequencies: Integers) -> float:
    return math.log(max(1, int(np.count_nonzero(frequencies))))


def _entropy(frequencies: Integers) -> float:
    shares = frequencies[frequencies > 0] / frequencies.sum()
    return float(-np.sum(shares * np.log(shares)))
