"""Compiled parts of `veil.risk.refinement`: what is left of each class, and the classes that a person may be in."""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.compiled import kernel

PIECES = 512
"""Boxes that the rest of a class may consist of. Further exclusions are left out, so the rest may be too large."""


@kernel
def first_split(level_places: Any, column: int, low: int, high: int) -> tuple[int, int, int]:
    """Return the highest level with several labels in an interval of places, and the first and last of them.

    (-1, 0, 0) if there is none.
    """
    node_at, offsets, heights, _, _ = level_places
    for level in range(heights[column], -1, -1):
        at = offsets[column, level]
        first, last = node_at[at + low], node_at[at + high - 1]
        if last > first:
            return level, first, last
    return -1, 0, 0


@kernel
def subtract(low: Codes, high: Codes, pieces: int, box_low: Codes, box_high: Codes) -> int:
    """Take a box away from disjoint boxes, in place. Return their number; more than fit are not split."""
    columns = low.shape[1]
    at = 0
    last = pieces  # new boxes do not meet the one that is taken away
    while at < last:
        meets = True
        for j in range(columns):
            if low[at, j] >= box_high[j] or high[at, j] <= box_low[j]:
                meets = False
                break
        if not meets:
            at += 1
            continue
        if pieces + 2 * columns > low.shape[0]:
            return pieces
        for j in range(columns):
            if low[at, j] < box_low[j]:
                low[pieces], high[pieces] = low[at], high[at]
                high[pieces, j] = box_low[j]
                low[at, j] = box_low[j]
                pieces += 1
            if high[at, j] > box_high[j]:
                low[pieces], high[pieces] = low[at], high[at]
                low[pieces, j] = box_high[j]
                high[at, j] = box_high[j]
                pieces += 1
        # The rest lies within the box: an untouched box takes its place, and a new one that of the latter.
        last -= 1
        pieces -= 1
        low[at], high[at] = low[last], high[last]
        low[last], high[last] = low[pieces], high[pieces]
    return pieces


@kernel
def refine_classes(
    targets: Integers,
    low: Codes,
    high: Codes,
    own: Floats,
    bar: Floats,
    ranked: Integers,
    rows: Any,
    level_places: Any,
    caps: Any,
) -> tuple[Any, ...]:
    """Return what is left of some classes.

    A class g excludes its values from class c if bar[g] < own[c]; `ranked` are the classes by `bar`, ascending.
    Returned are the share of the volume that is left; for each column the number of values that single classes
    leave, that all together leave, and the levels gained; the records with finer values that counting implies;
    and whether a bound of counting is wrong.
    """
    columns = low.shape[1]
    volume = np.ones(targets.size)
    weak = np.zeros((targets.size, columns), np.int64)
    left = np.zeros((targets.size, columns), np.int64)
    gained = np.zeros((targets.size, columns), np.int64)
    implied = np.zeros(targets.size, np.int64)
    wrong = np.zeros(targets.size, np.bool_)
    widest = 1
    for c in range(low.shape[0]):
        for j in range(columns):
            widest = max(widest, high[c, j] - low[c, j])
    open_mask = np.zeros(widest + 1, np.bool_)
    piece_low = np.empty((PIECES, columns), np.int32)
    piece_high = np.empty((PIECES, columns), np.int32)
    meet_low = np.empty((low.shape[0], columns), np.int32)
    meet_high = np.empty((low.shape[0], columns), np.int32)
    meet_class = np.empty(low.shape[0], np.int64)
    shares = np.empty(low.shape[0])
    for n in range(targets.size):
        c = targets[n]
        # The boxes that are excluded: those of earlier or cheaper classes, cut to this class.
        meets = 0
        for at in range(ranked.size):
            f = ranked[at]
            if bar[f] >= own[c]:
                break
            share = 1.0
            for j in range(columns):
                first, last = max(low[c, j], low[f, j]), min(high[c, j], high[f, j])
                if first >= last:
                    share = 0.0
                    break
                meet_low[meets, j], meet_high[meets, j] = first, last
                share *= (last - first) / (high[c, j] - low[c, j])
            if share > 0.0:
                shares[meets], meet_class[meets] = share, f
                meets += 1
        # Largest first: what is left out at the end matters least.
        order = np.argsort(-shares[:meets])
        piece_low[0], piece_high[0] = low[c], high[c]
        pieces = 1
        for at in order:
            pieces = subtract(piece_low, piece_high, pieces, meet_low[at], meet_high[at])
        total = 0.0
        for piece in range(pieces):
            share = 1.0
            for j in range(columns):
                share *= (piece_high[piece, j] - piece_low[piece, j]) / (high[c, j] - low[c, j])
            total += share
        volume[n] = total
        for j in range(columns):
            start, width = low[c, j], high[c, j] - low[c, j]
            if width == 1:
                weak[n, j] = left[n, j] = 1
                continue
            # Values that a single box excludes: it is as wide as the class in all other columns.
            open_mask[:width] = True
            for at in range(meets):
                wide = True
                for i in range(columns):
                    if i != j and (meet_low[at, i] > low[c, i] or meet_high[at, i] < high[c, i]):
                        wide = False
                        break
                if wide:
                    open_mask[meet_low[at, j] - start : meet_high[at, j] - start] = False
            weak[n, j] = open_mask[:width].sum()
            open_mask[:width] = False
            for piece in range(pieces):
                open_mask[piece_low[piece, j] - start : piece_high[piece, j] - start] = True
            left[n, j] = open_mask[:width].sum()
            if left[n, j] == 0:
                continue  # nothing is possible: the assumption does not hold
            first, last = 0, width - 1
            while not open_mask[first]:
                first += 1
            while not open_mask[last]:
                last -= 1
            before = first_split(level_places, j, start, start + width)[0]
            gained[n, j] = before - first_split(level_places, j, start + first, start + last + 1)[0]
            least, is_wrong = _implied(
                c, j, open_mask, low, high, meet_low, meet_high, meet_class[:meets], rows, level_places, caps
            )
            implied[n] = max(implied[n], least)
            wrong[n] |= is_wrong
    return volume, weak, left, gained, implied, wrong


