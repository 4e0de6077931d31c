"""The recoding of least loss: best first, along combinations that are too rare.

A recoding is coarser than another if every item becomes the same, a group above it, or is left out; items
left out stay so. A coarser recoding never costs less. Suppose fewer than k records publish a combination;
take one of them and for each node of the combination one item of the record that becomes it. If a coarser
recoding changed none of these items, the record would still publish the combination, and no further record
would: every item that becomes one of these nodes then does so now. So it changes one of them: raises it at
least to the next group, with all items of that, or leaves it out. Only these few recodings have to be
examined next, and the first one without a rare combination, in the order of their loss, is an optimum.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from veil.masking.items.problem import ItemProblem, Rare, Recoding
from veil.masking.items.taxonomy import LEFT_OUT


class ItemRecoding(NamedTuple):
    """A recoding (None if there is none), and a lower bound of the loss."""

    recoding: Recoding | None
    bound: int | None
    """None if no recoding fulfils the promise."""


def best_recoding(
    problem: ItemProblem, *, leave_out: bool, incumbent: Recoding | None = None, most: int | None = None
) -> ItemRecoding:
    """Search for a recoding of least loss. After `most` of them, return the incumbent, a valid one, and a
    bound.
    """
    limit = None if incumbent is None else problem.loss(incumbent)
    start = problem.start()
    waiting = [(0, start.tobytes())]
    visited = {start.tobytes()}
    examined = 0
    while waiting:
        loss, state = heapq.heappop(waiting)
        if limit is not None and loss >= limit:
            return ItemRecoding(incumbent, limit)
        if most is not None and examined >= most:
            return ItemRecoding(incumbent, loss)
        examined += 1
        recoding = np.frombuffer(state, np.int64)
        rare = problem.first_rare(recoding)
        if rare is None:
            return ItemRecoding(recoding.copy(), loss)
        for each in _changes(problem, recoding, rare, leave_out=leave_out):
            key = each.tobytes()
            if key not in visited:
                visited.add(key)
                heapq.heappush(waiting, (problem.loss(each), key))
    return ItemRecoding(incumbent, limit)


def _changes(problem: ItemProblem, recoding: Recoding, rare: Rare, *, leave_out: bool) -> list[Recoding]:
    """Return the least changes one of which removes a rare combination."""
    tree, changes = problem.taxonomy, []
    holder = rare.sets[0]
    items = problem.items[problem.starts[holder] : problem.starts[holder + 1]]
    for node in rare.nodes[0].tolist():
        if (above := tree.parent[node]) >= 0:
            changes.append(raise_items(problem, recoding, int(above)))
        if leave_out:
            without = recoding.copy()
            without[items[recoding[items] == node][0]] = LEFT_OUT
            changes.append(without)
    return changes


def raise_items(problem: ItemProblem, recoding: Recoding, node: int) -> Recoding:
    """Return the recoding in which all items of a group become that group, unless left out."""
    return np.where(problem.taxonomy.below(node) & (recoding != LEFT_OUT), node, recoding)
