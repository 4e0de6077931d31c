"""Moves of records between labels, proposed many at a time: no two moves of a round touch the same class.

Labels are vectors of texts, as readers see them: a text that occurs on two levels of a hierarchy is one label. Texts
are numbered over all columns. `flat[starts[j, level] + value]` is the text of a value of column j on a level, or -1
if the plan does not allow the level; `costs` has the same places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Floats, Integers
from veil.base.compiled import kernel

SPECIALIZE, JOIN, WIDEN, MOVE = 0, 1, 2, 3
"""Ways to find a label: below that of a row's class, above two rows, above a class and a row, or of another class."""

_FREE = -1


class Space(NamedTuple):
    """What does not change during a search."""

    leaves: Codes  # rows x columns
    weights: Integers  # records of each row
    starts: Integers  # columns x levels
    heights: Integers  # number of levels of each column
    flat: Codes
    costs: Integers
    lowest: Codes  # by text: the lowest level of its column on which it occurs
    highest: Codes
    list_starts: Integers  # by text: where its rows begin in `listed`
    listed: Codes
    values: Codes  # sensitive value of each row
    shares: Floats  # of sensitive values in the table
    smallest: int
    whole: int  # cost of a suppressed record


class State(NamedTuple):
    """The recoding: the class of each row (-1: suppressed), what a record of it costs, and the labels of classes."""

    groups: Codes
    paid: Integers
    labels: Codes  # classes x columns, with room for new ones
    sizes: Integers


class Round(NamedTuple):
    """What a round of moves needs: members of classes, an index of labels, and the moves so far."""

    member_starts: Integers
    members: Codes
    slots: Codes  # hash table of labels
    column: int  # by whose texts classes are listed
    text_starts: Integers
    text_classes: Codes
    after: Codes  # the class of each row after all moves
    after_paid: Integers
    locks: Codes  # by class: the move that touches it
    deltas: Integers  # by move: what it adds to the cost
    kinds: Codes  # by move
    scratch: Codes  # rows
    gains: Integers  # rows
    tally: Integers  # by class: records pulled by this move; 0 between moves
    met: Codes  # classes
    value_counts: Integers


class Knobs(NamedTuple):
    """How a round searches."""

    attempts: int
    most: int  # moves
    temperature: float
    scan: int  # rows to look at for each label
    budget: int  # records that may be suppressed in addition
    trims: bool  # whether the choice of sensitive values matters


