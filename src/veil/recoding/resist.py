"""Random coarsening of a recoding, so that its labels no longer say for certain who is not in a class.

Labels that are as fine as possible exclude values (`veil.risk.refine`): a record would have got an earlier or a cheaper
label if it fitted. Here some records, or whole classes, get a more expensive label of the same release at random, as
long as that costs no more than a budget. No label is new, nobody is suppressed or brought back, and no class becomes
smaller than it has to be. Classes are those of a reader: labels with the same texts are one.

Where models judge nothing but the number of records, records move one by one (`split`), in random order, to any label
that fits their values; a class that others have joined can spare as many. For a fixed recoding, and a budget that is
large against the cost of one record: if the turn comes to a share s of all records, a record in a class of n moves with
a probability of at least s (n - k) / n, and then to a label of cost c with a probability proportional to 1 / c². So if
records with some value have a cheaper label in a class of more than k, a more expensive label that covers the value
does not exclude it with certainty, and multiplies its odds by no less than that probability.

Under other models, classes move as a whole to labels above their own. Each class is then made of whole classes of the
search, which is enough for models that survive unions. Others judge the classes anew: where they reject one, those who
have joined it return. A label that is not above a cheaper one, but crosses it, excludes as much as before.

People: moving one of a person's rows would change in which classes they are counted, so classes move as a whole here,
too. If all rows of a person may be known, people with the same labels still have the same labels, and are joined by
others, so that only models are allowed which survive a union of people (`check_recoding`).

Not proven: that the set of labels, the sizes of classes and who is suppressed say nothing. They were chosen with the
data. An attacker still is right more often than not: the figures of `veil.risk.refine` say how often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.compiled import kernel
from veil.base.distinct import distinct_rows
from veil.base.randomness import Randomness
from veil.models.base import PrivacyModel
from veil.plan.prepare import Prepared
from veil.recoding.cells.judged import ClassJudge, Texts
from veil.recoding.problem import UNIT, CellProblem
from veil.recoding.solution import RowRecoding

Reject = Callable[[Integers, Integers, Integers], Integers]
"""Returns the groups that are no acceptable classes, given rows, the group of each, and the levels of all rows."""


def coarsen_recoding(
    prepared: Prepared,
    models: Sequence[PrivacyModel],
    recoding: RowRecoding,
    budget: float,
    randomness: Randomness,
) -> RowRecoding:
    """Return a recoding whose labels are coarsened at random, under which the models hold as before.

    `models` are those of the plan, for parts of the table; `budget` is the most that the loss may grow.
    """
    judge = ClassJudge(prepared, models)
    problem = CellProblem.of(prepared, judge.smallest)

    def reject(rows: Integers, groups: Integers, levels: Integers) -> Integers:
        names, numbers = np.unique(groups, return_inverse=True)
        marks = judge.reject(
            rows, numbers.astype(np.int32), names.size, lambda some: levels[some].astype(np.uint8)
        )
        rejected: Integers = names[marks != 0]
        return rejected

    levels = coarsen(
        problem,
        recoding.levels,
        recoding.suppressed,
        budget,
        randomness,
        split=judge.reads_sizes_only,
        # All rows of people are judged by no class: that the models survive unions is a condition of the plan.
        reject=None if judge.reads_sizes_only or prepared.rows.owners.know_all_rows else reject,
    )
    cost = problem.total_cost(levels, recoding.suppressed)
    return replace(recoding, levels=levels.astype(np.uint8), cost=cost)


def coarsen(
    problem: CellProblem,
    levels: NDArray[Any],
    suppressed: Mask,
    budget: float,
    randomness: Randomness,
    *,
    split: bool = False,
    reject: Reject | None = None,
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
    reject
        Judges the classes, if they move as a whole; None: any union of them is acceptable.
    """
    result = levels.astype(np.int64)
    rows = np.flatnonzero(~suppressed)
    if not rows.size:
        return result
    texts, columns = Texts.of(problem), np.arange(levels.shape[1])
    codes, counts = problem.codes[rows], problem.counts[rows]
    places = texts.starts[columns, result[rows]] + codes
    labels, lowest = texts.flat[places], texts.cheapest[places]  # a text may be on several levels
    first, row_class = distinct_rows(labels.T, rows.size)
    class_levels = lowest[first].astype(np.int64)
    sizes = np.bincount(row_class, weights=counts).astype(np.int64)
    classes = (
        class_levels,
        labels[first],
        problem.cost_of(class_levels, rows[first]),
        (texts.flat, texts.starts),
    )
    available = int(budget * UNIT * problem.records)
    # A text that stands for other values on another level: what is above it differs from row to row.
    mobile = (lowest == class_levels[row_class]).all(axis=1)
    movers = rows.size if split else first.size
    order, draws = randomness.permutation(movers), randomness.uniform(movers)
    if split:
        spare = sizes - problem.smallest
        target = _move_records(
            order[mobile[order]], draws, codes, row_class, counts, spare, classes, available
        )
    else:
        together = np.ones(first.size, np.bool_)
        together[row_class[~mobile]] = False
        moved = _move_classes(order[together[order]], draws, codes[first], sizes, classes, available)
        if reject is not None:
            _take_back(moved, rows, row_class, result, class_levels, reject)
        target = moved[row_class]
    there = target != row_class
    result[rows[there]] = class_levels[target[there]]
    return result


def _take_back(
    target: Integers,
    rows: Integers,
    row_class: Integers,
    levels: Integers,
    class_levels: Integers,
    reject: Reject,
) -> None:
    """Let classes return, in place, until no class is rejected: a class that nobody has joined is not."""
    own = np.arange(target.size)
    while (target != own).any():
        after, groups = levels.copy(), target[row_class]
        there = groups != row_class
        after[rows[there]] = class_levels[groups[there]]
        back = np.isin(target, reject(rows, groups, after)) & (target != own)
        if not back.any():
            return
        target[back] = own[back]


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
