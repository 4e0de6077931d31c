"""Choice of cells to suppress: two heuristics, one for each meaning of a missing cell (see
`LocalSuppression`).

The least weight of cells is NP-hard to find (Meyerson and Williams, 2004). Both try sets of columns from the
cheapest on, and help all rows at once that a set can help.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

import numpy as np

from veil.base.arrays import Floats, Mask
from veil.base.compiled import kernel
from veil.published.matching import Codes, Counts, Words, keys, match, matches, pack_rows, patterns
from veil.tables.rows import Owners

MOST_MASKS = 5000
"""Sets of columns that are tried, cheapest first, before whole columns go one by one."""


def sets_of_columns(codes: Codes, weights: Floats) -> Iterator[Mask]:
    """Yield sets of columns by ascending weight; for equal weight, those with more values first."""
    values = codes.max(axis=0, initial=-1) + 1
    costs = [(float(weights[c]), -math.log(max(2, int(values[c])))) for c in range(weights.size)]
    order = sorted(range(weights.size), key=lambda c: (costs[c], -c))
    waiting: list[tuple[tuple[float, float], tuple[int, ...]]] = [(costs[order[0]], (0,))]
    count = 0
    while waiting and count < MOST_MASKS:
        (weight, tie), places = heapq.heappop(waiting)
        count += 1
        yield _mask(weights.size, [order[each] for each in places])
        last = places[-1]
        if last + 1 < len(order):
            (more, more_tie), (less, less_tie) = costs[order[last + 1]], costs[order[last]]
            heapq.heappush(waiting, ((weight + more, tie + more_tie), (*places, last + 1)))
            further = (weight + more - less, tie + more_tie - less_tie)
            heapq.heappush(waiting, (further, (*places[:-1], last + 1)))
    for end in range(1, len(order) + 1):
        yield _mask(weights.size, order[:end])


def _mask(size: int, columns: list[int]) -> Mask:
    mask = np.zeros(size, np.bool_)
    mask[columns] = True
    return mask


def few_cells(codes: Codes, k: int, weights: Floats) -> Mask:
    """Choose cells to suppress so that every row matches k rows, where missing cells match everything.

    Missing cells only add matches, so rows can be helped one by one. Sets of columns are tried from the
    cheapest on: a row with too few matches that would agree with k rows without these columns loses its cells
    there. All rows that agree in the other columns gain a match, and may not need help any more: those with
    the fewest matches go first. In the end, cells that were suppressed too early are restored.
    """
    hidden = np.zeros(codes.shape, np.bool_)
    crowd, of_whole, of_partial = matches(codes)
    match_counts = np.empty(len(codes), np.int64)
    match_counts[crowd.partial] = of_partial
    is_whole = crowd.of_row >= 0
    match_counts[is_whole] = of_whole[crowd.of_row[is_whole]]
    # Only rows without missing cells gain matches from each other: if they differ, they did not match before.
    alike = crowd.of_row
    needy = np.flatnonzero(match_counts < k)
    if not needy.size:
        return hidden
    for mask in sets_of_columns(codes, weights):
        numbers = keys(codes, ~mask)
        needy_numbers, group = np.unique(numbers[needy], return_inverse=True)
        place = np.minimum(np.searchsorted(needy_numbers, numbers), needy_numbers.size - 1)
        sizes = np.bincount(place[needy_numbers[place] == numbers], minlength=needy_numbers.size)
        helped = sizes[group] >= k
        if not helped.any():
            continue
        rows = needy[helped]
        rows = rows[np.lexsort((alike[rows], match_counts[rows], group[helped]))]
        ends = np.unique(numbers[rows], return_inverse=True)[1]
        row_mask = _choose_rows(ends, match_counts[rows], alike[rows], k)
        hidden[rows[row_mask]] = mask & (codes[rows[row_mask]] >= 0)
        needy = needy[~helped]
        if not needy.size:
            break
    _show_again(codes, hidden, k, weights)
    return hidden


@kernel
def _choose_rows(group: Counts, match_counts: Counts, alike: Counts, k: int) -> Mask:
    """Go through the rows of each group, fewest matches first, and choose those that still have too few."""
    row_mask = np.zeros(group.size, np.bool_)
    in_group = 0
    in_class = 0
    for i in range(group.size):
        if i == 0 or group[i] != group[i - 1]:
            in_group = 0
            in_class = 0
        elif alike[i] != alike[i - 1]:
            in_class = 0
        if alike[i] < 0:
            row_mask[i] = True
        elif match_counts[i] + in_group - in_class < k:
            row_mask[i] = True
            in_group += 1
            in_class += 1
    return row_mask


def _show_again(codes: Codes, hidden: Mask, k: int, weights: Floats) -> None:
    """Restore cells that need not be suppressed, the most important first.

    Restoring a cell only removes matches, so a cell that cannot be restored now cannot be later: one pass is
    enough.
    """
    now = np.where(hidden, np.int32(-1), codes)
    crowd, of_whole, of_partial = matches(now)
    visible = np.ascontiguousarray(now[crowd.partial])
    before = np.ascontiguousarray(codes[crowd.partial])
    values, bits, fields = pack_rows(before, visible >= 0)
    kinds = patterns(visible)
    order_of_columns = np.argsort(-weights, kind="stable")
    costs = {
        kind: sum(w for c, w in enumerate(weights) if kind >> c & 1) for kind in np.unique(kinds).tolist()
    }
    for kind in sorted(costs, key=lambda kind: -costs[kind]):
        here = np.flatnonzero(kinds == kind)
        here = here[hidden[crowd.partial[here]].any(axis=1)]
        order, start, end = crowd.ranges(visible[here], kind)
        _restore(
            here, start, end, order, crowd.whole, crowd.sizes, of_whole, visible, before, of_partial,
            values, bits, fields, order_of_columns, k,
        )  # fmt: skip
    hidden[crowd.partial] = (visible < 0) & (before >= 0)


@kernel
def _restore(
    here: Counts,
    start: Counts,
    end: Counts,
    order: Counts,
    whole: Codes,
    sizes: Counts,
    of_whole: Counts,
    visible: Codes,
    before: Codes,
    of_partial: Counts,
    values: Words,
    bits: Words,
    fields: Words,
    columns: Counts,
    k: int,
) -> None:
    """Restore cells of partial rows as long as every row keeps k matches.

    The whole rows that match row `here[i]` are in `order` from `start[i]` to `end[i]`.
    """
    # Collect the rows that match row a.
    room = 0
    for i in range(here.size):
        room = max(room, end[i] - start[i])
    near_whole = np.empty(room, np.int64)
    near_partial = np.empty(len(visible), np.int64)
    for i in range(here.size):
        a = here[i]
        wholes = end[i] - start[i]
        near_whole[:wholes] = order[start[i] : end[i]]
        partials = 0
        for b in range(len(visible)):
            if b != a and match(values, bits, a, b):
                near_partial[partials] = b
                partials += 1
        for c in columns:
            if visible[a, c] >= 0 or before[a, c] < 0:
                continue
            # Count the matches that restoring the cell removes.
            value = before[a, c]
            removed = 0
            possible = True
            for j in range(wholes):
                w = near_whole[j]
                if whole[w, c] != value:
                    removed += sizes[w]
                    if of_whole[w] <= k:
                        possible = False
                        break
            if not possible or of_partial[a] - removed < k:
                continue
            for j in range(partials):
                b = near_partial[j]
                if visible[b, c] >= 0 and visible[b, c] != value:
                    removed += 1
                    if of_partial[b] <= k:
                        possible = False
                        break
            if not possible or of_partial[a] - removed < k:
                continue
            # Restore it, and update the matches.
            visible[a, c] = value
            bits[a] |= fields[c]
            of_partial[a] -= removed
            left = 0
            for j in range(wholes):
                w = near_whole[j]
                if whole[w, c] != value:
                    of_whole[w] -= 1
                else:
                    near_whole[left] = w
                    left += 1
            wholes = left
            left = 0
            for j in range(partials):
                b = near_partial[j]
                if visible[b, c] >= 0 and visible[b, c] != value:
                    of_partial[b] -= 1
                else:
                    near_partial[left] = b
                    left += 1
            partials = left


def alike_cells(codes: Codes, k: int, weights: Floats, owners: Owners) -> Mask:
    """Choose cells to suppress so that every row equals rows of k - 1 other people.

    Rows in too small groups are merged: sets of columns are tried from the cheapest on, and rows that are k
    or more without these columns lose their cells there. Fewer than k may be left in the end; they lose all
    cells, together with as many others as they need.
    """
    hidden = np.zeros(codes.shape, np.bool_)
    everything = np.ones(codes.shape[1], np.bool_)
    left = np.flatnonzero(sizes_of(keys(codes, everything), owners) < k)
    for mask in sets_of_columns(codes, weights):
        if not left.size:
            break
        enough = sizes_of(keys(codes[left], ~mask), owners.take(left)) >= k
        hidden[left[enough]] = mask
        left = left[~enough]
    if left.size:
        hidden[_company(np.where(hidden, np.int32(-1), codes), left, k, weights, owners.array)] = True
    return hidden & (codes >= 0)


def sizes_of(numbers: Counts, owners: Owners) -> Counts:
    """Count for each row the people with a row of its number.

    >>> numbers = np.array([7, 7, 8])
    >>> sizes_of(numbers, Owners(3)).tolist(), sizes_of(numbers, Owners.coded(np.array([0, 0, 0]))).tolist()
    ([2, 2, 1], [1, 1, 1])
    """
    group = np.unique(numbers, return_inverse=True)[1]
    if owners.are_records:
        sizes: Counts = np.bincount(group)[group]
    else:
        width = int(owners.array.max(initial=0)) + 1
        sizes = np.bincount(np.unique(group * width + owners.array) // width)[group]
    return sizes


def _company(codes: Codes, left: Counts, k: int, weights: Floats, people: Codes) -> Counts:
    """Return the rows that are left and others to lose all cells with them, at least cost.

    From groups with more than k people, those beyond k can go, each with all rows there; if these are too
    few, a whole group goes, the cheapest.
    """
    blank: Mask = np.logical_and.reduce(codes < 0, axis=1)
    blank[left] = False
    rest = np.setdiff1d(np.flatnonzero(~blank), left)
    there = np.unique(people[np.concatenate([left, np.flatnonzero(blank)])])
    missing = k - there.size
    if missing <= 0:
        return left
    cost = (codes[rest] >= 0) @ weights
    group = np.unique(keys(codes[rest], np.ones(codes.shape[1], np.bool_)), return_inverse=True)[1]
    # A unit is a person in a group; units in the order of their first rows.
    width = int(people.max()) + 1
    _, first, unit = np.unique(group * width + people[rest], return_index=True, return_inverse=True)
    by_group = np.lexsort((first, group[first]))
    size = np.bincount(group[first])
    place = np.empty(first.size, np.int64)
    place[by_group] = np.arange(first.size) - np.repeat(np.cumsum(size) - size, size)
    costs = np.bincount(unit, weights=cost)
    spare = np.flatnonzero((place >= k) & ~np.isin(people[rest[first]], there))
    spare = spare[np.lexsort((first[spare], costs[spare]))]
    _, cheapest = np.unique(people[rest[first[spare]]], return_index=True)
    if cheapest.size >= missing:
        units = spare[np.sort(cheapest)[:missing]]
        return np.concatenate([left, rest[np.isin(unit, units)]])
    least = int(np.argmin(np.bincount(group, weights=cost)))
    return np.concatenate([left, rest[group == least]])
