"""Random coarsening of a recoding, so that its labels no longer say for certain who is not in a class.

Labels that are as fine as possible exclude values (`veil.risk.refine`): a record would have got an earlier or a cheaper
label if it fitted. Here some records, or whole classes, get a more expensive label of the same release at random, as
long as that costs no more than a budget. No label is new, and no class becomes smaller than it has to be.

With `split`, records move one by one, in random order, to any label that fits their values; a class that others have
joined can spare as many. For a fixed recoding, and a budget that is large against the cost of one record: if the turn
comes to a share s of all records, a record in a class of n moves with a probability of at least s (n - k) / n, and then
to a label of cost c with a probability proportional to 1 / c². So if records with some value have a cheaper label in a
class of more than k, a more expensive label that covers the value does not exclude it with certainty, and multiplies
its odds by no less than that probability.

Without `split`, classes move as a whole to labels above their own, so all models that survive unions of classes stay
fulfilled. A label that is not above a cheaper one, but crosses it, then excludes as much as before.

Not proven: that the set of labels, and the sizes of classes, say nothing. They were chosen with the data. An attacker
still is right more often than not: the figures of `veil.risk.refine` say how often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.compiled import kernel
from veil.base.randomness import Randomness
from veil.recoding.problem import UNIT, CellProblem


def coarsen(
    problem: CellProblem,
    levels: Integers,
    suppressed: Mask,
    budget: float,
    randomness: Randomness,
    *,
    split: bool = False,
) -> Integers:
    """Return levels (rows x columns) in which some records have a more expensive label of the same recoding.

    Parameters
    ----------
    levels, suppressed
        The levels of each row, and which rows have none.
    budget
        The most that the loss may grow: the mean cost of a record, from 0 to 1.
    split
        Whether records of a class may get different labels. Models must then judge the sizes of classes only.
    """
    result = levels.astype(np.int64)
    rows = np.flatnonzero(~suppressed)
    if not rows.size:
        return result
    codes, counts, flat = problem.codes[rows], problem.counts[rows], _flat_maps(problem)
    labels = flat[0][flat[1][np.arange(levels.shape[1]), result[rows]] + codes]
    _, first, row_class = np.unique(
        np.concatenate([result[rows], labels], axis=1), axis=0, return_index=True, return_inverse=True
    )
    row_class = row_class.ravel().astype(np.int64)
    sizes = np.bincount(row_class, weights=counts).astype(np.int64)
    costs = problem.cost_of(result[rows][first], rows[first])
    classes = (result[rows][first], labels[first], costs, flat)
    available = int(budget * UNIT * problem.records)
    movers = rows.size if split else first.size
    order, draws = randomness.permutation(movers), randomness.uniform(movers)
    if split:
        spare = sizes - problem.smallest
        target = _move_records(order, draws, codes, row_class, counts, spare, classes, available)
    else:
        target = _move_classes(order, draws, codes[first], sizes, classes, available)[row_class]
    result[rows] = classes[0][target]
    return result


def _flat_maps(problem: CellProblem) -> tuple[Codes, Integers]:
    """Return the label of each code for all columns and levels in one array, and where each of them begins."""
    height = max(hierarchy.height for hierarchy in problem.hierarchies)
    offsets = np.zeros((len(problem.hierarchies), height + 1), np.int64)
    parts, filled = [], 0
    for j, hierarchy in enumerate(problem.hierarchies):
        for level in range(hierarchy.height + 1):
            offsets[j, level] = filled
            parts.append(hierarchy.label_map(level).astype(np.int32))
            filled += parts[-1].size
    return np.concatenate(parts), offsets


@kernel
def _draw_class(codes: Codes, own: int, above: bool, draw: float, classes: Any) -> int:
    """Draw a more expensive class whose label fits the codes, with weights 1 / cost²; `own` if there is none.

    With `above`, labels must be at least as general as that of `own` in each column.
    """
    levels, labels, costs, (maps, offsets) = classes
    fitting = np.empty(costs.size, np.int64)
    count, total = 0, 0.0
    for c in range(costs.size):
        fits = costs[c] > costs[own]
        for j in range(codes.size):
            if not fits:
                break
            fits = maps[offsets[j, levels[c, j]] + codes[j]] == labels[c, j]
            fits &= not above or levels[c, j] >= levels[own, j]
        if fits:
            fitting[count] = c
            count += 1
            total += (1.0 / costs[c]) ** 2
    left = draw * total
    for at in range(count):
        left -= (1.0 / costs[fitting[at]]) ** 2
        if left < 0.0:
            return int(fitting[at])
    return int(fitting[count - 1]) if count else own


@kernel
def _move_records(
    order: Integers,
    draws: Floats,
    codes: Codes,
    row_class: Integers,
    counts: Integers,
    spare: Integers,
    classes: Any,
    available: int,
) -> Integers:
    """Return the class of each row: rows move in this order until one costs more than is left of the budget."""
    costs = classes[2]
    target = row_class.copy()
    for at in range(order.size):
        row = order[at]
        own = row_class[row]
        if spare[own] < counts[row]:
            continue
        c = _draw_class(codes[row], own, False, draws[at], classes)
        available -= (costs[c] - costs[own]) * counts[row]
        if available < 0:
            break
        if c != own:
            target[row] = c
            spare[own] -= counts[row]
            spare[c] += counts[row]
    return target


@kernel
def _move_classes(
    order: Integers, draws: Floats, codes: Codes, sizes: Integers, classes: Any, available: int
) -> Integers:
    """Return the class that each class joins: those that cost more than is left of the budget stay."""
    costs = classes[2]
    target = np.arange(costs.size)
    for at in range(order.size):
        own = order[at]
        c = _draw_class(codes[own], own, True, draws[at], classes)
        extra = (costs[c] - costs[own]) * sizes[own]
        if extra <= available:
            target[own] = c
            available -= extra
    return target
