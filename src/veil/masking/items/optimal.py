"""The recoding of least loss: best first, along combinations that are too rare.

A recoding is coarser than another if every item becomes the same, something above that, or is left out; what is left
out stays so. Coarser never costs less. Let some recoding publish a combination for fewer than k records, and take one
of those and for each node of the combination one item of the record that becomes it. If a coarser recoding changed none of these
items, the record would still publish the combination, and nobody else would who did not before: every item that becomes
one of these nodes then does so now. So it changes one of them: raises it to the next group at least, with all that
belong there, or leaves it out. These few recodings are all that must be looked at next, and the first one that has
nothing rare, in the order of their loss, is an optimum.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from veil.masking.items.problem import ItemProblem, Rare, Recoding
from veil.masking.items.taxonomy import LEFT_OUT


class ItemRecoding(NamedTuple):
    """A recoding (None if there is none), and a loss that no recoding goes below."""

    recoding: Recoding | None
    bound: int | None
    """None if nothing at all fulfils the promise."""


def best_recoding(
    problem: ItemProblem, *, leave_out: bool, known: Recoding | None = None, most: int | None = None
) -> ItemRecoding:
    """Search for a recoding of least loss, given one that is known to be fine.

    After `most` recodings that were looked at, the known one is returned, with the bound that was reached.
    """
    limit = None if known is None else problem.loss(known)
    start = problem.start()
    waiting = [(0, start.tobytes())]
    seen = {start.tobytes()}
    looked = 0
    while waiting:
        loss, spelled = heapq.heappop(waiting)
        if limit is not None and loss >= limit:
            return ItemRecoding(known, limit)
        if most is not None and looked >= most:
            return ItemRecoding(known, loss)
        looked += 1
        recoding = np.frombuffer(spelled, np.int64)
        rare = problem.first_rare(recoding)
        if rare is None:
            return ItemRecoding(recoding.copy(), loss)
        for each in _changes(problem, recoding, rare, leave_out=leave_out):
            key = each.tobytes()
            if key not in seen:
                seen.add(key)
                heapq.heappush(waiting, (problem.loss(each), key))
    return ItemRecoding(known, limit)


def _changes(problem: ItemProblem, recoding: Recoding, rare: Rare, *, leave_out: bool) -> list[Recoding]:
    """Return the least changes one of which undoes a rare combination."""
    tree, made = problem.taxonomy, []
    holder = rare.sets[0]
    items = problem.items[problem.starts[holder] : problem.starts[holder + 1]]
    for node in rare.nodes[0].tolist():
        if (above := tree.parent[node]) >= 0:
            made.append(raised(problem, recoding, int(above)))
        if leave_out:
            without = recoding.copy()
            without[items[recoding[items] == node][0]] = LEFT_OUT
            made.append(without)
    return made


def raised(problem: ItemProblem, recoding: Recoding, node: int) -> Recoding:
    """Return the recoding in which all items of a group become that group, but for those that are left out."""
    return np.where(problem.taxonomy.below(node) & (recoding != LEFT_OUT), node, recoding)
