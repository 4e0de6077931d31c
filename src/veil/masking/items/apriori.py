"""A good recoding for many items: rare combinations are undone from the smallest on, where that is cheapest.

As in the Apriori anonymization of Terrovitis, Mamoulis and Kalnis (2008), combinations of one item come first, then those
of two, and so on: what has become coarser by then leaves fewer to count. Unlike there, all rare combinations of a size are
looked at together, as each change undoes many: what is chosen costs least for each of them, be it to raise items to a
group or to leave them out. Then every step is tried backwards: groups fall apart again, and items come back, wherever
nothing rare comes with them.
"""

from __future__ import annotations

import numpy as np

from veil.masking.items.hitting_set import undone
from veil.masking.items.optimal import raised
from veil.masking.items.problem import ItemProblem, Recoding
from veil.masking.items.taxonomy import LEFT_OUT

_SMALL = 20_000
"""Items of all different sets together up to which every way is tried to the end."""

_ROUNDS = 4
"""How often all groups are tried to be split, at most."""


def good_recoding(problem: ItemProblem, *, leave_out: bool) -> Recoding | None:
    """Return a recoding with nothing rare that costs little; None if there is none."""
    ways = [_upwards(problem, raising=True, leave_out=leave_out)]
    if leave_out:
        ways += [
            _upwards(problem, raising=True, leave_out=False),
            _upwards(problem, raising=False, leave_out=True),
        ]
    found = sorted((each for each in ways if each is not None), key=problem.loss)
    if problem.items.size > _SMALL:
        found = found[:1]
    elif (top := _from_the_top(problem, leave_out=leave_out)) is not None:
        found.append(top)
    improved = [_refined(problem, each, leave_out=leave_out) for each in found]
    return min(improved, key=problem.loss) if improved else None


def _from_the_top(problem: ItemProblem, *, leave_out: bool) -> Recoding | None:
    """Return the widest groups, as far as they are not rare themselves."""
    recoding = problem.start()
    for node in np.flatnonzero(problem.taxonomy.parent < 0).tolist():
        recoding = raised(problem, recoding, node)
    if leave_out:
        return _without_rare(problem, recoding)
    return recoding if problem.first_rare(recoding) is None else None


def _upwards(problem: ItemProblem, *, raising: bool, leave_out: bool) -> Recoding | None:
    """Undo rare combinations, those of one node first."""
    recoding: Recoding | None = problem.start()
    for size in range(1, problem.m + 1):
        while recoding is not None and (rare := problem.rare(recoding, size)).number:
            recoding = undone(problem, recoding, rare, raising=raising, leave_out=leave_out)
    return recoding


def _without_rare(problem: ItemProblem, recoding: Recoding) -> Recoding:
    """Leave nodes out until nothing is rare."""
    while (rare := problem.first_rare(recoding)) is not None:
        made = undone(problem, recoding, rare, raising=False, leave_out=True)
        assert made is not None  # whatever is rare can be left out
        recoding = made
    return recoding


# --- backwards ------------------------------------------------------------------------------------


def _refined(problem: ItemProblem, recoding: Recoding, *, leave_out: bool) -> Recoding:
    """Split groups and bring items back, wherever that costs less and leaves nothing rare."""
    for _ in range(_ROUNDS):
        before = problem.loss(recoding)
        recoding = _with_items_back(problem, _split(problem, recoding, leave_out=leave_out))
        if problem.loss(recoding) == before:
            break
    return recoding


def _split(problem: ItemProblem, recoding: Recoding, *, leave_out: bool) -> Recoding:
    """Split groups into what is below them, the most expensive ones first, as long as that helps."""
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
        made = recoding.copy()
        for child in children[node]:
            made[tree.below(child) & (recoding == node)] = child
        repaired = _repaired(problem, made, children[node], problem.loss(recoding), leave_out=leave_out)
        if repaired is not None:
            recoding = repaired
            waiting += [child for child in children[node] if child >= tree.items]
    return recoding


def _repaired(
    problem: ItemProblem, recoding: Recoding, nodes: list[int], limit: int, *, leave_out: bool
) -> Recoding | None:
    """Leave out what is rare together with some nodes; None if that must not be, or does not stay below a loss."""
    if not leave_out:
        return None if problem.has_rare_with(recoding, nodes) else recoding
    while (rare := problem.rare_with(recoding, nodes)) is not None:
        made = undone(problem, recoding, rare, raising=False, leave_out=True)
        assert made is not None
        recoding = made
        if problem.loss(recoding) >= limit:
            return None
    return recoding


def _with_items_back(problem: ItemProblem, recoding: Recoding) -> Recoding:
    """Publish items again that were left out, the most frequent ones first, where nothing rare comes with them."""
    tree = problem.taxonomy
    gone = np.flatnonzero(recoding == LEFT_OUT)
    shown = np.zeros(tree.nodes, np.bool_)
    for item in gone[np.argsort(-problem.occurrences[gone], kind="stable")].tolist():
        shown[:] = False
        shown[recoding[recoding != LEFT_OUT]] = True
        chain = tree.above[item]
        published = [node for node in chain[chain >= 0].tolist() if shown[node]]
        if not published and problem.occurrences[item] < problem.k:
            continue  # too rare by itself
        for node in published or [item]:
            made = recoding.copy()
            made[item] = node
            if not problem.has_rare_with(made, [node]):
                recoding = made
    return recoding
