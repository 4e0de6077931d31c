"""Labels of a problem: those with enough records under them that matter for some caps on the prices of records.

The lattice is walked column by column. A column's level splits the classes of the columns before it; a class is
dropped with everything below it as soon as it has too few records, or as no label inside it can cost less than the
`smallest` highest caps under it. Costs only grow and caps only fall on the way down, so nothing that matters is lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers, Mask
from veil.base.compiled import kernel
from veil.base.distinct import distinct_rows, keys_of
from veil.classes.encoding import Levels
from veil.recoding.problem import CellProblem

Offsets = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a problem on its minimum levels.

    Attributes
    ----------
    of_row : array
        Distinct row of each row of the problem.
    records : array
        Number of records of each distinct row.
    labels, costs : tuple by column, of tuples by level from the minimum on
        Label code of each distinct row, and cost of each label code.
    """

    of_row: Codes
    records: Integers
    labels: tuple[tuple[Codes, ...], ...]
    costs: tuple[tuple[Integers, ...], ...]
    minimum: Levels

    @staticmethod
    def of(problem: CellProblem) -> DistinctRows:
        """Collapse the rows of a problem."""
        finest = [
            hierarchy.label_map(problem.minimum[j])[problem.codes[:, j]]
            for j, hierarchy in enumerate(problem.hierarchies)
        ]
        # Few levels first, as in a walk: rows with labels in common then lie close to each other.
        order = sorted(range(len(finest)), key=lambda j: problem.maximum[j] - problem.minimum[j])
        first, of_row = distinct_rows([finest[j] for j in order], len(problem.codes))
        records = np.bincount(of_row, weights=problem.counts, minlength=len(first)).astype(np.int64)
        labels, costs = [], []
        for j, hierarchy in enumerate(problem.hierarchies):
            codes = problem.codes[first, j]
            levels = range(problem.minimum[j], problem.maximum[j] + 1)
            labels.append(tuple(np.ascontiguousarray(hierarchy.label_map(level)[codes]) for level in levels))
            costs.append(tuple(problem.costs[j][level] for level in levels))
        return DistinctRows(of_row.astype(np.int32), records, tuple(labels), tuple(costs), problem.minimum)

    def __len__(self) -> int:
        return len(self.records)

    @functools.cached_property
    def least(self) -> Integers:
        """Cost of the label of each distinct row on the minimum levels."""
        total = np.zeros(len(self), np.int64)
        for by_level, labels in zip(self.costs, self.labels, strict=True):
            total += by_level[0][labels[0]]
        return total


class NodeClasses(NamedTuple):
    """Some rows by class: those of class c are `rows[starts[c]:starts[c + 1]]`, and their label costs `costs[c]`."""

    rows: Codes
    starts: Offsets
    costs: Integers


@dataclass(frozen=True, eq=False)
class CellLabels:
    """Labels in rising order of cost: their costs, the rows under each (as `NodeClasses`), and the node of each."""

    costs: Integers
    starts: Offsets
    rows: Codes
    node: Codes
    nodes: NDArray[np.uint8]

    @property
    def pairs(self) -> int:
        """Number of rows under all labels."""
        return len(self.rows)

    @staticmethod
    def of(found: Sequence[tuple[Levels, NodeClasses]]) -> CellLabels:
        """Collect the labels of some nodes."""
        columns = len(found[0][0]) if found else 0
        nodes = np.array([levels for levels, _ in found], np.uint8).reshape(len(found), columns)
        costs = _joined([classes.costs for _, classes in found], np.int64)
        lengths = _joined([np.diff(classes.starts) for _, classes in found], np.int64)
        rows = _joined([classes.rows for _, classes in found], np.int32)
        node = np.repeat(np.arange(len(found), dtype=np.int32), [len(each.costs) for _, each in found])
        order = np.argsort(costs, kind="stable")
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        sorted_starts = np.concatenate([[0], np.cumsum(lengths[order])]).astype(np.int64)
        return CellLabels(costs[order], sorted_starts, gather(order, starts, rows), node[order], nodes)

    def take(self, mask: Mask) -> CellLabels:
        """Return some of the labels."""
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[mask])]).astype(np.int64)
        return CellLabels(
            self.costs[mask],
            starts,
            gather(np.flatnonzero(mask), self.starts, self.rows),
            self.node[mask],
            self.nodes,
        )


