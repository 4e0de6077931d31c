"""A greedy hitting set: nodes to change so that every rare combination has a changed one."""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Integers, Mask
from veil.base.compiled import kernel
from veil.masking.items.problem import ItemProblem, Rare, Recoding


def remove_rare(
    problem: ItemProblem, recoding: Recoding, rare: Rare, *, raising: bool, leave_out: bool
) -> Recoding | None:
    """Raise nodes to groups or leave them out, until each listed combination has a changed node.

    The change of least cost for each combination that it touches is chosen. Whole nodes are left out, as that
    makes no other combination rarer. None is returned if a combination has no node that could be changed.
    """
    result = recoding.copy()
    tree = problem.taxonomy
    combinations, begins = _by_node(rare.nodes, tree.nodes)
    fine = _change_nodes(
        rare.nodes, combinations, begins, tree.parent, tree.cost, tree.gone, tree.items, problem.occurrences,
        raising, leave_out, result,
    )  # fmt: skip
    return result if fine else None


def _by_node(nodes: Integers, number: int) -> tuple[Integers, Integers]:
    """Return the combinations of each node, one node after the other, and where those of each begin."""
    entries = nodes.ravel()
    order = np.argsort(entries, kind="stable")
    begins = np.append(0, np.cumsum(np.bincount(entries, minlength=number)))
    return order // nodes.shape[1], begins


@kernel
def _change_nodes(
    nodes: Integers,
    combinations: Integers,
    begins: Integers,
    parent: Integers,
    cost: Integers,
    gone: int,
    items: int,
    occurs: Integers,
    raising: bool,
    leave_out: bool,
    recoding: Integers,
) -> bool:
    number = parent.size
    left_out = np.zeros(number, np.int64)  # open combinations with the node, which leaving it out would close
    raised = np.zeros(number, np.int64)  # and those that raising to the node would close
    stamp = np.full(number, -1, np.int64)
    is_open = np.ones(nodes.shape[0], np.bool_)
    still = nodes.shape[0]
    for q in range(still):
        _count(nodes, q, parent, left_out, raised, stamp, 1)
    number_kept = np.zeros(number, np.int64)
    spent = np.zeros(number, np.int64)
    at_node = np.zeros(number, np.int64)
    while still > 0:
        # The occurrences of each node, and the occurrences and costs below each group.
        number_kept[:] = 0
        spent[:] = 0
        at_node[:] = 0
        for i in range(items):
            node = recoding[i]
            if node >= 0:
                at_node[node] += occurs[i]
                above = parent[node]
                while above >= 0:
                    number_kept[above] += occurs[i]
                    spent[above] += occurs[i] * cost[node]
                    above = parent[above]
        # The change of least cost for each combination it closes.
        best, choice, is_raise = np.inf, -1, False
        for v in range(number):
            if leave_out and left_out[v] > 0:
                price = at_node[v] * (gone - cost[v]) / left_out[v]
                if price < best:
                    best, choice, is_raise = price, v, False
            if raising and raised[v] > 0:
                price = (number_kept[v] * cost[v] - spent[v]) / raised[v]
                if price <= best:
                    best, choice, is_raise = price, v, True
        if choice < 0:
            return False
        # Apply it, and close the combinations.
        if not is_raise:
            for i in range(items):
                if recoding[i] == choice:
                    recoding[i] = -1
            still -= _close(nodes, combinations, begins, choice, parent, left_out, raised, stamp, is_open)
            continue
        for i in range(items):
            if recoding[i] >= 0 and _is_below(recoding[i], choice, parent):
                recoding[i] = choice
        for v in range(number):
            if begins[v] < begins[v + 1] and _is_below(v, choice, parent):
                still -= _close(nodes, combinations, begins, v, parent, left_out, raised, stamp, is_open)
    return True


@kernel
def _is_below(node: int, group: int, parent: Integers) -> bool:
    above = parent[node]
    while above >= 0:
        if above == group:
            return True
        above = parent[above]
    return False


@kernel
def _count(
    nodes: Integers, q: int, parent: Integers, left_out: Integers, raised: Integers, stamp: Integers, by: int
) -> None:
    """Count a combination for its nodes, and once for each group above one of them."""
    for j in range(nodes.shape[1]):
        left_out[nodes[q, j]] += by
        above = parent[nodes[q, j]]
        while above >= 0:
            if stamp[above] != q:
                stamp[above] = q
                raised[above] += by
            above = parent[above]
    for j in range(nodes.shape[1]):
        above = parent[nodes[q, j]]
        while above >= 0:
            stamp[above] = -1
            above = parent[above]


@kernel
def _close(
    nodes: Integers,
    combinations: Integers,
    begins: Integers,
    node: int,
    parent: Integers,
    left_out: Integers,
    raised: Integers,
    stamp: Integers,
    is_open: Mask,
) -> int:
    """Close the open combinations of a node; return their number."""
    number = 0
    for p in range(begins[node], begins[node + 1]):
        q = combinations[p]
        if is_open[q]:
            is_open[q] = False
            _count(nodes, q, parent, left_out, raised, stamp, -1)
            number += 1
    return number
