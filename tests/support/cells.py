"""Recodings of a few records cell by cell, checked from the definition: what they cost, and what they may not do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from support.recoding_bound import UNIT, TinyTable
from veil.base.arrays import Integers
from veil.base.progress import Progress
from veil.plan.class_size import ForcedSize
from veil.plan.prepare import Prepared
from veil.recoding.cells.labels import CellLabels, DistinctRows, NodeClasses
from veil.recoding.cells.recode import recode_cells
from veil.recoding.problem import CellProblem
from veil.recoding.solution import RowRecoding

LabelCosts = dict[frozenset[int], int]
"""The cost of the cheapest label with just these distinct rows under it."""


def problem_of(prepared: Prepared, size: ForcedSize) -> CellProblem:
    """Return the problem of a plan whose classes need nothing but a size."""
    return CellProblem.of(prepared, size.smallest)


def recoded(prepared: Prepared, seconds: float = 0.05, **options: Any) -> RowRecoding:
    """Search for a short time."""
    defaults: dict[str, Any] = {"threads": 1, "cancel": lambda: False, "progress": Progress()}
    return recode_cells(prepared, prepared.plan.searched_models, seconds=seconds, **defaults | options)


def exact_cost(table: TinyTable, levels: Sequence[Sequence[int]], suppressed: Sequence[bool]) -> Fraction:
    """Return what a recoding costs in records, after a look at every class, level and suppressed record."""
    assert table.allows([i for i, gone in enumerate(suppressed) if gone])
    total = Fraction(sum(suppressed))
    classes: dict[tuple[str | None, ...], list[int]] = {}
    for i, gone in enumerate(suppressed):
        if gone:
            continue
        label = []
        for j, level in enumerate(levels[i]):
            assert table.minimum[j] <= level <= table.maximum[j]
            total += table.cost(j, i, level)
            label.append(table.label(j, i, level))
        classes.setdefault(tuple(label), []).append(i)
    assert all(table.accepts(records) for records in classes.values())
    return total


def is_rounded(cost: int, exact: Fraction, table: TinyTable) -> bool:
    """Say whether a cost is the sum of costs of cells, each rounded down to whole units."""
    return exact * UNIT - len(table.rows) * len(table.hierarchies) <= cost <= exact * UNIT


def label_costs(problem: CellProblem, rows: DistinctRows, *, enough: bool = True) -> LabelCosts:
    """Return all labels that the plan allows, and that have records enough, from every node."""
    first = [int(np.flatnonzero(rows.of_row == i)[0]) for i in range(len(rows))]
    ranges = [range(low, high + 1) for low, high in zip(problem.minimum, problem.maximum, strict=True)]
    result: LabelCosts = {}
    for levels in itertools.product(*ranges):
        groups: dict[tuple[int, ...], list[int]] = {}
        costs: dict[tuple[int, ...], int] = {}
        for i, row in enumerate(first):
            label = tuple(
                int(hierarchy.label_map(level)[problem.codes[row, j]])
                for j, (hierarchy, level) in enumerate(zip(problem.hierarchies, levels, strict=True))
            )
            groups.setdefault(label, []).append(i)
            costs[label] = sum(
                int(problem.costs[j][level][code])
                for j, (level, code) in enumerate(zip(levels, label, strict=True))
            )
        for label, members in groups.items():
            key = frozenset(members)
            if not enough or sum(rows.records[members]) >= problem.smallest:
                result[key] = min(costs[label], result.get(key, costs[label]))
    return result


def highest(values: Integers, members: frozenset[int], rows: DistinctRows, smallest: int) -> int:
    """Return the total of the `smallest` highest values of the records under a label."""
    copies = [int(values[i]) for i in members for _ in range(int(rows.records[i]))]
    return sum(sorted(copies, reverse=True)[:smallest])


def members_of(labels: CellLabels | NodeClasses) -> list[frozenset[int]]:
    """Return the rows under each label."""
    pairs = itertools.pairwise(labels.starts.tolist())
    return [frozenset(labels.rows[start:end].tolist()) for start, end in pairs]