def cheapest_labels(rows: DistinctRows, smallest: int, caps: Integers, keep: Callable[[], bool]) -> None:
    """Lower caps to the cost of a label with enough records under it, until no label is violated by the caps.

    The caps are then prices: for every label, the `smallest` highest under it are at most its cost on average.
    """
    for _, classes in walk(rows, smallest, caps, keep):
        lower(classes.rows, classes.starts, classes.costs, caps)


def fallbacks(rows: DistinctRows, smallest: int, maximum: Levels) -> list[tuple[Levels, NodeClasses]]:
    """Return the labels that a walk may leave out though a recoding needs them.

    They are those of rows that have enough records on their own, on the minimum levels, and those on the maximum.
    """
    alone = np.flatnonzero(rows.records >= smallest).astype(np.int32)
    first, top = distinct_rows([labels[-1] for labels in rows.labels], len(rows))
    top_costs = np.zeros(len(first), np.int64)
    for by_level, labels in zip(rows.costs, rows.labels, strict=True):
        top_costs += by_level[-1][labels[-1][first]]
    enough = np.bincount(top, weights=rows.records, minlength=len(first)) >= smallest
    order = np.argsort(top, kind="stable").astype(np.int32)
    order = order[enough[top[order]]]
    lengths = np.bincount(top, minlength=len(first))[enough]
    return [
        (rows.minimum, NodeClasses(alone, np.arange(len(alone) + 1, dtype=np.int64), rows.least[alone])),
        (
            maximum,
            NodeClasses(order, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), top_costs[enough]),
        ),
    ]


def labels_of(rows: DistinctRows, levels: NDArray[np.uint8], mask: Mask) -> list[tuple[Levels, NodeClasses]]:
    """Return the labels of some rows of the problem, given the levels of all (rows x columns), and all rows under them."""
    members = np.flatnonzero(mask)
    levels = levels[members]
    one_of, node = distinct_rows(levels.T, len(levels))
    result: list[tuple[Levels, NodeClasses]] = []
    for number, vector in enumerate(levels[one_of].tolist()):
        steps = [level - least for level, least in zip(vector, rows.minimum, strict=True)]
        keys = keys_of((labels[s] for labels, s in zip(rows.labels, steps, strict=True)), len(rows))
        used = np.unique(keys[rows.of_row[members[node == number]]])
        place = np.minimum(np.searchsorted(used, keys), len(used) - 1)
        under: Codes = np.flatnonzero(used[place] == keys).astype(np.int32)
        under = under[np.argsort(place[under], kind="stable")]
        starts = np.searchsorted(place[under], np.arange(len(used) + 1)).astype(np.int64)
        costs = np.zeros(len(used), np.int64)
        for labels, by_level, step in zip(rows.labels, rows.costs, steps, strict=True):
            costs += by_level[step][labels[step][under[starts[:-1]]]]
        result.append((tuple(vector), NodeClasses(under, starts, costs)))
    return result


def _joined(arrays: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, kind), *arrays]).astype(kind, copy=False)


@kernel
def gather(order: Integers, starts: Offsets, rows: Codes) -> Codes:
    """Return the rows under some labels, one label after the other."""
    total = 0
    for f in order:
        total += starts[f + 1] - starts[f]
    result = np.empty(total, np.int32)
    place = 0
    for f in order:
        for e in range(starts[f], starts[f + 1]):
            result[place] = rows[e]
            place += 1
    return result


