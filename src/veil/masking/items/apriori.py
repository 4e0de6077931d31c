"""A good recoding for many items: rare combinations are removed from the smallest on, at least cost.

As in the Apriori anonymization of Terrovitis, Mamoulis and Kalnis (2008), combinations of one item come
first, then those of two, and so on: items generalized by then leave fewer to count. Unlike there, all rare
combinations of a size are considered together, as each change removes many: the change of least cost per
combination is chosen, be it to raise items to a group or to leave them out. Then every step is tried
backwards: groups are split again, and items restored, if nothing rare results.
"""

from __future__ import annotations

import numpy as np

from veil.masking.items.hitting_set import remove_rare
from veil.masking.items.optimal import raise_items
from veil.masking.items.problem import ItemProblem, Recoding
from veil.masking.items.taxonomy import LEFT_OUT

_SMALL = 20_000
"""Items of all distinct sets together up to which every way is tried to the end."""

_ROUNDS = 4
"""Most rounds in which all groups are tried to be split."""


def good_recoding(problem: ItemProblem, *, leave_out: bool) -> Recoding | None:
    """Return a recoding without rare combinations that costs little; None if there is none."""
    ways = [_upwards(problem, raising=True, leave_out=leave_out)]
    if leave_out:
        ways += [
            _upwards(problem, raising=True, leave_out=False),
            _upwards(problem, raising=False, leave_out=True),
        ]
    recodings = sorted((each for each in ways if each is not None), key=problem.loss)
    if problem.items.size > _SMALL:
        recodings = recodings[:1]
    elif (top := _from_the_top(problem, leave_out=leave_out)) is not None:
        recodings.append(top)
    improved = [_refine(problem, each, leave_out=leave_out) for each in recodings]
    return min(improved, key=problem.loss) if improved else None


def _from_the_top(problem: ItemProblem, *, leave_out: bool) -> Recoding | None:
    """Return the widest groups, unless they are rare themselves."""
    recoding = problem.start()
    for node in np.flatnonzero(problem.taxonomy.parent < 0).tolist():
        recoding = raise_items(problem, recoding, node)
    if leave_out:
        return _without_rare(problem, recoding)
    return recoding if problem.first_rare(recoding) is None else None


def _upwards(problem: ItemProblem, *, raising: bool, leave_out: bool) -> Recoding | None:
    """Remove rare combinations, those of one node first."""
    recoding: Recoding | None = problem.start()
    for size in range(1, problem.m + 1):
        while recoding is not None and (rare := problem.rare(recoding, size)).number:
            recoding = remove_rare(problem, recoding, rare, raising=raising, leave_out=leave_out)
    return recoding


def _without_rare(problem: ItemProblem, recoding: Recoding) -> Recoding:
    """Leave nodes out until nothing is rare."""
    while (rare := problem.first_rare(recoding)) is not None:
        changed = remove_rare(problem, recoding, rare, raising=False, leave_out=True)
        assert changed is not None  # rare nodes can be left out
        recoding = changed
    return recoding


# --- backwards ------------------------------------------------------------------------------------


def _refine(problem: ItemProblem, recoding: Recoding, *, leave_out: bool) -> Recoding:
    """Split groups and restore items if that costs less and makes nothing rare."""
    for _ in range(_ROUNDS):
        before = problem.loss(recoding)
        recoding = _restore_items(problem, _split(problem, recoding, leave_out=leave_out))
        if problem.loss(recoding) == before:
            break
    return recoding


def _split(problem: ItemProblem, recoding: Recoding, *, leave_out: bool) -> Recoding:
    """Split groups into their children, the most expensive ones first, as long as that helps."""
    tree = problem.taxonomy
    children: dict[int, list[int]] = {}
    for node, above in enumerate(tree.parent.tolist()):
        children.setdefault(above, []).append(node)
    waiting: list[int] = np.unique(recoding[recoding >= tree.items]).tolist()
    spent = problem.occurrences * problem.costs(recoding)
    waiting.sort(key=lambda node: int(spent[recoding == node].sum()))
    while waiting:
        node = waiting.pop()
        if not (recoding == node).any():
            continue
        candidate = recoding.copy()
        for child in children[node]:
            candidate[tree.below(child) & (recoding == node)] = child
        repaired = _repair(problem, candidate, children[node], problem.loss(recoding), leave_out=leave_out)
        if repaired is not None:
            recoding = repaired
            waiting += [child for child in children[node] if child >= tree.items]
    return recoding


def _repair(
    problem: ItemProblem, recoding: Recoding, nodes: list[int], limit: int, *, leave_out: bool
) -> Recoding | None:
    """Leave out nodes that are rare with some nodes; None if not allowed, or not below the limit of loss."""
    if not leave_out:
        return None if problem.has_rare_with(recoding, nodes) else recoding
    while (rare := problem.rare_with(recoding, nodes)) is not None:
        changed = remove_rare(problem, recoding, rare, raising=False, leave_out=True)
        assert changed is not None
        recoding = changed
        if problem.loss(recoding) >= limit:
            return None
    return recoding


def _restore_items(problem: ItemProblem, recoding: Recoding) -> Recoding:
    """Restore items that were left out, the most frequent ones first, if nothing becomes rare."""
    tree = problem.taxonomy
    gone = np.flatnonzero(recoding == LEFT_OUT)
    node_mask = np.zeros(tree.nodes, np.bool_)
    for item in gone[np.argsort(-problem.occurrences[gone], kind="stable")].tolist():
        node_mask[:] = False
        node_mask[recoding[recoding != LEFT_OUT]] = True
        chain = tree.above[item]
        published = [node for node in chain[chain >= 0].tolist() if node_mask[node]]
        if not published and problem.occurrences[item] < problem.k:
            continue  # too rare by itself
        for node in published or [item]:
            candidate = recoding.copy()
            candidate[item] = node
            if not problem.has_rare_with(candidate, [node]):
                recoding = candidate
    return recoding
