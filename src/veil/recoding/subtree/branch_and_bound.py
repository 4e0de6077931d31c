"""Exact search over cuts: which nodes are split into their children.

A state is a cut, with the nodes at or below it that may still be split; its cut is the coarsest of all cuts it
stands for. A record in a class of too few records is so in every finer cut, so that

* a node cannot be split if that alone, with the nodes above it, suppresses more records than may be;
* nor can two nodes of different columns together, if both splits do;
* no cut costs less than the cut of the state, less what splits can gain for records that are not suppressed yet.

Of nodes of which any two exclude each other, one can be split at most: gains are added up over a cover by such cliques,
in which a node's gain may be divided among several. Further models only suppress more, which keeps the bound; where
they prove that no finer cut can be published, the state ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veil.base.arrays import Codes, Integers, Mask
from veil.base.compiled import kernel
from veil.recoding.subtree import kernels
from veil.recoding.subtree.forest import Cut, CutForest
from veil.recoding.subtree.judge import CutJudge, CutVerdict

BranchState = tuple[int, Cut, Codes]
"""A bound, the cut, and the nodes that may still be split."""


class CutSearch:
    """A depth-first search that can be interrupted, with a bound of all that is left."""

    def __init__(
        self, forest: CutForest, rows: kernels.CutRows, judge: CutJudge, report: Callable[[Cut], bool]
    ) -> None:
        self.forest, self.rows, self.judge, self.report = forest, rows, judge, report
        self.nodes = kernels.nodes_of(forest, 0)
        self.room = kernels.room_for(rows)
        self.smallest, self.allowed = judge.evaluator.smallest, judge.evaluator.allowed
        self.stack: list[BranchState] = [(0, forest.top(), self.nodes.inner)]

    def bound(self, cost: int) -> int:
        """Return what no cut costs less than, given the cost of the best one."""
        return min([cost, *(bound for bound, *_ in self.stack)])

    def run(self, cost: Callable[[], int], over: Callable[[], bool]) -> bool:
        """Search until all states are decided, or it is `over`; return whether they are.

        `cost` is that of the best cut so far.
        """
        while self.stack:
            bound, cut, open_nodes = self.stack[-1]
            if over():
                return False
            halves = self._divide(bound, cut, open_nodes, cost, over)
            if halves is None:
                return False
            self.stack.pop()
            self.stack += [half for half in halves if half[0] < cost()]
        return True

    def _divide(
        self, bound: int, cut: Cut, open_nodes: Codes, cost: Callable[[], int], over: Callable[[], bool]
    ) -> list[BranchState] | None:
        """Return the two halves of a state that may have a better cut, if there are any; None if it is `over`."""
        if bound >= cost():
            return []
        state = kernels.state_of(cut, self.rows, self.nodes, self.smallest, 0)
        verdict = self._verdict(cut, state)
        if verdict.least > self.allowed or not verdict.possible:
            return []
        if verdict.allowed and verdict.cost < cost():
            self.report(cut)
        slack = self.allowed - int(state.totals[1])
        open_nodes = splittable(self.rows, self.nodes, state, self.room, self.smallest, slack, open_nodes)
        gains = self._gains(state)[open_nodes]
        lowest = int(state.totals[0])
        bound = max(bound, lowest - int(gains.sum()))
        exclusive = np.zeros((0, 0), np.bool_)
        if bound < cost() and slack < self.rows.counts.sum():
            exclusive = np.zeros((open_nodes.size, open_nodes.size), np.bool_)
            for i in range(open_nodes.size):
                if over():
                    return None
                exclude(
                    self.rows, self.nodes, state, self.room, self.smallest, slack, open_nodes, i, exclusive
                )
            exclusive |= exclusive.T
            bound = max(bound, lowest - clique_cover(exclusive, gains))
        if bound >= cost() or not open_nodes.size:
            return []
        return self._halves(bound, cut, open_nodes, gains, exclusive)

    def _halves(
        self, bound: int, cut: Cut, open_nodes: Codes, gains: Integers, exclusive: Mask
    ) -> list[BranchState]:
        """Return the state in which a node is not split, and the one in which it is, which comes first."""
        forest = self.forest
        weight = gains + (exclusive @ gains if exclusive.size else 0)
        frontier = np.flatnonzero(cut[forest.low[open_nodes]] == open_nodes)
        node = int(open_nodes[frontier[weight[frontier].argmax()]])
        below = (forest.low[open_nodes] >= forest.low[node]) & (forest.high[open_nodes] <= forest.high[node])
        return [
            (bound, cut, open_nodes[~below]),
            (bound, forest.specialize(cut, node), open_nodes[open_nodes != node]),
        ]

    def _verdict(self, cut: Cut, state: kernels.CutState) -> CutVerdict:
        if not self.judge.by_size:
            return self.judge.verdict(self.forest.levels(cut))
        cost, suppressed = int(state.totals[0]), int(state.totals[1])
        return CutVerdict(cost, suppressed, suppressed <= self.allowed, suppressed, True)

    def _gains(self, state: kernels.CutState) -> Integers:
        """Return what splitting each node gains for the records that are not suppressed."""
        forest, rows = self.forest, self.rows
        records = rows.counts * (state.size[state.group] >= self.smallest)
        by_place = np.zeros(forest.place_count + 1, np.int64)
        for places in rows.places.T:
            np.add.at(by_place, places + 1, records)
        ends = np.cumsum(by_place)
        costs = (ends[forest.high] - ends[forest.low]) * forest.cost
        gains = np.where(forest.children > 0, costs, 0)
        inner = forest.parent >= 0
        np.subtract.at(gains, forest.parent[inner], costs[inner])
        return np.maximum(gains, 0)


def clique_cover(exclusive: Mask, gains: Integers) -> int:
    """Return a bound on the gains of nodes of which none excludes another.

    >>> clique_cover(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], bool), np.array([5, 3, 2]))
    7
    """
    left, total = gains.copy(), 0
    while left.any():
        free, clique = left > 0, []
        while free.any():
            node = int(np.where(free, left, 0).argmax())
            clique.append(node)
            free &= exclusive[node]
        least = int(left[clique].min())
        left[clique] -= least
        total += least
    return total


@kernel
def splittable(
    rows: kernels.CutRows,
    nodes: kernels.Nodes,
    state: kernels.CutState,
    room: kernels.Room,
    smallest: int,
    slack: int,
    open_nodes: Codes,
) -> Codes:
    """Return those open nodes whose split suppresses at most so many more records; parents come first."""
    alive = np.zeros(nodes.first.size, np.bool_)
    result = np.empty(open_nodes.size, np.int32)
    count = 0
    for node in open_nodes:
        if state.cut[nodes.low[node]] != node and not alive[nodes.parent[node]]:
            continue
        for child in range(nodes.first[node], nodes.first[node] + nodes.children[node]):
            room.fresh[nodes.low[child] : nodes.high[child]] = child
        _, suppressed = kernels.regroup(rows, nodes, state, room, node, smallest)
        if suppressed <= slack:
            alive[node] = True
            result[count] = node
            count += 1
    return result[:count].copy()


@kernel
def exclude(
    rows: kernels.CutRows,
    nodes: kernels.Nodes,
    state: kernels.CutState,
    room: kernels.Room,
    smallest: int,
    slack: int,
    open_nodes: Codes,
    i: int,
    exclusive: Mask,
) -> None:
    """Mark which later open nodes of other columns cannot be split together with the one at `i`."""
    per_column = rows.counts.size
    for j in range(i + 1, open_nodes.size):
        # Visit the rows of the node with fewer of them.
        a, b = open_nodes[i], open_nodes[j]
        if rows.starts[nodes.high[b]] - rows.starts[nodes.low[b]] < (
            rows.starts[nodes.high[a]] - rows.starts[nodes.low[a]]
        ):
            a, b = b, a
        first, last = rows.starts[nodes.low[a]], rows.starts[nodes.high[a]]
        column, other = first // per_column, rows.starts[nodes.low[b]] // per_column
        if column == other:
            continue
        old = nodes.word[state.cut[nodes.low[a]]] + nodes.word[state.cut[nodes.low[b]]]
        bits = 1
        while (1 << bits) < 2 * (last - first):
            bits += 1
        mask = (1 << bits) - 1
        down = np.uint64(64 - bits)
        room.slots[: mask + 1] = -1
        count = 0
        for e in range(first, last):
            row = rows.order[e]
            place = rows.places[row, other]
            if place < nodes.low[b] or place >= nodes.high[b]:
                continue
            if state.size[state.group[row]] < smallest:
                continue  # suppressed already
            new = nodes.word[_child(nodes, a, rows.places[row, column])]
            new += nodes.word[_child(nodes, b, place)]
            word = state.word[row] - old + new
            at = np.int64((word * np.uint64(0x9E3779B97F4A7C15)) >> down)
            while room.slots[at] >= 0 and room.words[room.slots[at]] != word:
                at = (at + 1) & mask
            slot = room.slots[at]
            if slot < 0:
                slot = count
                room.slots[at] = slot
                room.words[slot] = word
                room.sizes[slot] = 0
                count += 1
            room.sizes[slot] += rows.counts[row]
        suppressed = 0
        for slot in range(count):
            if room.sizes[slot] < smallest:
                suppressed += room.sizes[slot]
        exclusive[i, j] = suppressed > slack


@kernel
def _child(nodes: kernels.Nodes, node: int, place: int) -> int:
    child: int = nodes.first[node]
    while nodes.high[child] <= place:
        child += 1
    return child