@kernel
def lower(rows: Codes, starts: Offsets, costs: Integers, caps: Integers) -> None:
    """Lower the cap of each row to the cost of its class."""
    for c in range(costs.size):
        for e in range(starts[c], starts[c + 1]):
            if caps[rows[e]] > costs[c]:
                caps[rows[e]] = costs[c]


def walk(
    rows: DistinctRows, smallest: int, caps: Integers, keep: Callable[[], bool] = lambda: True
) -> Iterator[tuple[Levels, NodeClasses]]:
    """Yield every node with its labels whose cost is below the mean of the `smallest` highest caps under them.

    Labels with the same rows under them as a cheaper one are left out. The caps may fall during the walk. Columns with
    few levels come first: later ones are split more often, and classes are smallest there.
    """
    order = sorted(range(len(rows.labels)), key=lambda j: (len(rows.labels[j]), int(rows.labels[j][0].max())))
    rest = _rest(rows, order)
    count = max((int(label.max()) + 1 for by_level in rows.labels for label in by_level), default=1)
    scratch = np.full(count, -1, np.int32)
    everything = NodeClasses(
        np.arange(len(rows), dtype=np.int32), np.array([0, len(rows)], np.int64), np.zeros(1, np.int64)
    )
    stack: list[tuple[tuple[int, ...], NodeClasses]] = [((), everything)]
    while stack and keep():
        steps, classes = stack.pop()
        if len(steps) == len(order):
            step_of = dict(zip(order, steps, strict=True))
            steps = tuple(step_of[j] for j in range(len(order)))
            closed = _closed(rows, steps, classes)
            if len(closed.costs):
                yield tuple(s + least for s, least in zip(steps, rows.minimum, strict=True)), closed
            continue
        j = order[len(steps)]
        for level in reversed(range(len(rows.labels[j]))):
            below = rows.labels[j][level - 1] if level else rows.labels[j][level][:0]
            below_costs = rows.costs[j][level - 1] if level else rows.costs[j][level]
            split = NodeClasses(
                *refine(
                    *classes, rows.labels[j][level], rows.costs[j][level], below, below_costs, rows.records,
                    caps, smallest, rest[len(steps) + 1], scratch,
                )
            )  # fmt: skip
            if len(split.costs):
                stack.append(((*steps, level), split))


def _rest(rows: DistinctRows, order: Sequence[int]) -> list[int]:
    """Return the least cost of all columns from each one on, in some order; 0 at last."""
    result = [0]
    for j in reversed(order):
        costs = (
            int(costs[labels].min()) for costs, labels in zip(rows.costs[j], rows.labels[j], strict=True)
        )
        result.append(result[-1] + min(costs))
    return result[::-1]


def _closed(rows: DistinctRows, steps: tuple[int, ...], classes: NodeClasses) -> NodeClasses:
    """Return the classes that do not agree on a lower, not dearer level of any column."""
    good = np.ones(len(classes.costs), np.bool_)
    for j, step in enumerate(steps):
        if step:
            mark_open(
                classes.rows, classes.starts, rows.labels[j][step], rows.labels[j][step - 1],
                rows.costs[j][step], rows.costs[j][step - 1], good,
            )  # fmt: skip
    if good.all():
        return classes
    lengths = np.diff(classes.starts)
    starts = np.concatenate([[0], np.cumsum(lengths[good])]).astype(np.int64)
    return NodeClasses(classes.rows[np.repeat(good, lengths)], starts, classes.costs[good])


@kernel
def mark_open(
    rows: Codes,
    starts: Offsets,
    labels: Codes,
    below: Codes,
    costs: Integers,
    below_costs: Integers,
    good: NDArray[np.bool_],
) -> None:
    """Unmark classes whose rows all have one label on the level below, if that is not dearer."""
    for c in range(starts.size - 1):
        if not good[c]:
            continue
        first = below[rows[starts[c]]]
        if below_costs[first] > costs[labels[rows[starts[c]]]]:
            continue
        same = True
        for e in range(starts[c] + 1, starts[c + 1]):
            if below[rows[e]] != first:
                same = False
                break
        if same:
            good[c] = False