@kernel
def draw(random: NDArray[np.uint64], number: int) -> int:
    """Return a random number below `number` (xorshift64*)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    bits = (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33)
    return np.int64(bits) % number


@kernel
def cost_under(space: Space, i: int, label: Codes) -> int:
    """Return what a record of row i costs with a label; -1 if the label does not cover it."""
    total = 0
    for j in range(label.size):
        text = label[j]
        value = space.leaves[i, j]
        cost = -1
        for level in range(space.lowest[text], space.highest[text] + 1):
            place = space.starts[j, level] + value
            if space.flat[place] == text:
                cost = space.costs[place]
                break
        if cost < 0:
            return -1
        total += cost
    return total


@kernel
def level_under(space: Space, i: int, j: int, text: int) -> int:
    """Return the lowest level on which row i has a text in column j; -1 if it has not."""
    for level in range(space.lowest[text], space.highest[text] + 1):
        if space.flat[space.starts[j, level] + space.leaves[i, j]] == text:
            return level
    return -1


@kernel
def join_rows(space: Space, i: int, other: int, floor: Codes, label: Codes) -> bool:
    """Find the lowest label of both rows whose texts of `other` are on the levels `floor` or above."""
    for j in range(label.size):
        found = False
        for level in range(floor[j], space.heights[j]):
            text = space.flat[space.starts[j, level] + space.leaves[i, j]]
            if text >= 0 and text == space.flat[space.starts[j, level] + space.leaves[other, j]]:
                label[j] = text
                found = True
                break
        if not found:
            return False
    return True


@kernel
def hash_of(label: Codes) -> np.uint64:
    """Return a hash of a label."""
    mixed = np.uint64(0)
    for j in range(label.size):
        mixed = (mixed ^ np.uint64(label[j])) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


@kernel
def find_label(label: Codes, labels: Codes, slots: Codes) -> tuple[int, int]:
    """Return the class with a label, or -1, and the slot where it is or belongs."""
    last = np.int64(slots.size - 1)
    slot = np.int64(hash_of(label) & np.uint64(last))
    while slots[slot] >= 0:
        c = slots[slot]
        same = True
        for j in range(label.size):
            if labels[c, j] != label[j]:
                same = False
                break
        if same:
            return c, slot
        slot = (slot + 1) & last
    return -1, slot


@kernel
def number_labels(space: Space, levels: NDArray[np.uint8], suppressed: NDArray[np.bool_], state: State) -> int:
    """Put rows with equal texts into one class. Return the number of classes."""
    rows, columns = space.leaves.shape
    size = 2
    while size < 2 * rows:
        size *= 2
    slots = np.full(size, -1, np.int32)
    label = np.empty(columns, np.int32)
    count = 0
    for i in range(rows):
        if suppressed[i]:
            state.groups[i] = -1
            state.paid[i] = space.whole
            continue
        for j in range(columns):
            label[j] = space.flat[space.starts[j, levels[i, j]] + space.leaves[i, j]]
        c, slot = find_label(label, state.labels, slots)
        if c < 0:
            c = count
            slots[slot] = c
            state.labels[c] = label
            count += 1
        state.groups[i] = c
        state.paid[i] = cost_under(space, i, label)
    return count


@kernel
def prepare_round(space: Space, state: State, classes: int, work: Round) -> int:
    """Number the classes anew, without empty ones, and list members, labels, and classes by text."""
    rows = state.groups.size
    sizes = state.sizes
    sizes[:classes] = 0
    member_counts = work.tally
    member_counts[:classes] = 0
    for i in range(rows):
        if state.groups[i] >= 0:
            sizes[state.groups[i]] += space.weights[i]
            member_counts[state.groups[i]] += 1
    # Close the gaps.
    count = 0
    for c in range(classes):
        work.met[c] = -1
        if member_counts[c]:
            work.met[c] = count
            if count < c:
                state.labels[count] = state.labels[c]
                sizes[count] = sizes[c]
                member_counts[count] = member_counts[c]
            count += 1
    work.member_starts[0] = 0
    for c in range(count):
        work.member_starts[c + 1] = work.member_starts[c] + member_counts[c]
        member_counts[c] = 0
    for i in range(rows):
        if state.groups[i] >= 0:
            c = work.met[state.groups[i]]
            state.groups[i] = c
            work.members[work.member_starts[c] + member_counts[c]] = i
            member_counts[c] += 1
        work.after[i] = state.groups[i]
        work.after_paid[i] = state.paid[i]
    member_counts[:] = 0
    work.locks[:] = -1
    work.slots[:] = -1
    starts = work.text_starts
    starts[:] = 0
    for c in range(count):
        _, slot = find_label(state.labels[c], state.labels, work.slots)
        work.slots[slot] = c
        starts[state.labels[c, work.column] + 1] += 1
    for t in range(starts.size - 1):
        starts[t + 1] += starts[t]
    for c in range(count):
        text = state.labels[c, work.column]
        work.text_classes[starts[text]] = c
        starts[text] += 1
    for t in range(starts.size - 1, 0, -1):
        starts[t] = starts[t - 1]
    starts[0] = 0
    return count


@kernel
def cheapest_class(
    space: Space, state: State, work: Round, i: int, avoid: int, other: int, move: int
) -> tuple[int, int]:
    """Return the cheapest class for row i among those that no other move touches and nobody is pulled from."""
    best, least = -1, space.whole + 1
    j = work.column
    last = -1
    for level in range(space.heights[j]):
        text = space.flat[space.starts[j, level] + space.leaves[i, j]]
        if text < 0 or text == last:
            continue
        last = text
        for e in range(work.text_starts[text], work.text_starts[text + 1]):
            c = work.text_classes[e]
            if c == avoid or c == other or work.locks[c] >= 0 or work.tally[c] > 0:
                continue
            cost = cost_under(space, i, state.labels[c])
            if 0 <= cost < least:
                best, least = c, cost
    return best, least


@kernel
def propose_label(
    space: Space, state: State, work: Round, i: int, kind: int, random: NDArray[np.uint64], label: Codes, levels: Codes
) -> int:
    """Write a label for row i. Return the class that goes there as a whole, -1 if none does, -2 without a label."""
    columns = label.size
    a = state.groups[i]
    if kind == MOVE:
        c, cost = cheapest_class(space, state, work, i, a, -1, -1)
        if c < 0 or cost >= state.paid[i]:
            return -2
        label[:] = state.labels[c]
        return -1
    if kind == SPECIALIZE:
        for j in range(columns):
            levels[j] = space.heights[j] - 1 if a < 0 else level_under(space, i, j, state.labels[a, j])
            while space.flat[space.starts[j, levels[j]] + space.leaves[i, j]] < 0:
                levels[j] -= 1
        lowered = -1
        for _ in range(1 + (draw(random, 2) == 0) + (draw(random, 4) == 0)):
            j = draw(random, columns)
            if levels[j] > 0:
                level = draw(random, levels[j]) if draw(random, 2) == 0 else levels[j] - 1
                if space.flat[space.starts[j, level] + space.leaves[i, j]] >= 0:
                    levels[j] = level
                    lowered = j
        if draw(random, 3) == 0:
            j = draw(random, columns)
            if j != lowered and levels[j] + 1 < space.heights[j]:
                if space.flat[space.starts[j, levels[j] + 1] + space.leaves[i, j]] >= 0:
                    levels[j] += 1
        if lowered < 0:
            return -2
        for j in range(columns):
            label[j] = space.flat[space.starts[j, levels[j]] + space.leaves[i, j]]
        return -1
    # A near row: the one of a few that shares the cheapest label with this one, or with which its class does.
    drag = -2
    least = np.int64(2**62)
    trial = np.empty(columns, np.int32)
    levels[:] = 0
    for _ in range(8):
        other = i
        if kind == JOIN and a >= 0 and draw(random, 2) == 0:
            start, end = work.member_starts[a], work.member_starts[a + 1]
            other = work.members[start + draw(random, end - start)]
        else:
            j = draw(random, columns)
            level = draw(random, space.heights[j])
            text = space.flat[space.starts[j, level] + space.leaves[i, j]]
            if text < 0:
                continue
            start, end = space.list_starts[text], space.list_starts[text + 1]
            other = space.listed[start + draw(random, end - start)]
        b = state.groups[other]
        if other == i:
            continue
        if kind == WIDEN:
            if b < 0 or b == a or work.locks[b] >= 0:
                continue
            for j in range(columns):
                levels[j] = level_under(space, other, j, state.labels[b, j])
        if not join_rows(space, i, other, levels, trial):
            continue
        here = cost_under(space, i, trial)
        loss = here
        if kind == WIDEN:
            loss = here - state.paid[i] + (cost_under(space, other, trial) - state.paid[other]) * state.sizes[b]
        elif here >= state.paid[i]:
            continue
        if loss < least:
            least = loss
            label[:] = trial
            drag = b if kind == WIDEN else -1
    return drag


@kernel
def trim(space: Space, work: Round, count: int, ratio: float, base: int) -> int:
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
def propose(
    space: Space, state: State, work: Round, classes: int, knobs: Knobs, random: NDArray[np.uint64]
) -> tuple[int, int]:
    """Propose moves, none of which touches a class of another. Return how many, and the number of classes then."""
    rows, columns = space.leaves.shape
    label, levels = np.empty(columns, np.int32), np.empty(columns, np.int32)
    moves = 0
    budget = knobs.budget
    room = state.labels.shape[0]
    for _ in range(knobs.attempts):
        if moves == knobs.most or classes + 1 >= room:
            break
        i = draw(random, rows)
        other = draw(random, rows)
        if state.paid[other] > state.paid[i] and draw(random, 2) == 0:
            i = other
        a = state.groups[i]
        if state.paid[i] == 0 or (a >= 0 and work.locks[a] >= 0) or work.after[i] != a:
            continue
        kind = draw(random, 4)
        drag = propose_label(space, state, work, i, kind, random, label, levels)
        if drag == -2:
            continue
        b, slot = find_label(label, state.labels, work.slots)
        if b >= 0 and (work.locks[b] >= 0 or b == a):
            continue
        if drag == b:
            drag = -1
        count = 0
        delta = np.int64(0)
        size = np.int64(0) if b < 0 else state.sizes[b]
        # The rows of a class that goes there as a whole.
        possible = True
        if drag >= 0:
            for e in range(work.member_starts[drag], work.member_starts[drag + 1]):
                r = work.members[e]
                cost = cost_under(space, r, label)
                if cost < 0:
                    possible = False
                    break
                work.scratch[count] = r
                work.gains[count] = state.paid[r] - cost
                count += 1
        if not possible:
            continue
        base = count
        # Rows that gain, from the shortest list.
        best = 0
        for j in range(columns):
            text, shortest = label[j], label[best]
            if (
                space.list_starts[text + 1] - space.list_starts[text]
                < space.list_starts[shortest + 1] - space.list_starts[shortest]
            ):
                best = j
        start, end = space.list_starts[label[best]], space.list_starts[label[best] + 1]
        length = end - start
        alone = kind == MOVE and draw(random, 2) == 0
        # The row itself comes first.
        cost = cost_under(space, i, label)
        if cost < 0 or (cost >= state.paid[i] and drag < 0):
            continue
        if a != drag or a < 0:
            work.scratch[count] = i
            work.gains[count] = state.paid[i] - cost
            count += 1
        if not alone:
            breadth = draw(random, 3)  # from any class, from that of the row, or from either by chance
            offset = draw(random, length)
            for e in range(min(length, knobs.scan)):
                r = space.listed[start + (offset + e) % length]
                c = state.groups[r]
                if r == i or (c >= 0 and (c == b or c == drag or work.locks[c] >= 0)):
                    continue
                if c < 0 and work.after[r] != c:
                    continue
                if (breadth == 1 and c != a) or (breadth == 2 and c != a and (c * 7919 + offset) % 4 != 0):
                    continue
                if state.paid[r] == 0:
                    continue
                cost = cost_under(space, r, label)
                if cost < 0 or cost >= state.paid[r]:
                    continue
                work.scratch[count] = r
                work.gains[count] = state.paid[r] - cost
                count += 1
        if knobs.trims and count > base + 1:
            way = draw(random, 5)
            if way:
                ratio = 1.1 if way == 1 else 1.5 if way == 2 else 2.2 if way == 3 else 4.0
                count = trim(space, work, count, ratio, base)
        # Records pulled from each class, and whether what is left of it is enough.
        met = 0
        for e in range(base, count):
            r = work.scratch[e]
            c = state.groups[r]
            if c < 0:
                continue
            if work.tally[c] == 0:
                work.met[met] = c
                met += 1
            work.tally[c] += space.weights[r]
        dissolves = draw(random, 2) == 0
        left = base
        for e in range(base, count):
            r = work.scratch[e]
            c = state.groups[r]
            if c >= 0 and 0 < state.sizes[c] - work.tally[c] < space.smallest:
                # Leave the class what it needs, or dissolve it below.
                if not (dissolves or (c == a and e == base)):
                    work.tally[c] -= space.weights[r]
                    continue
            work.scratch[left] = r
            work.gains[left] = work.gains[e]
            left += 1
        count = left
        for e in range(count):
            delta -= work.gains[e] * space.weights[work.scratch[e]]
            size += space.weights[work.scratch[e]]
        possible = size >= space.smallest and count > 0
        # What is left of dissolved classes goes to other classes, or is suppressed.
        pulled = count
        lost = np.int64(0)
        if possible:
            for q in range(met):
                c = work.met[q]
                if 0 < work.tally[c] and 0 < state.sizes[c] - work.tally[c] < space.smallest:
                    for e in range(base, pulled):
                        work.after[work.scratch[e]] = -2
                    for e in range(work.member_starts[c], work.member_starts[c + 1]):
                        r = work.members[e]
                        if work.after[r] == -2:
                            continue
                        target, cost = cheapest_class(space, state, work, r, c, drag, moves)
                        if target < 0:
                            lost += space.weights[r]
                            if lost > budget:
                                possible = False
                                break
                            cost = space.whole
                        work.scratch[count] = r
                        work.gains[count] = -target - 1 if target >= 0 else 0
                        delta += (cost - state.paid[r]) * space.weights[r]
                        count += 1
                    for e in range(base, pulled):
                        work.after[work.scratch[e]] = state.groups[work.scratch[e]]
                if not possible:
                    break
        if possible and delta >= 0:
            u = (draw(random, 1 << 30) + 1) / (1 << 30)
            possible = knobs.temperature > 0 and delta > 0 and delta < -knobs.temperature * np.log(u)
        if possible:
            if b < 0:
                b = classes
                classes += 1
                state.labels[b] = label
                state.sizes[b] = 0
                work.slots[slot] = b
            work.locks[b] = moves
            for e in range(count):
                r = work.scratch[e]
                c = state.groups[r]
                if c >= 0:
                    work.locks[c] = moves
                if e < pulled:
                    work.after[r] = b
                    work.after_paid[r] = state.paid[r] - work.gains[e]
                elif work.gains[e] == 0:
                    work.after[r] = -1
                    work.after_paid[r] = space.whole
                    budget -= space.weights[r]
                else:
                    target = -work.gains[e] - 1
                    work.after[r] = target
                    work.locks[target] = moves
                    work.after_paid[r] = cost_under(space, r, state.labels[target])
            work.deltas[moves] = delta
            work.kinds[moves] = kind
            moves += 1
        for q in range(met):
            work.tally[work.met[q]] = 0
    return moves, classes


@kernel
def commit(space: Space, state: State, work: Round, bad: NDArray[np.uint8]) -> int:
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


@kernel
def read_levels(space: Space, state: State, lowest: NDArray[np.uint8], levels: NDArray[np.uint8]) -> None:
    """Write the level of each cell; `lowest` has, by place, the cheapest level with the same text."""
    for i in range(state.groups.size):
        if state.groups[i] < 0:
            continue
        for j in range(levels.shape[1]):
            level = level_under(space, i, j, state.labels[state.groups[i], j])
            levels[i, j] = lowest[space.starts[j, level] + space.leaves[i, j]]
