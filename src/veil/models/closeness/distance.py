"""Distances of published classes from the whole, by definition: independent of kernels and engine.

All are integers over scale*size, so the largest is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from veil.models.value_counts import Counted, Integers


def largest(distance: Callable[..., tuple[Integers, int]], counted: Counted, *details: Any) -> Fraction:
    """Return the largest distance of any class."""
    if not counted.sizes.size:
        return Fraction(0)
    # No intermediate number of any distance is larger.
    longest = max([counted.masses.size, *(len(levels) for levels in details)])
    reach = 2 * longest * int(counted.masses.sum()) * int(counted.sizes.max())
    kind = np.int64 if reach < 2**63 else object
    wide = counted._replace(counts=counted.counts.astype(kind), sizes=counted.sizes.astype(kind))
    sums, scale = distance(wide, *details)
    if scale == 0:
        return Fraction(0)
    shares = sums.astype(np.float64) / counted.sizes
    close = np.flatnonzero(shares >= shares.max() * (1 - 1e-9))
    pairs = set(zip(sums[close].tolist(), counted.sizes[close].tolist(), strict=True))
    return max(Fraction(total, scale * size) for total, size in pairs)


def equal(counted: Counted) -> tuple[Integers, int]:
    """Return half the sum of |q - p|, that is, the sum of all q - p above 0."""
    records = int(counted.masses.sum())
    excess = records * counted.counts - counted.sizes[counted.classes] * counted.masses[counted.codes]
    return _by_class(np.maximum(excess, 0), counted.classes), records


def ordered(counted: Counted) -> tuple[Integers, int]:
    """Return the sum of |Q - P|, the shares of records up to each value, over the number of values less one.

    From one value of the class up to before the next, Q is constant and P grows: Q - P is not negative up to
    some value and negative from there on.
    """
    classes, codes, sizes = counted.classes, counted.codes, counted.sizes
    records, domain = int(counted.masses.sum()), counted.masses.size
    cumulated = np.cumsum(counted.masses)
    sums = np.concatenate([[0], np.cumsum(cumulated)]).astype(counted.counts.dtype)
    size = sizes[classes]
    first = np.flatnonzero(np.diff(classes, prepend=-1))
    running = np.cumsum(counted.counts)
    before = running[first] - counted.counts[first]
    level = records * (running - before[classes])
    end = np.append(codes[1:], domain)
    end[np.append(first[1:], codes.size) - 1] = domain
    turn = np.searchsorted(cumulated, (level // size).astype(np.int64), side="right")
    turn = np.clip(turn, codes, end)
    stretch = level * (2 * turn - codes - end) - size * (2 * sums[turn] - sums[codes] - sums[end])
    return _by_class(stretch, classes) + sizes * sums[codes[first]], records * (domain - 1)


def ordered_between(lowest: Counted, highest: Counted) -> tuple[Integers, int]:
    """Return the largest ordered distance if people have any value from their first to their last.

    The people up to a value are at most those whose first value is, and at least those whose last one is.
    """
    records, domain, kind = int(lowest.masses.sum()), lowest.masses.size, lowest.counts.dtype
    expected = np.cumsum(lowest.masses).astype(kind)
    begins = [np.searchsorted(each.classes, np.arange(each.sizes.size + 1)) for each in (lowest, highest)]
    sums = np.zeros(lowest.sizes.size, kind)
    for number, size in enumerate(lowest.sizes):
        up_to = []
        for each, begin in zip((lowest, highest), begins, strict=True):
            here = slice(begin[number], begin[number + 1])
            people = np.zeros(domain, kind)
            people[each.codes[here]] = each.counts[here]
            up_to.append(records * np.cumsum(people))
        sums[number] = np.maximum(up_to[0] - size * expected, size * expected - up_to[1]).sum()
    return sums, records * (domain - 1)


def hierarchical(counted: Counted, levels: list[Integers]) -> tuple[Integers, int]:
    """Return the sum over the inner nodes of level/height * min(pos, neg) of their children's extras.

    `levels` has the code of each value's label on level 0, 1 and so on.
    """
    records, height = int(counted.masses.sum()), len(levels) - 1
    classes, codes, counts = counted.classes, levels[0][counted.codes], counted.counts
    total = counted.sizes * 0
    extra = records * counts - counted.sizes[classes] * _masses(counted, levels[0])[codes]
    for level in range(1, height + 1):
        parent = np.zeros(int(levels[level - 1].max()) + 1, np.int64)
        parent[levels[level - 1]] = levels[level]
        keys = classes * (int(levels[level].max()) + 1) + parent[codes]
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        classes, codes = classes[order][first], parent[codes[order][first]]
        # A person with several values of a group counts once in it, so counts are at most the class size.
        counts = np.minimum(np.add.reduceat(counts[order], first), counted.sizes[classes])
        positive = np.add.reduceat(np.maximum(extra, 0)[order], first)
        extra = records * counts - counted.sizes[classes] * _masses(counted, levels[level])[codes]
        negative = positive - extra  # of all children, whether or not they occur in the class
        total += _by_class(level * np.minimum(positive, negative), classes)
    return total, records * height


def _masses(counted: Counted, level: Integers) -> Integers:
    return np.bincount(level, counted.masses).astype(np.int64)


def _by_class(numbers: Integers, classes: Integers) -> Integers:
    result: Integers = np.add.reduceat(numbers, np.flatnonzero(np.diff(classes, prepend=-1)))
    return result