@kernel
def refine(
    rows: Codes,
    starts: Offsets,
    class_costs: Integers,
    labels: Codes,
    costs: Integers,
    below: Codes,
    below_costs: Integers,
    records: Integers,
    caps: Integers,
    smallest: int,
    rest: int,
    scratch: Codes,
) -> tuple[Codes, Offsets, Integers]:
    """Split classes by the labels of one more column; return those that may hold a label that matters.

    `scratch` has -1 for every label code, and is left so.
    """
    n = rows.size
    out_rows = np.empty(n, np.int32)
    out_starts = np.empty(n + 1, np.int64)
    out_costs = np.empty(n, np.int64)
    width = min(n, scratch.size)
    touched = np.empty(width, np.int32)
    lengths = np.empty(width, np.int64)
    weights = np.empty(width, np.int64)
    least = np.empty(width, np.int64)  # cost that a label of the part has at least
    above = np.empty(width, np.int64)  # records with caps above it, and by how much all of them are
    surplus = np.empty(width, np.float64)
    fill = np.empty(width, np.int64)  # highest of the other caps
    count = 0
    filled = 0
    out_starts[0] = 0
    for c in range(starts.size - 1):
        # Number the labels of the class by first appearance, and sum up the rows of each.
        parts = 0
        for e in range(starts[c], starts[c + 1]):
            row = rows[e]
            part = scratch[labels[row]]
            if part < 0:
                part = parts
                scratch[labels[row]] = part
                touched[part] = labels[row]
                lengths[part] = 0
                weights[part] = 0
                least[part] = class_costs[c] + costs[labels[row]] + rest
                above[part] = 0
                surplus[part] = 0.0
                fill[part] = -1
                parts += 1
            cap = caps[row]
            lengths[part] += 1
            weights[part] += records[row]
            if cap > least[part]:
                above[part] += records[row]
                surplus[part] += float(records[row]) * float(cap - least[part])
            elif cap > fill[part]:
                fill[part] = cap
        # Make room for the parts that matter: `lengths` is then where the next row of each goes, or -1.
        first = count
        place = filled
        for part in range(parts):
            lacking = smallest - above[part]
            if (
                weights[part] >= smallest
                and above[part] > 0
                and (lacking <= 0 or surplus[part] > float(lacking) * float(least[part] - fill[part]))
            ):
                size = lengths[part]
                lengths[part] = place
                place += size
                out_costs[count] = least[part] - rest
                count += 1
                out_starts[count] = place
            else:
                lengths[part] = -1
        if count > first:
            for e in range(starts[c], starts[c + 1]):
                part = scratch[labels[rows[e]]]
                if lengths[part] >= 0:
                    out_rows[lengths[part]] = rows[e]
                    lengths[part] += 1
        for part in range(parts):
            scratch[touched[part]] = -1
        # Close the gaps of those that share a label on the level below, which is not dearer.
        last = count
        count = first
        begin = filled
        for part in range(first, last):
            end = out_starts[part + 1]
            same = False
            if below.size > 0:
                label = below[out_rows[begin]]
                if below_costs[label] <= costs[labels[out_rows[begin]]]:
                    same = True
                    for e in range(begin + 1, end):
                        if below[out_rows[e]] != label:
                            same = False
                            break
            if not same:
                if filled != begin:
                    for e in range(begin, end):
                        out_rows[filled + e - begin] = out_rows[e]
                filled += end - begin
                out_costs[count] = out_costs[part]
                count += 1
                out_starts[count] = filled
            begin = end
    return out_rows[:filled].copy(), out_starts[: count + 1].copy(), out_costs[:count].copy()