@kernel
def _implied(
    c: int,
    j: int,
    open_mask: Mask,
    low: Codes,
    high: Codes,
    meet_low: Codes,
    meet_high: Codes,
    meet_class: Integers,
    rows: Any,
    level_places: Any,
    caps: Any,
) -> tuple[int, bool]:
    """Count the records whose finer value in a column is implied by upper bounds for the finer labels.

    A finer label has at least the records of the class that the others cannot hold. Also return whether the true
    numbers of records break a bound.
    """
    counting, tight, smallest, part, part_levels, countable = caps
    node_at, offsets, _, starts, start_offsets = level_places
    row_starts, row_order, places, weights, records = rows
    if counting == 0 or not tight[c, j]:
        return 0, False
    level, first, last = first_split(level_places, j, low[c, j], high[c, j])
    children = last - first + 1
    base = start_offsets[j, level] + first
    most = np.empty(children, np.int64)
    for h in range(children):
        # At most all records but one: with all of them there, the label could be finer.
        most[h] = records[c] - 1 if counting == 1 else records[c]
        is_open = False
        for place in range(max(starts[base + h], low[c, j]), min(starts[base + h + 1], high[c, j])):
            is_open |= open_mask[place - low[c, j]]
        if not is_open:
            most[h] = 0
    if counting == 2:
        # Each label of an earlier part that was not published has fewer than k of the later records.
        earlier = part[c]
        published = np.zeros((earlier, children), np.int64)
        for at in range(meet_class.size):
            for h in range(children):
                if starts[base + h] < meet_high[at, j] and starts[base + h + 1] > meet_low[at, j]:
                    published[part[meet_class[at]], h] += 1
        for t in range(earlier):
            if not countable[t]:
                continue
            beside = 1.0
            for i in range(low.shape[1]):
                if i != j:
                    at = offsets[i, part_levels[t, i]]
                    beside *= node_at[at + high[c, i] - 1] - node_at[at + low[c, i]] + 1
            at = offsets[j, part_levels[t, j]]
            for h in range(children):
                from_, to = max(starts[base + h], low[c, j]), min(starts[base + h + 1], high[c, j])
                unpublished = beside * (node_at[at + to - 1] - node_at[at + from_] + 1) - published[t, h]
                if unpublished * (smallest - 1) < most[h]:
                    most[h] = max(0, np.int64(unpublished)) * (smallest - 1)
    together = most.sum()
    least = 0
    is_wrong = False
    for h in range(children):
        bound = max(0, records[c] - (together - most[h]))
        least += bound
        count = 0
        for at in range(row_starts[c], row_starts[c + 1]):
            row = row_order[at]
            if starts[base + h] <= places[row, j] < starts[base + h + 1]:
                count += weights[row]
        is_wrong |= count > most[h] or count < bound
    return least, is_wrong


@kernel
def candidates(
    places: Codes,
    row_class: Integers,
    low: Codes,
    high: Codes,
    own: Floats,
    bar: Floats,
    sizes: Integers,
    values: Codes,
    suppressed: int,
) -> tuple[Any, ...]:
    """Return for each row how many records may be its own, before and after the exclusions.

    `values` are the sensitive values that all records of a class share, by class and column; -1 if there is none.
    Also returned are whether the row's own class is excluded, whether no other that fits has a lower bar, and whether
    its sensitive values are certain before and after.
    """
    rows, columns, secrets = places.shape[0], low.shape[1], values.shape[1]
    before = np.zeros(rows, np.int64)
    after = np.zeros(rows, np.int64)
    wrong = np.zeros(rows, np.bool_)
    located = np.zeros(rows, np.bool_)
    sure = np.zeros((rows, secrets, 2), np.bool_)
    fitting = np.empty(low.shape[0], np.int64)
    for row in range(rows):
        count = 0
        lowest = np.inf
        for c in range(low.shape[0]):
            fits = True
            for j in range(columns):
                if places[row, j] < low[c, j] or places[row, j] >= high[c, j]:
                    fits = False
                    break
            if fits:
                fitting[count] = c
                count += 1
                lowest = min(lowest, bar[c])
        # A suppressed record fits no published label; any other may have been suppressed.
        before[row] = suppressed
        after[row] = suppressed if lowest == np.inf else 0
        wrong[row] = row_class[row] < 0 and lowest < np.inf
        located[row] = row_class[row] >= 0 and bar[row_class[row]] == lowest
        for at in range(count):
            c = fitting[at]
            before[row] += sizes[c]
            if own[c] <= lowest:
                after[row] += sizes[c]
            elif c == row_class[row]:
                wrong[row] = True
        for s in range(secrets):
            for when in range(2):
                value = -2
                for at in range(count):
                    c = fitting[at]
                    if when == 1 and own[c] > lowest:
                        continue
                    shared = int(values[c, s])
                    value = shared if value == -2 or value == shared else -1
                hidden = suppressed > 0 and (when == 0 or lowest == np.inf)
                sure[row, s, when] = value >= 0 and not hidden
    return before, after, wrong, located, sure
