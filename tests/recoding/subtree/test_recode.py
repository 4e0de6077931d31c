"""Subtree recoding: against all cuts of tiny tables, and every promise on the rows that are released."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support import local_recoding as twin
from support import longitudinal, oracle, realdata, strategies
from support.models import ours
from support.plans import any_models, table_of
from support.samples import hierarchy_of, names_of
from veil import hierarchies as h
from veil import models as m
from veil.base.exact import largest_count
from veil.errors import NoSolutionError, ParameterError, PlanError
from veil.lattice import Optimal
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.models.subset import RowNumbers
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.recoding.problem import UNIT, CellProblem
from veil.recoding.subtree import SubtreeSolution, kernels, recode_subtree
from veil.recoding.subtree.annealing import Annealing
from veil.recoding.subtree.branch_and_bound import clique_cover
from veil.recoding.subtree.forest import CutForest, ambiguous_labels, forest_of
from veil.recoding.subtree.judge import CutJudge

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
                oracle.DeltaPresence
                | oracle.Inclusion
                | oracle.DifferentialPrivacy
                | oracle.SubsetKAnonymity,
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
    problem = data.draw(
        strategies.problems(max_rows=14, max_width=3, max_height=3, sensitive=True, subset=False)
    )
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
    assert best is not None
    assert best <= solution.cost
    assert node is None or solution.cost <= node
    assert solution.bound is None or solution.bound <= solution.cost
    ambiguous = any(
        ambiguous_labels(hierarchy, low[j], high[j])
        for j, hierarchy in enumerate(prepared.encoding.hierarchies)
    )
    assert solution.proven != ambiguous
    if solution.proven:
        assert solution.cost == best == solution.bound


def no_worse(prepared: Prepared, solution: SubtreeSolution, node: float | None) -> bool:
    """Say whether a cut is no worse than the best node of the lattice.

    Columns whose domain has one value make a difference: with `Loss`, a suppressed record has nothing to lose there.
    """
    if any(hierarchy.domain_size == 1 for hierarchy in prepared.encoding.hierarchies):
        return True
    return node is None or solution.cost / (UNIT * prepared.rows.records) <= node + 1e-9


def full_domain(prepared: Prepared) -> float | None:
    """Return the loss of the best node of the lattice; None if none is allowed."""
    plan = prepared.plan
    evaluator = Evaluator(prepared.sample, plan.searched_models, LOSS, plan.suppression_limit)
    best = Search(evaluator, prepared.minimum, prepared.maximum, threads=1).run(Optimal()).best
    return None if best is None or best.score is None else best.score[0]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_promise_holds_and_no_node_of_the_lattice_is_better(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(max_rows=30, sensitive=True, subset=False))
    models = data.draw(st.lists(any_models(problem), min_size=1, max_size=2))
    prepared, _, _ = drawn(data, problem, models, data.draw(strategies.limits()))
    try:
        node = full_domain(prepared)
        solution = recode(prepared, seconds=3)
    except NoSolutionError:
        assert node is None
        return
    except ParameterError:  # no value of the table could fulfil the model
        assume(False)
        raise
    check_solution(problem, models, prepared, solution)
    assert no_worse(prepared, solution, node)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9))
def test_people_with_several_rows(seed: int) -> None:
    case = longitudinal.draw(seed)
    try:
        prepared = prepare(case.table, Plan(**case.options | {"quality": LOSS, "recoding": "full-domain"}))
        node = full_domain(prepared)
        solution = recode(prepared, seconds=3)
    except NoSolutionError:
        assert node is None
        return
    except PlanError as error:
        if "no release with any information" in str(error) or "should be" in str(error):
            return  # more is asked than so few people can fulfil
        raise
    rows, names = case.table.to_pylist(), prepared.encoding.names
    released = []
    for i, row in enumerate(rows):
        cells = {"dx": row["dx"]}
        for j, (name, hierarchy) in enumerate(zip(names, prepared.encoding.hierarchies, strict=True)):
            level = int(solution.levels[i, j])
            cells[name] = hierarchy.labels[level][hierarchy.label_map(level)[prepared.codes[j][i]]]
        released.append(dict.fromkeys(cells, "*") if solution.suppressed[i] else cells)
    assert longitudinal.wrong_rows(case, released, [row["who"] for row in rows]) == []
    assert no_worse(prepared, solution, node)


def parts_of(prepared: Prepared) -> tuple[CutJudge, CutForest, kernels.CutRows]:
    """Return what a search works on."""
    judge = CutJudge(prepared, prepared.plan.searched_models)
    forest = forest_of(judge.hierarchies, judge.costs, prepared.codes, prepared.minimum, prepared.maximum)
    columns = zip(forest.places, prepared.codes, strict=True)
    places = np.stack([places[codes] for places, codes in columns], axis=1)
    return judge, forest, kernels.rows_of(forest, np.ones(len(places), np.int64), places)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_steps_change_the_cost_as_the_models_count_it(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(max_rows=30, sensitive=True, subset=False))
    k, limit = data.draw(st.integers(1, 4)), data.draw(strategies.limits())
    prepared, _, _ = drawn(data, problem, [oracle.KAnonymity(k)], limit)
    judge, forest, rows = parts_of(prepared)
    nodes, room = kernels.nodes_of(forest, 1), kernels.room_for(rows)
    assume(nodes.inner.size)
    state = kernels.state_of(forest.top(), rows, nodes, k, data.draw(st.integers(0, 1000)))
    temperature = data.draw(st.sampled_from([0.0, 0.01, 0.3, 10.0])) * UNIT * len(problem.rows)
    for _ in range(5):
        kernels.anneal(rows, nodes, state, room, k, judge.evaluator.allowed, 4.0 * UNIT, temperature, 2000)
        verdict = judge.verdict(forest.levels(state.cut))
        assert (verdict.cost, verdict.suppressed) == tuple(state.totals[:2].tolist())
        again = kernels.state_of(state.cut, rows, nodes, k, 0)
        assert np.array_equal(again.totals[:2], state.totals[:2])
        assert np.array_equal(again.size[again.group], state.size[state.group])
        if state.totals[2] < np.iinfo(np.int64).max:
            best = judge.verdict(forest.levels(state.best))
            assert best.allowed
            assert best.cost == state.totals[2]


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_annealing_reports_cuts_that_are_allowed(data: st.DataObject) -> None:
    """Tiny tables are searched exactly, so that annealing needs a test of its own."""
    problem = data.draw(
        strategies.problems(max_rows=14, max_width=3, max_height=3, sensitive=True, subset=False)
    )
    models = [oracle.KAnonymity(2), *data.draw(st.lists(class_models(problem), max_size=1))]
    limit = data.draw(strategies.limits())
    prepared, low, high = drawn(data, problem, models, limit)
    best = best_of_all(problem, models, low, high, largest_count(limit, len(problem.rows)))
    try:
        judge, forest, rows = parts_of(prepared)
    except ParameterError:
        assume(False)
        raise
    costs: list[int] = []

    def report(cut: Any) -> bool:
        verdict = judge.verdict(forest.levels(cut))
        assert verdict.allowed
        better = not costs or verdict.cost < min(costs)
        costs.append(verdict.cost)
        return better

    looks = iter(range(150))
    annealing = Annealing(
        forest, rows, judge, [forest.top()], report, lambda: next(looks, None) is None, data.draw(st.integers(0, 99))
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veil.recoding.subtree.annealing.VISITS", 2000)
        annealing.run(1)
    assert not costs or (best is not None and min(costs) >= best)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=7), st.randoms(use_true_random=False))
def test_a_clique_cover_bounds_what_can_be_gained(gains: list[int], chance: Any) -> None:
    size = len(gains)
    exclusive = np.zeros((size, size), np.bool_)
    for i, j in itertools.combinations(range(size), 2):
        exclusive[i, j] = exclusive[j, i] = chance.random() < 0.5
    possible = (
        sum(gains[i] for i in chosen)
        for count in range(size + 1)
        for chosen in itertools.combinations(range(size), count)
        if not any(exclusive[i, j] for i, j in itertools.combinations(chosen, 2))
    )
    assert max(possible) <= clique_cover(exclusive, np.array(gains)) <= sum(gains)


AGES = h.table(
    [["21", "20-29", "*"], ["23", "20-29", "*"], ["35", "30-39", "*"], ["38", "30-39", "*"], ["61", "60-69", "*"]]
)  # fmt: skip


def test_values_of_one_column_on_different_levels() -> None:
    """Three people are 21 and three are 61; those in their thirties share a label."""
    table = pa.table({"age": ["21"] * 3 + ["35", "38", "38"] + ["61"] * 3})
    prepared = prepare(table, Plan({"age": AGES}, [m.KAnonymity(3)], quality=LOSS))
    solution = recode(prepared)
    assert solution.levels[:, 0].tolist() == [0] * 3 + [1] * 3 + [0] * 3
    assert (solution.proven, solution.ending) == (True, "finished")
    assert solution.cost == solution.bound == 3 * (UNIT // 4)
    # 23 does not occur: nobody has to be told apart from it.
    assert solution.cuts[0].tolist() == [0, 0, 1, 1, 0]


def test_a_label_never_stands_for_two_groups_of_values() -> None:
    """As a label of level 1, "c" is a or b; as a value, it is itself."""
    rows = [["a", "c", "*"], ["b", "c", "*"], ["c", "d", "*"], ["e", "d", "*"]]
    table = pa.table({"x": ["a", "b", "b", "c", "c", "c", "e", "e", "e"]})
    hierarchy = h.table(rows)
    prepared = prepare(table, Plan({"x": hierarchy}, [m.KAnonymity(3)], quality=LOSS))
    solution = recode(prepared)
    # The cut {c = a or b, c, e} would be best, were it not for two meanings of c: level 1 for all it is.
    assert solution.levels[:, 0].tolist() == [1] * 9
    assert not solution.proven
    assert solution.bound is None


def refusal(prepared: Prepared) -> str:
    with pytest.raises(PlanError) as error:
        recode(prepared)
    return str(error.value)


def test_refusals() -> None:
    table = pa.table({"age": ["21", "23", "35", "38"], "zip": ["1", "2", "3", "4"]})

    def prepared(*models: m.PrivacyModel, **options: Any) -> Prepared:
        return prepare(table, Plan({"age": AGES}, models, others="keep", quality=LOSS, **options))

    assert "research subset" in refusal(prepared(m.DeltaPresence(0, 1, subset=RowNumbers([0, 1]))))
    blind = prepared(m.KAnonymity(2), choose_by="quasi-identifiers")
    assert "all columns" in refusal(blind)
    with pytest.raises(NoSolutionError, match="no subtree recoding"):
        recode(prepared(m.KAnonymity(3), maximum_levels={"age": 1}))


def test_a_cancelled_search_returns_the_best_cut_so_far() -> None:
    table = pa.table({"age": ["21", "23", "35", "38"] * 3})
    prepared = prepare(table, Plan({"age": AGES}, [m.KAnonymity(2)], quality=LOSS))
    looks = iter(range(2))
    solution = recode(prepared, cancel=lambda: next(looks, None) is None)
    assert solution.ending == "cancelled"
    assert solution.cost == 0


def real_solution(name: str, k: int, limit: float, seconds: float) -> tuple[SubtreeSolution, Prepared]:
    columns = realdata.QUASI_IDENTIFIERS[name]
    plan = Plan(
        realdata.hierarchies(name, columns), [m.KAnonymity(k)], suppression_limit=limit, others="drop", quality=LOSS
    )  # fmt: skip
    prepared = prepare(realdata.source(name).table, plan)
    return recode(prepared, seconds=seconds, threads=None), prepared


@realdata.needs_data
@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "k", "limit", "loss"),
    [("adult", 5, 1.0, 0.1499), ("fars", 5, 1.0, 0.0922), ("fars", 2, 0.0, 0.5034)],
)
def test_real_tables_lose_less_than_with_one_level_a_column(
    name: str, k: int, limit: float, loss: float
) -> None:
    solution, prepared = real_solution(name, k, limit, 60)
    problem = CellProblem.of(prepared, k)
    costs = np.where(solution.suppressed, UNIT, problem.cost_of(solution.levels))
    assert solution.cost == int(costs.sum())
    assert solution.cost <= loss * UNIT * problem.records
    labels = [
        [hierarchy.labels[level][hierarchy.label_map(level)[code]] for level, code in zip(levels, codes, strict=True)]
        for hierarchy, levels, codes in zip(
            problem.hierarchies, solution.levels.T.tolist(), problem.codes.T.tolist(), strict=True
        )
    ]  # fmt: skip
    classes = Counter(itertools.compress(zip(*labels, strict=True), ~solution.suppressed))
    assert min(classes.values()) >= k


@realdata.needs_data
@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "fars"])
def test_without_suppression_the_full_domain_optimum_of_real_tables_is_the_best_cut(name: str) -> None:
    solution, prepared = real_solution(name, 5, 0.0, 120)
    assert solution.proven
    assert solution.cost / (UNIT * prepared.rows.records) == pytest.approx(full_domain(prepared), abs=1e-9)
