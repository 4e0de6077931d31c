"""Subtree recoding: against all cuts of tiny tables, and every promise on the rows that are released."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support import local_recoding as twin
from support import oracle, realdata, strategies
from support.models import ours
from support.plans import table_of
from support.samples import hierarchy_of, names_of
from veil import hierarchies as h
from veil import models as m
from veil.base.exact import largest_count
from veil.errors import NoSolutionError, ParameterError, PlanError
from veil.lattice import Optimal
from veil.models.subset import RowNumbers
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.recoding.problem import UNIT, CellProblem
from veil.recoding.subtree import SubtreeSolution, recode_subtree
from veil.recoding.subtree.forest import ambiguous_labels

LOSS = Loss(aggregate="arithmetic_mean")
Levels = dict[oracle.Value, int]
"""The level of each value of a column."""


class Verdict(NamedTuple):
    cost: int
    suppressed: frozenset[int]


def cuts(rows: dict[oracle.Value, tuple[oracle.Value, ...]], low: int, high: int) -> Iterator[Levels]:
    """Yield every choice of one label on each path, from the labels of each value that occurs."""
    groups: dict[oracle.Value, dict[oracle.Value, tuple[oracle.Value, ...]]] = {}
    for value, labels in rows.items():
        groups.setdefault(labels[high], {})[value] = labels
    choices = []
    for group in groups.values():
        here: list[Levels] = [dict.fromkeys(group, high)]
        choices.append(here + (list(cuts(group, low, high - 1)) if high > low else []))
    for choice in itertools.product(*choices):
        yield {value: level for part in choice for value, level in part.items()}


def cost_of(problem: oracle.Problem, j: int, level: int, label: oracle.Value) -> int:
    """Return the cost of a cell, in units of a record."""
    size = Fraction(problem.domain_size(j))
    share = (problem.share(j, level, label) * size - 1) / (size - 1) if size > 1 else Fraction(0)
    return math.floor(share * Fraction(1, problem.width) * UNIT)


def judge(problem: oracle.Problem, models: Sequence[oracle.AnyModel], cut: Sequence[Levels]) -> Verdict:
    """Suppress the classes of a cut that break a model."""
    levels = {
        row: tuple(cut[j][value] for j, value in enumerate(record)) for row, record in enumerate(problem.rows)
    }
    labels = {row: twin.labels_of(problem, row, node) for row, node in levels.items()}
    suppressed: set[int] = set()
    for rows in twin.grouped(labels).values():
        if any(oracle.rejects(model, problem, levels[rows[0]], rows) for model in models):
            suppressed.update(rows)
    cost = len(suppressed) * UNIT
    for row in set(levels) - suppressed:
        cost += sum(cost_of(problem, j, levels[row][j], labels[row][j]) for j in range(problem.width))
    return Verdict(cost, frozenset(suppressed))


def best_of_all(
    problem: oracle.Problem, models: Sequence[oracle.AnyModel], low: oracle.Node, high: oracle.Node, most: int
) -> int | None:
    """Return the least cost of a cut of every column that suppresses no more than so many records."""
    columns = []
    for j, domain in enumerate(problem.domains):
        used = {record[j] for record in problem.rows}
        columns.append(list(cuts({value: domain[value] for value in used}, low[j], high[j])))
    assume(math.prod(map(len, columns)) <= 3000)
    verdicts = (judge(problem, models, cut) for cut in itertools.product(*columns))
    return min((each.cost for each in verdicts if len(each.suppressed) <= most), default=None)


def best_node(
    problem: oracle.Problem, models: Sequence[oracle.AnyModel], low: oracle.Node, high: oracle.Node, most: int
) -> int | None:
    """Return the least cost of a node of the lattice."""
    verdicts = (
        judge(problem, models, [dict.fromkeys(domain, level) for domain, level in zip(problem.domains, node, strict=True)])
        for node in oracle.nodes(low, high)
    )  # fmt: skip
    return min((each.cost for each in verdicts if len(each.suppressed) <= most), default=None)


def class_models(problem: oracle.Problem) -> st.SearchStrategy[oracle.AnyModel]:
    """Draw a model that judges each class by itself."""
    return st.one_of(
        strategies.monotone_models(problem), strategies.class_models(st.sampled_from(["S", "T"]))
    ).filter(
        lambda model: (
            not isinstance(
                model,
                oracle.DeltaPresence | oracle.Inclusion | oracle.DifferentialPrivacy | oracle.SubsetKAnonymity,
            )
            and getattr(model, "attacker", "") != "journalist"
        )
    )


def drawn(
    data: st.DataObject, problem: oracle.Problem, models: Sequence[oracle.AnyModel], limit: float
) -> tuple[Prepared, oracle.Node, oracle.Node]:
    names = names_of(problem)
    asked: list[Any] = [ours(model) for model in models]
    assume(None not in asked and len({type(model) for model in asked}) == len(asked))
    low, high = data.draw(strategies.level_ranges(problem))
    try:
        plan = Plan(
            {name: hierarchy_of(problem, j) for j, name in enumerate(names)},
            asked,
            sensitive=tuple(problem.sensitive),
            suppression_limit=limit,
            strategy=Optimal(),
            quality=LOSS,
            minimum_levels=dict(zip(names, low, strict=True)),
            maximum_levels=dict(zip(names, high, strict=True)),
        )
        return prepare(table_of(problem), plan), low, high
    except PlanError:  # refused at once, as no table could fulfil it
        assume(False)
        raise


def recode(prepared: Prepared, **options: Any) -> SubtreeSolution:
    options = {"seconds": 0.3, "threads": 1} | options
    return recode_subtree(prepared, prepared.plan.searched_models, **options)


def check_solution(
    problem: oracle.Problem, models: Sequence[oracle.AnyModel], prepared: Prepared, solution: SubtreeSolution
) -> None:
    """Look at what is released: one label a value, one meaning a label, its cost, and every promise."""
    rows = range(len(problem.rows))
    levels = {row: tuple(solution.levels[row].tolist()) for row in rows}
    for j in range(problem.width):
        of_value: dict[oracle.Value, int] = {}
        of_label: dict[oracle.Value, tuple[oracle.Value, int]] = {}
        domain = problem.domains[j]
        for row in rows:
            value, level = problem.rows[row][j], levels[row][j]
            assert of_value.setdefault(value, level) == level
        hierarchy = prepared.encoding.hierarchies[j]
        for code, level in enumerate(solution.cuts[j].tolist()):
            value = hierarchy.labels[0][code]
            assert prepared.minimum[j] <= level <= prepared.maximum[j]
            assert of_value.setdefault(value, level) == level
            # Everything below a label has that label.
            group = {other for other in domain if domain[other][level] == domain[value][level]}
            assert all(
                solution.cuts[j][hierarchy.labels[0].index(other)] == level for other in group & domain.keys()
            )
        for value in {record[j] for record in problem.rows}:
            label, level = domain[value][of_value[value]], of_value[value]
            known = of_label.setdefault(label, (value, level))
            for other in domain:
                assert (domain[other][level] == label) == (domain[other][known[1]] == label)
    kept = {row: twin.labels_of(problem, row, levels[row]) for row in rows if not solution.suppressed[row]}
    assert twin.holds(problem, models, kept, levels)
    cost = UNIT * int(solution.suppressed.sum())
    cost += sum(
        cost_of(problem, j, levels[row][j], label) for row in kept for j, label in enumerate(kept[row])
    )
    assert cost == solution.cost
    assert int(solution.suppressed.sum()) <= largest_count(prepared.plan.suppression_limit, len(problem.rows))


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_cut_is_better_than_a_proven_one(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(max_rows=14, max_width=3, max_height=3, sensitive=True, subset=False))
    models = [oracle.KAnonymity(data.draw(st.integers(1, 4)))]
    models += data.draw(st.lists(class_models(problem), max_size=1))
    limit = data.draw(strategies.limits())
    prepared, low, high = drawn(data, problem, models, limit)
    most = largest_count(limit, len(problem.rows))
    best, node = best_of_all(problem, models, low, high, most), best_node(problem, models, low, high, most)
    try:
        solution = recode(prepared, seconds=20)
    except NoSolutionError:
        assert node is None
        return
    except ParameterError:  # no value of the table could fulfil the model
        assume(False)
        raise
    check_solution(problem, models, prepared, solution)
    assert best is not None and best <= solution.cost
    assert node is None or solution.cost <= node
    assert solution.bound is None or solution.bound <= solution.cost
    ambiguous = any(
        ambiguous_labels(hierarchy, low[j], high[j])
        for j, hierarchy in enumerate(prepared.encoding.hierarchies)
    )
    assert solution.proven != ambiguous
    if solution.proven:
        assert solution.cost == best == solution.bound
