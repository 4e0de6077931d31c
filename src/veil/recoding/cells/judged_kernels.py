"""Moves of records between labels, proposed many at a time: no two moves of a round touch the same class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers
from veil.base.compiled import kernel
from veil.recoding.cells.judged_labels import (
    Knobs,
    Round,
    TextSpace,
    TextState,
    cheapest_class,
    cost_under,
    draw,
    find_label,
    hash_of,
    join_rows,
    level_under,
    node_cost,
)

WIDEN, MOVE = 1, 2
"""Ways to find a label for a row, beside those of a node: above it and a class, or that of another class."""


@kernel
def draw_node(space: TextSpace, state: TextState, i: int, random: NDArray[np.uint64], levels: Codes) -> bool:
    """Draw levels near those of row i on which it costs less than it does."""
    columns = levels.size
    a = state.groups[i]
    for j in range(columns):
        levels[j] = space.heights[j] - 1 if a < 0 else level_under(space, i, j, state.labels[a, j])
        while space.flat[space.starts[j, levels[j]] + space.leaves[i, j]] < 0:
            levels[j] -= 1
    for _ in range(1 + draw(random, 3)):
        j = draw(random, columns)
        if levels[j] > 0:
            level = draw(random, levels[j]) if draw(random, 2) == 0 else levels[j] - 1
            if space.flat[space.starts[j, level] + space.leaves[i, j]] >= 0:
                levels[j] = level
    for _ in range(draw(random, 3)):
        j = draw(random, columns)
        level = levels[j] + 1
        if level < space.heights[j] and space.flat[space.starts[j, level] + space.leaves[i, j]] >= 0:
            levels[j] = level
    cost = 0
    for j in range(columns):
        cost += space.costs[space.starts[j, levels[j]] + space.leaves[i, j]]
    cheaper: bool = cost < state.paid[i]
    return cheaper


@kernel
def near_class(
    space: TextSpace,
    state: TextState,
    work: Round,
    i: int,
    random: NDArray[np.uint64],
    label: Codes,
    levels: Codes,
) -> int:
    """Write the label of row i and of a class near it, the best of a few; return the class, or -1."""
    a, best, least = state.groups[i], -1, np.int64(2**62)
    trial = np.empty(label.size, np.int32)
    for _ in range(12):
        j = draw(random, label.size)
        text = space.flat[space.starts[j, draw(random, space.heights[j])] + space.leaves[i, j]]
        if text < 0:
            continue
        start, end = space.list_starts[text], space.list_starts[text + 1]
        other = space.listed[start + draw(random, end - start)]
        b = state.groups[other]
        if b < 0 or b == a or work.locks[b] >= 0:
            continue
        for j in range(label.size):
            levels[j] = level_under(space, other, j, state.labels[b, j])
        if not join_rows(space, i, other, levels, trial):
            continue
        loss = cost_under(space, i, trial) - state.paid[i]
        loss += (cost_under(space, other, trial) - state.paid[other]) * state.sizes[b]
        if loss < least:
            best, least = b, loss
            label[:] = trial
    return best


@kernel
def trim(space: TextSpace, work: Round, count: int, ratio: float, base: int) -> int:
    """Drop rows whose sensitive value would be more than `ratio` times as frequent as in the table.

    `base` rows at the beginning stay. Return how many rows are left.
    """
    counts = work.value_counts
    counts[:] = 0
    for e in range(count):
        counts[space.values[work.scratch[e]]] += 1
    total = count
    for _ in range(4):
        left = 0
        for v in range(counts.size):
            if counts[v]:
                counts[v] = min(counts[v], max(1, np.int64(ratio * space.shares[v] * total + 0.5)))
                left += counts[v]
        if left == total:
            break
        total = left
    for e in range(base):
        counts[space.values[work.scratch[e]]] -= 1
    left = base
    for e in range(base, count):
        v = space.values[work.scratch[e]]
        if counts[v] > 0:
            counts[v] -= 1
            work.scratch[left] = work.scratch[e]
            work.gains[left] = work.gains[e]
            left += 1
    return left


@kernel
def collect(
    space: TextSpace,
    state: TextState,
    work: Round,
    i: int,
    label: Codes,
    avoid: int,
    drag: int,
    scan: int,
    base: int,
) -> int:
    """Append to `scratch` the rows that gain by a label, row i first. Return how many rows there are."""
    count = base
    best = 0
    for j in range(label.size):
        text, shortest = label[j], label[best]
        length = space.list_starts[text + 1] - space.list_starts[text]
        if length < space.list_starts[shortest + 1] - space.list_starts[shortest]:
            best = j
    start, end = space.list_starts[label[best]], space.list_starts[label[best] + 1]
    for e in range(-1, min(end - start, scan)):
        r = i if e < 0 else space.listed[start + e]
        c = state.groups[r]
        if (r == i and e >= 0) or (c >= 0 and (c == avoid or c == drag or work.locks[c] >= 0)):  # noqa: SIM109
            continue
        if work.after[r] != c or (state.paid[r] == 0 and e >= 0):
            continue
        cost = cost_under(space, r, label)
        if cost < 0 or cost >= state.paid[r]:
            continue
        work.scratch[count] = r
        work.gains[count] = state.paid[r] - cost
        count += 1
    return count


@kernel
def narrow(
    space: TextSpace,
    state: TextState,
    work: Round,
    base: int,
    count: int,
    trims: bool,
    random: NDArray[np.uint64],
) -> int:
    """Drop by chance the rows of some classes, or those with frequent sensitive values. Return how many are left."""
    if count <= base + 1:
        return count
    a = state.groups[work.scratch[base]]
    breadth = draw(random, 6)
    if breadth > 3:  # from the class of the first row alone, or from some others as well
        chance = draw(random, 1 << 20)
        left = base
        for e in range(base, count):
            r = work.scratch[e]
            c = state.groups[r]
            if c == a or (breadth == 4 and (c * 7919 + chance) % 3 == 0):
                work.scratch[left] = r
                work.gains[left] = work.gains[e]
                left += 1
        count = left
    way = draw(random, 6) if trims else 0
    if way > 1:
        ratio = 1.1 if way == 2 else 1.5 if way == 3 else 2.2 if way == 4 else 4.0
        count = trim(space, work, count, ratio, base)
    return count


@kernel
def elsewhere(space: TextSpace, state: TextState, work: Round, r: int, drag: int) -> tuple[int, int]:
    """Return the cheapest other class for row r, and its cost; -1 if there is none. It is looked up once a round."""
    c = state.groups[r]
    target = work.others[r]
    if target == -2:
        target, cost = cheapest_class(space, state, work, r, c, -1)
        work.others[r], work.other_paid[r] = target, cost
    if target >= 0 and (work.locks[target] >= 0 or work.tally[target] > 0 or target == drag):
        return cheapest_class(space, state, work, r, c, drag)
    return target, work.other_paid[r]


@kernel
def close_gain(
    space: TextSpace, state: TextState, work: Round, c: int, drag: int, label: Codes, write: int
) -> tuple[int, int, int]:
    """Return what closing a class gains with the rows that are not pulled, how many it adds, and records lost.

    They go to the label or to other classes. From place `write` on, they are written to `scratch`; not if it is -1.
    """
    gain, lost, count = np.int64(0), np.int64(0), write
    for e in range(work.member_starts[c], work.member_starts[c + 1]):
        r = work.members[e]
        if work.after[r] != c:  # pulled
            continue
        here = cost_under(space, r, label)
        target, cost = elsewhere(space, state, work, r, drag)
        if here >= 0 and (target < 0 or here <= cost):
            target, cost = -2, here
        if target == -1:
            lost += space.weights[r]
            cost = space.whole
        gain += (state.paid[r] - cost) * space.weights[r]
        if write >= 0:
            work.scratch[count] = r
            work.gains[count] = state.paid[r] - cost
            work.targets[count] = target
            count += 1
    return int(gain), count, int(lost)


@kernel
def likely(space: TextSpace, knobs: Knobs, counts: Integers) -> bool:
    """Whether a class with some counts of values is no more unusual than one that was accepted before."""
    total = different = 0
    for v in range(counts.size):
        total += counts[v]
        different += counts[v] > 0
    if total == 0:
        return True
    if different < knobs.least_values:
        return False
    excess = 0.0
    for v in range(counts.size):
        excess += max(0.0, counts[v] / total - space.shares[v])
    return excess <= knobs.largest_distance


@kernel
def fill(
    space: TextSpace,
    state: TextState,
    work: Round,
    knobs: Knobs,
    b: int,
    explores: bool,
    base: int,
    count: int,
) -> int:
    """Add to the first `base` rows those of the others that lose least, until a class is large and likely enough.

    Only rows that their classes can spare are taken. Return how many rows there are, or 0 if they are not enough.
    """
    size = np.int64(0) if b < 0 else state.sizes[b]
    counts = work.value_counts
    counts[:] = 0
    guided = work.class_counts.shape[0] > 0 and not explores
    if guided and b >= 0:
        counts[:] = work.class_counts[b]
    for e in range(base):
        r = work.scratch[e]
        size += space.weights[r]
        counts[space.values[r]] += 1
        if state.groups[r] >= 0:
            work.tally[state.groups[r]] += space.weights[r]
    result = base
    count = min(count, base + 400)
    while True:
        balanced = not guided or likely(space, knobs, counts)
        if size >= space.smallest and balanced:
            break
        best, most, rare = -1, np.int64(0), False
        for e in range(result, count):
            r = work.scratch[e]
            c = state.groups[r]
            v = space.values[r]
            if c >= 0 and state.sizes[c] - work.tally[c] - space.weights[r] < space.smallest:
                continue
            lacks = not balanced and counts[v] < space.shares[v] * (size + 1)
            if rare and not lacks:
                continue
            if best < 0 or (lacks and not rare) or work.gains[e] > most:
                best, most, rare = e, work.gains[e], lacks
        if best < 0 or (size >= space.smallest and not rare):
            break
        r, gain = work.scratch[best], work.gains[best]
        work.scratch[best], work.gains[best] = work.scratch[result], work.gains[result]
        work.scratch[result], work.gains[result] = r, gain
        result += 1
        size += space.weights[r]
        counts[space.values[r]] += 1
        if state.groups[r] >= 0:
            work.tally[state.groups[r]] += space.weights[r]
    for e in range(result):
        if state.groups[work.scratch[e]] >= 0:
            work.tally[state.groups[work.scratch[e]]] = 0
    return result if size >= space.smallest and (not guided or likely(space, knobs, counts)) else 0


@kernel
def leaves_likely(
    space: TextSpace, state: TextState, work: Round, knobs: Knobs, base: int, count: int, met: int
) -> bool:
    """Whether every class that is not closed stays likely without the rows that are pulled from it."""
    for e in range(base, count):
        c = state.groups[work.scratch[e]]
        if c >= 0 and not work.closed[c]:
            work.class_counts[c, space.values[work.scratch[e]]] -= 1
    result = True
    for q in range(met):
        c = work.met[q]
        if result and not work.closed[c] and work.tally[c] > 0:
            result = likely(space, knobs, work.class_counts[c])
    for e in range(base, count):
        c = state.groups[work.scratch[e]]
        if c >= 0 and not work.closed[c]:
            work.class_counts[c, space.values[work.scratch[e]]] += 1
    return result


@kernel
def try_move(
    space: TextSpace,
    state: TextState,
    work: Round,
    knobs: Knobs,
    random: NDArray[np.uint64],
    label: Codes,
    explores: bool,
    base: int,
    count: int,
    drag: int,
    number: Integers,
) -> bool:
    """Make a move of the rows in `scratch` to a label, if that pays. The first `base` of them are those of class `drag`.

    `number` are the moves, the classes and the records that may be suppressed in addition, which change.
    """
    b, slot = find_label(label, state.labels, work.slots)
    size = np.int64(0) if b < 0 else state.sizes[b]
    met = 0
    # Records pulled from each class; rows that are pulled have -2 in `after` until the move is decided.
    for e in range(count):
        r = work.scratch[e]
        c = state.groups[r]
        work.after[r] = -2
        work.targets[e] = -2
        if e < base:
            size += space.weights[r]
            continue
        if c < 0:
            size += space.weights[r]
            continue
        if work.tally[c] == 0:
            work.met[met] = c
            work.worth[c] = 0
            met += 1
        work.tally[c] += space.weights[r]
        work.worth[c] += work.gains[e] * space.weights[r]
    first = state.groups[work.scratch[base]] if base < count else -1
    # A class of which too little would be left is closed if that gains more than leaving it what it needs.
    for q in range(met):
        c = work.met[q]
        left = state.sizes[c] - work.tally[c]
        work.closed[c] = left == 0
        if 0 < left < space.smallest:
            closing, _, gone = close_gain(space, state, work, c, drag, label, -1)
            spare = state.sizes[c] - space.smallest
            part = work.worth[c] * spare // work.tally[c]
            work.worth[c] = closing + work.worth[c] - part
            work.closed[c] = (work.worth[c] > 0 or c == first) and gone <= number[2]
            if gone > number[2]:
                work.worth[c] = -(2**62)
            size += work.tally[c] if work.closed[c] else spare
        else:
            work.worth[c] = 0
            size += work.tally[c]
    while size < space.smallest:
        best = -1
        for q in range(met):
            c = work.met[q]
            if not work.closed[c] and work.worth[c] < 0 and (best < 0 or work.worth[c] > work.worth[best]):
                best = c
        if best < 0 or work.worth[best] == -(2**62):
            break
        work.closed[best] = True
        size += work.tally[best] - (state.sizes[best] - space.smallest)
    # Rows that their class needs stay.
    left = base
    for e in range(base, count):
        r = work.scratch[e]
        c = state.groups[r]
        if c >= 0 and not work.closed[c] and state.sizes[c] - work.tally[c] < space.smallest:
            work.tally[c] -= space.weights[r]
            work.after[r] = c
            continue
        work.scratch[left] = r
        work.gains[left] = work.gains[e]
        left += 1
    count = left
    pulled = count
    lost: Any = np.int64(0)
    for q in range(met):
        c = work.met[q]
        if work.closed[c] and work.tally[c] < state.sizes[c]:
            _, count, further = close_gain(space, state, work, c, drag, label, count)
            lost += further
    delta = np.int64(0)
    size = np.int64(0) if b < 0 else state.sizes[b]
    for e in range(count):
        r = work.scratch[e]
        delta -= work.gains[e] * space.weights[r]
        if work.targets[e] == -2:
            size += space.weights[r]
    u = (draw(random, 1 << 30) + 1) / (1 << 30)
    possible = bool(size >= space.smallest and lost <= number[2])
    if possible and not explores and work.class_counts.shape[0]:
        possible = leaves_likely(space, state, work, knobs, base, pulled, met)
    possible = possible and bool(delta < 0 or 0 < delta < -knobs.temperature * np.log(u))
    for e in range(pulled):
        work.after[work.scratch[e]] = state.groups[work.scratch[e]]
    if possible:
        move = np.int32(number[0])
        if b < 0:
            b = number[1]
            number[1] += 1
            state.labels[b] = label
            state.sizes[b] = 0
            work.slots[slot] = b
        work.locks[b] = move
        for e in range(count):
            r = work.scratch[e]
            if state.groups[r] >= 0:
                work.locks[state.groups[r]] = move
            target = work.targets[e]
            work.after[r] = b if target == -2 else target
            work.after_paid[r] = state.paid[r] - work.gains[e]
            if target >= 0:
                work.locks[target] = move
        number[0] += 1
        number[2] -= lost
    for q in range(met):
        work.tally[work.met[q]] = 0
    return possible


@kernel
def propose_node(
    space: TextSpace,
    state: TextState,
    work: Round,
    knobs: Knobs,
    random: NDArray[np.uint64],
    levels: Codes,
    number: Integers,
) -> int:
    """Try, for each label of a node, a move of the rows that gain by it. Return how many labels were tried."""
    rows, columns = space.leaves.shape
    label = np.empty(columns, np.int32)
    # Group the rows that gain, or lose little: `work.ranks` are rows, `work.batch` their groups.
    gaining = groups = 0
    slack = space.whole // 200 << draw(random, 5)
    mask = np.int64(work.node_slots.size - 1)
    work.node_slots[:] = -1
    for i in range(rows):
        paid, cost = state.paid[i] + slack, np.int64(0)
        for j in range(columns):
            cost += space.costs[space.starts[j, levels[j]] + space.leaves[i, j]]
            if cost >= paid:
                break
        c = state.groups[i]
        if cost >= paid or work.after[i] != c or (c >= 0 and work.locks[c] >= 0):
            continue
        mixed = np.uint64(0)
        for j in range(columns):
            label[j] = space.flat[space.starts[j, levels[j]] + space.leaves[i, j]]
        mixed = hash_of(label)
        slot = np.int64(mixed & np.uint64(mask))
        while True:
            g = work.node_slots[slot]
            if g < 0:
                work.node_slots[slot] = groups
                work.firsts[groups] = i
                work.counts[groups] = 0
                g = groups
                groups += 1
                break
            same = True
            for j in range(columns):
                if space.flat[space.starts[j, levels[j]] + space.leaves[work.firsts[g], j]] != label[j]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & mask
        work.counts[g] += 1
        work.ranks[gaining] = i
        work.batch[gaining] = g
        gaining += 1
    # Sort them by group.
    end = 0
    for g in range(groups):
        end += work.counts[g]
        work.counts[g] = end
    for e in range(gaining - 1, -1, -1):
        g = work.batch[e]
        work.counts[g] -= 1
        work.sorted[work.counts[g]] = work.ranks[e]
    tried = 0
    turn = draw(random, groups) if groups else 0
    for place in range(groups):
        if number[0] == knobs.most or number[1] + 1 >= state.labels.shape[0]:
            break
        g = (place + turn) % groups
        start = work.counts[g]
        end = work.counts[g + 1] if g + 1 < groups else gaining
        for j in range(columns):
            label[j] = space.flat[space.starts[j, levels[j]] + space.leaves[work.firsts[g], j]]
        b = find_label(label, state.labels, work.slots)[0]
        if b >= 0 and work.locks[b] >= 0:
            continue
        if b < 0 and end - start < space.smallest and space.unweighted:
            continue
        gaining_count = 0
        for e in range(start, end):
            r = work.sorted[e]
            gaining_count += node_cost(space, r, levels) < state.paid[r]
        if gaining_count == 0:
            continue
        # Rows that gain come first, then those that may be needed.
        count, offset = 0, draw(random, end - start)
        for turn_of in range(2):
            for e in range(end - start):
                r = work.sorted[start + (e + offset) % (end - start)]
                c = state.groups[r]
                if work.after[r] != c or (c >= 0 and (c == b or work.locks[c] >= 0)):
                    continue
                gain = state.paid[r] - node_cost(space, r, levels)
                if (gain > 0) == (turn_of == 0):
                    work.scratch[count] = r
                    work.gains[count] = gain
                    count += 1
            if turn_of == 0:
                count = narrow(space, state, work, 0, count, knobs.trims, random)
                gaining_count = count
        if gaining_count == 0:
            continue
        explores = draw(random, 8) == 0
        count = fill(space, state, work, knobs, b, explores, gaining_count, count)
        if count:
            tried += 1
            try_move(space, state, work, knobs, random, label, explores, 0, count, -1, number)
    return tried


@kernel
def propose(
    space: TextSpace,
    state: TextState,
    work: Round,
    classes: int,
    knobs: Knobs,
    random: NDArray[np.uint64],
    tally: Integers,
) -> tuple[int, int]:
    """Propose moves, none of which touches a class of another. Return how many, and the number of classes then."""
    rows, columns = space.leaves.shape
    label, levels = np.empty(columns, np.int32), np.empty(columns, np.int32)
    number = np.array([0, classes, knobs.budget], np.int64)
    for _ in range(knobs.nodes):
        i = dear_row(state, rows, random)
        if state.paid[i] > 0 and draw_node(space, state, i, random, levels):
            before = number[0]
            tally[0] += propose_node(space, state, work, knobs, random, levels, number)
            tally[1] += number[0] - before
    for _ in range(knobs.attempts):
        if number[0] == knobs.most or number[1] + 1 >= state.labels.shape[0]:
            break
        i = dear_row(state, rows, random)
        a = state.groups[i]
        if state.paid[i] == 0 or (a >= 0 and work.locks[a] >= 0) or work.after[i] != a:
            continue
        base, drag, alone = 0, -1, False
        kind = WIDEN if draw(random, 2) == 0 else MOVE
        if kind == MOVE:
            b, cost = cheapest_class(space, state, work, i, a, -1)
            if b < 0 or cost >= state.paid[i]:
                continue
            label[:] = state.labels[b]
            alone = draw(random, 2) == 0
        else:
            drag = near_class(space, state, work, i, random, label, levels)
            if drag < 0:
                continue
            b = find_label(label, state.labels, work.slots)[0]
            if b >= 0 and (work.locks[b] >= 0 or b == a):
                continue
            if b == drag:
                drag = -1
        if drag >= 0:
            # The rows of a class that goes there as a whole.
            for e in range(work.member_starts[drag], work.member_starts[drag + 1]):
                r = work.members[e]
                cost = cost_under(space, r, label)
                if cost < 0:
                    base = -1
                    break
                work.scratch[base] = r
                work.gains[base] = state.paid[r] - cost
                base += 1
            if base < 0:
                continue
        alone = alone or draw(random, 4) > 0
        count = collect(space, state, work, i, label, b, drag, 0 if alone else knobs.scan, base)
        if count == base or work.scratch[base] != i:
            continue
        if not alone:
            count = narrow(space, state, work, base, count, knobs.trims, random)
        tally[2 * kind] += 1
        tally[2 * kind + 1] += try_move(
            space, state, work, knobs, random, label, True, base, count, drag, number
        )
    return number[0], number[1]


@kernel
def dear_row(state: TextState, rows: int, random: NDArray[np.uint64]) -> int:
    """Draw a row, a dear one with preference."""
    i, other = draw(random, rows), draw(random, rows)
    return other if state.paid[other] > state.paid[i] and draw(random, 2) == 0 else i


@kernel
def commit(space: TextSpace, state: TextState, work: Round, bad: NDArray[np.uint8]) -> int:
    """Carry out the moves that are not bad. Return what they add to the cost."""
    total = 0
    for i in range(state.groups.size):
        c = state.groups[i]
        if work.after[i] == c:
            continue
        move = work.locks[c] if c >= 0 else work.locks[work.after[i]]
        if not bad[move]:
            total += (work.after_paid[i] - state.paid[i]) * space.weights[i]
            state.groups[i] = work.after[i]
            state.paid[i] = work.after_paid[i]
    return total
