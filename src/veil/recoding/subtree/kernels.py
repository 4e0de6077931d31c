"""Compiled search over cuts where only the number of records of a class decides.

A step replaces the labels below one node, up or down. It only changes the classes of the rows below that node,
and classes of those rows have no others, so that a step costs as much as it concerns rows. Classes are told apart
by 64-bit sums of random numbers, one for each node: a collision, as unlikely as it is, can mislead the search
but not the release, as each result is judged anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers
from veil.base.compiled import kernel
from veil.recoding.problem import UNIT
from veil.recoding.subtree.forest import Cut, CutForest

Words = NDArray[np.uint64]


class CutRows(NamedTuple):
    """Distinct rows: the number of records of each, and by column the rows below each place.

    `order[starts[p]:starts[p + 1]]` are the rows at place p; those of a node follow each other.
    """

    counts: Integers
    places: Codes
    order: Codes
    starts: Integers


class Nodes(NamedTuple):
    """The arrays of a `Forest`, with a random number for each node."""

    parent: Codes
    first: Codes
    children: Codes
    low: Codes
    high: Codes
    lowest: Codes
    cost: Integers
    inner: Codes
    word: Words


class CutState(NamedTuple):
    """A cut with its classes.

    `totals` are the cost and the number of suppressed records of the cut, and the cost of the best one;
    `random` is the state of the generator.
    """

    cut: Cut
    word: Words
    cost: Integers
    group: Codes
    size: Integers
    spare: Codes
    totals: Integers
    best: Cut
    random: Words


class Room(NamedTuple):
    """Scratch memory of a step."""

    slots: Codes
    words: Words
    sizes: Integers
    costs: Integers
    slot: Codes
    fresh: Cut
    change: Integers


def rows_of(forest: CutForest, counts: Integers, places: Codes) -> CutRows:
    """Return the rows, given the place of each in each column (rows x columns)."""
    order = np.argsort(places, axis=0, kind="stable").T.astype(np.int32).ravel()
    sizes = np.bincount(places.ravel(), minlength=forest.place_count)
    return CutRows(counts, places, order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def nodes_of(forest: CutForest, seed: int) -> Nodes:
    """Return the nodes as the kernels read them."""
    words = np.random.default_rng(seed).integers(0, 2**64, len(forest), np.uint64)
    inner = np.flatnonzero(forest.children > 0).astype(np.int32)
    return Nodes(
        forest.parent,
        forest.first,
        forest.children,
        forest.low,
        forest.high,
        forest.lowest,
        forest.cost,
        inner,
        words,
    )


def room_for(rows: CutRows) -> Room:
    """Return memory for any step."""
    count = rows.counts.size
    slots = 1 << max(1, (2 * count - 1).bit_length())
    return Room(
        np.empty(slots, np.int32), np.empty(count, np.uint64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.empty(count, np.int32), np.empty(rows.starts.size - 1, np.int32), np.zeros(2, np.int64),
    )  # fmt: skip


def state_of(cut: Cut, rows: CutRows, nodes: Nodes, smallest: int, seed: int) -> CutState:
    """Return the classes of a cut, which is the best so far but of no known cost."""
    labels = cut[rows.places]
    word, cost = nodes.word[labels].sum(axis=1, dtype=np.uint64), nodes.cost[labels].sum(axis=1)
    _, group = np.unique(word, return_inverse=True)
    size = np.zeros(rows.counts.size, np.int64)
    np.add.at(size, group, rows.counts)
    kept = size[group] >= smallest
    spare = np.arange(rows.counts.size, dtype=np.int32)
    used = int(group.max(initial=-1)) + 1
    # The first entry of `spare` is their number: groups that no row is in.
    spare = np.concatenate([[rows.counts.size - used], spare[used:], spare[:used]]).astype(np.int32)
    totals = np.array(
        [(rows.counts * np.where(kept, cost, UNIT)).sum(), rows.counts[~kept].sum(), np.iinfo(np.int64).max],
        np.int64,
    )
    return CutState(
        cut.copy(),
        word,
        cost,
        group.astype(np.int32),
        size,
        spare,
        totals,
        cut.copy(),
        np.array([seed], np.uint64),
    )


@kernel
def anneal(
    rows: CutRows,
    nodes: Nodes,
    state: CutState,
    room: Room,
    smallest: int,
    allowed: int,
    penalty: float,
    temperature: float,
    visits: int,
) -> None:
    """Take random steps until so many rows were visited.

    Each record that is suppressed beyond those allowed costs `penalty`; only cuts without any become the best.
    """
    while visits > 0:
        current = state.totals[0] + penalty * max(0, state.totals[1] - allowed)
        node, _, visits = propose(
            rows, nodes, state, room, smallest, allowed, penalty, temperature, current, visits
        )
        if node >= 0:
            accept(rows, nodes, state, room, node)
            if state.totals[1] <= allowed and state.totals[0] < state.totals[2]:
                state.totals[2] = state.totals[0]
                state.best[:] = state.cut


@kernel
def propose(
    rows: CutRows,
    nodes: Nodes,
    state: CutState,
    room: Room,
    smallest: int,
    allowed: int,
    penalty: float,
    temperature: float,
    current: float,
    visits: int,
) -> tuple[int, float, int]:
    """Return the node of a random step, the cost up to which to accept it, and the rows that may still be visited.

    A step to a higher cost than the current one is accepted with probability exp(-increase / temperature). The node
    is -1 if no step was found that the sizes of classes alone allow.
    """
    while visits > 0:
        visits -= 20
        node = nodes.inner[_below(state.random, nodes.inner.size)]
        low, high = nodes.low[node], nodes.high[node]
        here = state.cut[low]
        if here != node and nodes.low[here] <= low and nodes.high[here] >= high:
            continue  # the cut is above the node
        # New labels: the children of a node of the cut, or a node above the cut; or those of any level below.
        kind = _below(state.random, 16)
        if kind == 0:
            level = _below(state.random, nodes.lowest[node] + (here != node))
            _label(nodes, node, level, room.fresh)
        elif here == node:
            for child in range(nodes.first[node], nodes.first[node] + nodes.children[node]):
                room.fresh[nodes.low[child] : nodes.high[child]] = child
        elif kind > 12 or _is_parent(nodes, state.cut, node):
            room.fresh[low:high] = node
        else:
            continue
        visits -= rows.starts[high] - rows.starts[low]
        change, suppressed = regroup(rows, nodes, state, room, node, smallest)
        cost = state.totals[0] + change + penalty * max(0, state.totals[1] + suppressed - allowed)
        highest = current
        if temperature > 0.0:
            highest -= temperature * np.log(_uniform(state.random))
        if cost <= highest:
            return node, highest, visits
    return -1, current, visits


@kernel
def _label(nodes: Nodes, node: int, level: int, fresh: Cut) -> None:
    """Write the highest nodes on a level, at or below a node, to its places."""
    place = nodes.low[node]
    while place < nodes.high[node]:
        label = node
        while nodes.lowest[label] > level and nodes.children[label]:
            child = nodes.first[label]
            while nodes.high[child] <= place:
                child += 1
            label = child
        fresh[place : nodes.high[label]] = label
        place = nodes.high[label]


@kernel
def _is_parent(nodes: Nodes, cut: Cut, node: int) -> bool:
    """Return whether all children of a node are in the cut."""
    for child in range(nodes.first[node], nodes.first[node] + nodes.children[node]):
        if cut[nodes.low[child]] != child:
            return False
    return True


@kernel
def regroup(
    rows: CutRows, nodes: Nodes, state: CutState, room: Room, node: int, smallest: int
) -> tuple[int, int]:
    """Group the rows below a node by their new labels; return the change of cost and of suppressed records."""
    first, last = rows.starts[nodes.low[node]], rows.starts[nodes.high[node]]
    column = first // rows.counts.size
    bits = 1
    while (1 << bits) < 2 * (last - first):
        bits += 1
    mask = (1 << bits) - 1
    down = np.uint64(64 - bits)
    room.slots[: mask + 1] = -1
    cost = suppressed = count = 0
    for i in range(first, last):
        row = rows.order[i]
        records = rows.counts[row]
        if state.size[state.group[row]] >= smallest:
            cost -= records * state.cost[row]
        else:
            cost -= records * UNIT
            suppressed -= records
        place = rows.places[row, column]
        old, new = state.cut[place], room.fresh[place]
        word = state.word[row] - nodes.word[old] + nodes.word[new]
        at = np.int64((word * np.uint64(0x9E3779B97F4A7C15)) >> down)
        while room.slots[at] >= 0 and room.words[room.slots[at]] != word:
            at = (at + 1) & mask
        slot = room.slots[at]
        if slot < 0:
            slot = count
            room.slots[at] = slot
            room.words[slot] = word
            room.sizes[slot] = 0
            room.costs[slot] = state.cost[row] - nodes.cost[old] + nodes.cost[new]
            count += 1
        room.sizes[slot] += records
        room.slot[i - first] = slot
    for slot in range(count):
        if room.sizes[slot] >= smallest:
            cost += room.sizes[slot] * room.costs[slot]
        else:
            cost += room.sizes[slot] * UNIT
            suppressed += room.sizes[slot]
    room.change[0], room.change[1] = cost, suppressed
    return cost, suppressed


@kernel
def accept(rows: CutRows, nodes: Nodes, state: CutState, room: Room, node: int) -> None:
    """Give the rows below a node the labels and classes that `regroup` has just tried."""
    low, high = nodes.low[node], nodes.high[node]
    first, last = rows.starts[low], rows.starts[high]
    spare = state.spare
    state.cut[low:high] = room.fresh[low:high]
    state.totals[0] += room.change[0]
    state.totals[1] += room.change[1]
    for i in range(first, last):  # the old classes have no other rows
        group = state.group[rows.order[i]]
        if state.size[group] > 0:
            state.size[group] = 0
            spare[0] += 1
            spare[spare[0]] = group
    count = 0
    for i in range(first, last):
        row, slot = rows.order[i], room.slot[i - first]
        if slot == count:  # the first row of a class
            room.slots[slot] = spare[spare[0]]
            spare[0] -= 1
            state.size[room.slots[slot]] = room.sizes[slot]
            count += 1
        state.group[row] = room.slots[slot]
        state.word[row] = room.words[slot]
        state.cost[row] = room.costs[slot]


@kernel
def _next(random: Words) -> np.uint64:
    """Return 64 random bits (splitmix64)."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    bits = random[0]
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: np.uint64 = bits ^ (bits >> np.uint64(31))
    return result


@kernel
def _below(random: Words, bound: int) -> int:
    return int((_next(random) >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32))


@kernel
def _uniform(random: Words) -> float:
    return (np.float64(_next(random) >> np.uint64(11)) + 1.0) / 9007199254740993.0
