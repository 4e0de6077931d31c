"""Labels as readers see them, and the classes that they make, for a search whose moves models judge.

Labels are vectors of texts: a text that occurs on two levels of a hierarchy is one label. Texts are numbered over all
columns. `flat[starts[j, level] + value]` is the text of a value of column j on a level, or -1 if the plan does not
allow the level; `costs` has the same places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.compiled import kernel


class TextSpace(NamedTuple):
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
    unweighted: bool  # whether every row is one record
    whole: int  # cost of a suppressed record


class TextState(NamedTuple):
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
    column: Integers  # the one by whose texts classes are listed
    text_starts: Integers
    text_classes: Codes
    after: Codes  # the class of each row after all moves
    after_paid: Integers
    locks: Codes  # by class: the move that touches it
    scratch: Codes  # rows
    gains: Integers  # rows
    tally: Integers  # by class: records pulled by this move; 0 between moves
    met: Codes  # classes
    worth: Integers  # by class: what its rows gain, or what closing it gains
    closed: Mask  # by class
    targets: Codes  # of the rows in scratch: a class, -1 if suppressed, -2 for the label of the move
    others: Codes  # by row: the cheapest other class, -1 if there is none, -2 if that is not known
    other_paid: Integers
    value_counts: Integers
    class_counts: Codes  # classes x values: rows, or nothing if that would be too large
    # For the labels of a node: a hash table, the first row and the place of each group, and rows with their groups.
    node_slots: Codes
    firsts: Codes
    counts: Codes
    ranks: Codes
    batch: Codes
    sorted: Codes


class Knobs(NamedTuple):
    """How a round searches."""

    nodes: int
    attempts: int
    most: int  # moves
    temperature: float
    scan: int  # rows to look at for each label
    budget: int  # records that may be suppressed in addition
    trims: bool  # whether the choice of sensitive values matters
    least_values: int  # different values of the least diverse class that was ever accepted
    largest_distance: float  # from the table, of the farthest class that was ever accepted (equal distance)


@kernel
def draw(random: NDArray[np.uint64], number: int) -> int:
    """Return a random number below `number` (xorshift64*)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    bits = (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33)
    return int(np.int64(bits) % number)


@kernel
def cost_under(space: TextSpace, i: int, label: Codes) -> int:
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
def level_under(space: TextSpace, i: int, j: int, text: int) -> int:
    """Return the lowest level on which row i has a text in column j; -1 if it has not."""
    for level in range(space.lowest[text], space.highest[text] + 1):
        if space.flat[space.starts[j, level] + space.leaves[i, j]] == text:
            return level
    return -1


@kernel
def join_rows(space: TextSpace, i: int, other: int, floor: Codes, label: Codes) -> bool:
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
    slot: Any = np.int64(hash_of(label) & np.uint64(last))
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
def number_labels(
    space: TextSpace, levels: NDArray[np.uint8], suppressed: NDArray[np.bool_], state: TextState
) -> int:
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
def prepare_round(space: TextSpace, state: TextState, classes: int, work: Round) -> int:
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
        work.others[i] = -2
    if work.class_counts.shape[0]:
        work.class_counts[:count] = 0
        for i in range(rows):
            if state.groups[i] >= 0:
                work.class_counts[state.groups[i], space.values[i]] += 1
    member_counts[:] = 0
    # Classes are listed by the column whose labels cover the fewest rows.
    fewest = np.int64(2**62)
    for j in range(state.labels.shape[1]):
        covered = np.int64(0)
        for c in range(count):
            covered += space.list_starts[state.labels[c, j] + 1] - space.list_starts[state.labels[c, j]]
        if covered < fewest:
            fewest = covered
            work.column[0] = j
    work.locks[:] = -1
    work.slots[:] = -1
    starts = work.text_starts
    starts[:] = 0
    for c in range(count):
        _, slot = find_label(state.labels[c], state.labels, work.slots)
        work.slots[slot] = c
        starts[state.labels[c, work.column[0]] + 1] += 1
    for t in range(starts.size - 1):
        starts[t + 1] += starts[t]
    for c in range(count):
        text = state.labels[c, work.column[0]]
        work.text_classes[starts[text]] = c
        starts[text] += 1
    for t in range(starts.size - 1, 0, -1):
        starts[t] = starts[t - 1]
    starts[0] = 0
    return count


@kernel
def cheapest_class(
    space: TextSpace, state: TextState, work: Round, i: int, avoid: int, other: int
) -> tuple[int, int]:
    """Return the cheapest class for row i among those that no other move touches and nobody is pulled from."""
    best, least = -1, space.whole + 1
    j = work.column[0]
    last = -1
    for level in range(space.heights[j]):
        text = space.flat[space.starts[j, level] + space.leaves[i, j]]
        if text < 0 or text == last:
            continue
        last = text
        for e in range(work.text_starts[text], work.text_starts[text + 1]):
            c = work.text_classes[e]
            if c == avoid or c == other or work.locks[c] >= 0 or work.tally[c] > 0:  # noqa: SIM109 - `in` does not compile
                continue
            cost = cost_under(space, i, state.labels[c])
            if 0 <= cost < least:
                best, least = c, cost
    return best, least


@kernel
def node_cost(space: TextSpace, i: int, levels: Codes) -> int:
    """Return what a record of row i costs on some levels."""
    cost: Any = np.int64(0)
    for j in range(levels.size):
        cost += space.costs[space.starts[j, levels[j]] + space.leaves[i, j]]
    return int(cost)


@kernel
def read_levels(
    space: TextSpace, state: TextState, lowest: NDArray[np.uint8], levels: NDArray[np.uint8]
) -> None:
    """Write the level of each cell; `lowest` has, by place, the cheapest level with the same text."""
    for i in range(state.groups.size):
        if state.groups[i] < 0:
            continue
        for j in range(levels.shape[1]):
            level = level_under(space, i, j, state.labels[state.groups[i], j])
            levels[i, j] = lowest[space.starts[j, level] + space.leaves[i, j]]


@kernel
def unusual(values: Codes, shares: Floats, groups: Codes, number: int) -> tuple[Integers, Floats]:
    """Return how many different values each group of rows has, and how far it is from the table."""
    counts = np.zeros((number, shares.size), np.int64)
    for e in range(values.size):
        counts[groups[e], values[e]] += 1
    different, distances = np.zeros(number, np.int64), np.zeros(number)
    for g in range(number):
        total = counts[g].sum()
        for v in range(shares.size):
            different[g] += counts[g, v] > 0
            distances[g] += max(0.0, counts[g, v] / total - shares[v])
    return different, distances
