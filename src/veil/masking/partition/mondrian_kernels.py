"""Kernels of Mondrian: the width of a class in each column, and its possible cuts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.masking.partition.columns import Scheme
from veil.masking.partition.kernels import ItemOrder, Ranks, by_children

_FEW = 64
"""Least number of ranges that are counted in search of a median."""


@kernel
def survey(
    items: ItemOrder,
    begins: Integers,
    ends: Integers,
    scheme: Scheme,
    lows: Ranks,
    highs: Ranks,
    turns: NDArray[np.int16],
) -> None:
    """Find the lowest and highest rank of each class in each column, and the order in which to try columns.

    The widest one is first; of equally wide ones, the one that is named first.
    """
    ranks, order = items.ranks, items.order
    columns = ranks.shape[1]
    widths = np.empty(columns)
    for p in range(begins.size):
        # The range of each column, and the columns by its width: insertion sort.
        for j in range(columns):
            lows[p, j] = highs[p, j] = ranks[order[begins[p]], j]
        for place in range(begins[p] + 1, ends[p]):
            for j in range(columns):
                rank = ranks[order[place], j]
                if rank < lows[p, j]:
                    lows[p, j] = rank
                elif rank > highs[p, j]:
                    highs[p, j] = rank
        for j in range(columns):
            width = _width(scheme, j, lows[p, j], highs[p, j])
            t = j
            while t > 0 and widths[t - 1] < width:
                widths[t] = widths[t - 1]
                turns[p, t] = turns[p, t - 1]
                t -= 1
            widths[t] = width
            turns[p, t] = j


@kernel
def _width(scheme: Scheme, j: int, low: int, high: int) -> float:
    """Return the share of the whole column that a range of ranks covers."""
    start = scheme.starts[j]
    if scheme.levels[j]:
        width: float = scheme.spans[start + _level(scheme, j, low, high) * scheme.sizes[j] + low]
        return width
    if scheme.units[j] == 0.0:
        return 0.0
    share: float = (scheme.spans[start + high] - scheme.spans[start + low]) / scheme.units[j]
    return share


@kernel
def _level(scheme: Scheme, j: int, low: int, high: int) -> int:
    """Return the level of the lowest node above two ranks."""
    start, size = scheme.starts[j], scheme.sizes[j]
    level = 0
    while scheme.nodes[start + level * size + low] != scheme.nodes[start + level * size + high]:
        level += 1
    return level


@kernel
def propose(
    items: ItemOrder,
    begins: Integers,
    ends: Integers,
    lows: Ranks,
    highs: Ranks,
    turns: NDArray[np.int16],
    tried: Integers,
    scheme: Scheme,
    smallest: int,
    relaxed: bool,
    part: Ranks,
    parts: Integers,
) -> None:
    """Find for each class the first column, from `tried` on, with a cut that leaves no part too small.

    `tried` receives its turn, `parts` the number of parts (0: there is no such column), and `part` the part
    of each item.
    """
    # Memory for the largest class.
    longest = _FEW
    for p in range(begins.size):
        longest = max(longest, 2 * (ends[p] - begins[p]))
    buckets = np.empty(longest, np.int64)
    tally = np.zeros(scheme.sizes.max(), np.int64)
    met = np.empty(scheme.sizes.max(), np.int32)
    for p in range(begins.size):
        parts[p] = 0
        total = 0
        for place in range(begins[p], ends[p]):
            total += items.weights[items.order[place]]
        if total < 2 * smallest:
            continue
        # Try column after column, the widest first.
        while tried[p] < turns.shape[1]:
            j = turns[p, tried[p]]
            low, high = lows[p, j], highs[p, j]
            if low < high:
                if scheme.levels[j]:
                    at = scheme.starts[j] + (_level(scheme, j, low, high) - 1) * scheme.sizes[j]
                    nodes = scheme.nodes[at : at + scheme.sizes[j]]
                    parts[p] = by_children(items, begins[p], ends[p], j, nodes, smallest, tally, met, part)
                else:
                    parts[p] = _at_median(
                        items, begins[p], ends[p], j, low, high, total, smallest, relaxed, buckets, part
                    )
            if parts[p]:
                break
            tried[p] += 1


@kernel
def _at_median(
    items: ItemOrder,
    begin: int,
    end: int,
    j: int,
    low: int,
    high: int,
    total: int,
    smallest: int,
    relaxed: bool,
    buckets: Integers,
    part: Ranks,
) -> int:
    ranks, order = items.ranks, items.order
    half = (total + 1) // 2
    median, below, upto = _median(items, begin, end, j, low, high, half, buckets)
    if relaxed:  # every item is one record, and those at the median fill up the left half
        if total - half < smallest:
            return 0
        left = half - below
        for place in range(begin, end):
            rank = ranks[order[place], j]
            part[place] = 0 if rank < median else 1
            if rank == median and left > 0:
                part[place] = 0
                left -= 1
        return 2
    # Choose the cut before or after the median whose smaller side is larger.
    cut = median if min(below, total - below) > min(upto, total - upto) else median + 1
    records = below if cut == median else upto
    if min(records, total - records) < smallest:
        return 0
    for place in range(begin, end):
        part[place] = 0 if ranks[order[place], j] < cut else 1
    return 2


@kernel
def _median(
    items: ItemOrder, begin: int, end: int, j: int, low: int, high: int, half: int, buckets: Integers
) -> tuple[int, int, int]:
    """Find the rank at which half the records are reached; also the records below it, and up to it.

    Counts ranges of ranks, at most two for each item, then refines the one with the median: two or three
    passes, for any number of values in the column.
    """
    room = max(_FEW, 2 * (end - begin))
    below = 0
    while True:
        shift = 0
        while (high - low) >> shift >= room:
            shift += 1
        buckets[: ((high - low) >> shift) + 1] = 0
        for place in range(begin, end):
            item = items.order[place]
            rank = items.ranks[item, j]
            if low <= rank <= high:
                buckets[(rank - low) >> shift] += items.weights[item]
        b = 0
        while below + buckets[b] < half:
            below += buckets[b]
            b += 1
        if shift == 0:
            return low + b, below, below + buckets[b]
        high = min(high, low + ((b + 1) << shift) - 1)
        low += b << shift
