"""Every strategy: what it finds when it may go on to the end, and what holds when it may not."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.refusals import refused
from support.samples import E1, evaluate, model_of, names_of, sample_of
from support.searching import best_of, every_node, models, rank
from veil.errors import ParameterError
from veil.lattice import (
    Auto,
    BestEffort,
    DataFly,
    Genetic,
    ImprovedGreedy,
    Lightning,
    Optimal,
    TopDown,
    by_name,
)
from veil.lattice.cache import TableCache
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import BATCH, Limits, Search
from veil.models import KAnonymity
from veil.quality import Loss

EXHAUSTIVE = [Optimal(), Auto(), BestEffort(), Lightning(), TopDown(), Genetic(population=4)]
ALL = [*EXHAUSTIVE, Lightning(minimal=True), TopDown(minimal=True), DataFly(), ImprovedGreedy()]

often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def draw_evaluator(data):
    problem = data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None))
    quality = data.draw(strategies.qualities(problem))
    low, high = data.draw(strategies.level_ranges(problem))
    limit = data.draw(strategies.limits())
    chosen = data.draw(models())
    return Evaluator(sample_of(problem), chosen, model_of(quality, names_of(problem)), limit), low, high


@pytest.mark.slow
@pytest.mark.parametrize("strategy", EXHAUSTIVE, ids=repr)
def test_run_to_exhaustion_finds_the_optimum(strategy):
    @often
    @given(st.data())
    def check(data):
        evaluator, low, high = draw_evaluator(data)
        found = Search(evaluator, low, high).run(strategy)
        best = best_of(every_node(evaluator, low, high))
        assert found.proven
        assert found.ending == "finished"
        assert (found.best and rank(found.best)) == (best and rank(best))
        if best is not None:
            assert found.bound == best.score

    check()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_stopped_at_any_number_of_checks(strategy):
    """The best so far is anonymous, what is claimed about the rest is true, and the limit is kept."""

    @often
    @given(st.data())
    def check(data):
        evaluator, low, high = draw_evaluator(data)
        most = data.draw(st.integers(1, 30))
        found = Search(evaluator, low, high, limits=Limits(checks=most)).run(strategy)
        best = best_of(every_node(evaluator, low, high))
        assert found.checks <= most
        assert found.ending in ("finished", "check limit")
        if found.best is not None:
            assert evaluate(evaluator, found.best.levels).anonymous
            assert rank(found.best) >= rank(best)
        if found.bound is not None and best is not None:
            assert found.bound <= best.score
        if found.proven:
            assert (found.best and found.best.levels) == (best and best.levels)
        scores = [score for _, _, score in found.curve]
        assert scores == sorted(scores, reverse=True)
        assert not scores or scores[-1] == found.best.score

    check()


def test_a_population_larger_than_any_memory_keeps_to_the_limits():
    tables = [[[str(v), f"a{v // 2}", f"b{v // 4}", "*"] for v in range(8)] for _ in range(9)]
    rng = random.Random(1)
    rows = [tuple(rng.choice(table)[0] for table in tables) for _ in range(40)]
    problem = oracle.Problem(rows, tables)
    evaluator = Evaluator(sample_of(problem), [KAnonymity(2)], Loss(), 1.0)
    asked = itertools.count()
    for limits in (Limits(checks=50), Limits(cancelled=lambda: next(asked) > 5)):
        search = Search(evaluator, (0,) * 9, problem.heights, limits=limits)
        found = search.run(Genetic(population=2**31))
        assert found.ending in ("check limit", "cancelled")
        assert found.best is not None
    small = Search(evaluator, (2,) * 9, (3,) * 3 + (2,) * 6).run(Genetic(population=2**31))
    assert small.proven


def test_a_proof_that_best_effort_ends_with_is_kept(monkeypatch):
    """In a space that is too large to try the proof again."""
    monkeypatch.setattr("veil.lattice.auto.PROVABLE", 0)
    tables = [[[str(v), f"a{v // 2}", f"b{v // 4}", "*"] for v in range(8)] for _ in range(4)]
    rng = random.Random(1)
    rows = [tuple(rng.choice(table)[0] for table in tables) for _ in range(120)]
    problem = oracle.Problem(rows, tables)
    evaluator = Evaluator(sample_of(problem), [KAnonymity(3)], Loss(), 0.05)
    low, high = (0,) * 4, problem.heights
    found = Search(evaluator, low, high, limits=Limits(checks=160)).run(Auto())
    assert found.ending == "finished"
    assert found.proven
    best = best_of(every_node(evaluator, low, high))
    assert (found.best.levels, found.bound) == (best.levels, best.score)


@pytest.fixture
def survey():
    """A table with enough attributes that no strategy sees all of its nodes."""
    rng = random.Random(5)
    tables = [[[str(v), f"a{v // 2}", "*"] for v in range(4 + j % 3)] for j in range(12)]
    mood = [rng.random() for _ in range(400)]
    rows = [tuple(str(int((0.7 * m + 0.3 * rng.random()) * len(t))) for t in tables) for m in mood]
    problem = oracle.Problem(rows, tables)

    def make(limit=0.0):
        evaluator = Evaluator(sample_of(problem), [KAnonymity(5)], Loss(), limit)
        return evaluator, (0,) * 12, problem.heights

    return make


@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_the_same_whatever_the_number_of_threads(strategy, limit, survey, monkeypatch):
    monkeypatch.setattr("veil.lattice.search.WORTH_A_THREAD", 0)
    alone, together = (
        Search(*survey(limit), threads=threads, limits=Limits(checks=700)).run(strategy) for threads in (1, 3)
    )
    assert alone.space.evaluated == together.space.evaluated
    assert alone.best == together.best
    assert [point[1:] for point in alone.curve] == [point[1:] for point in together.curve]


def test_best_effort_is_at_least_as_good_as_the_others(survey):
    for limit in (0.0, 0.1, 1.0):
        found = {
            repr(strategy): Search(*survey(limit), limits=Limits(checks=2000)).run(strategy).best
            for strategy in ALL
        }
        scores = {name: best.score for name, best in found.items() if best is not None}
        assert scores["BestEffort(seed=0)"] == min(scores.values())


@pytest.mark.parametrize("strategy", [Auto(), BestEffort(), Lightning(), Optimal()], ids=repr)
def test_time_is_kept_and_cancelling_returns_the_best_so_far(strategy, survey, monkeypatch):
    """On a clock that goes on by a millisecond whenever somebody looks at it: after the last, nobody works on."""
    with monkeypatch.context() as patch:
        ticks = itertools.count()
        patch.setattr(Search, "elapsed", property(lambda self: next(ticks) / 1000))
        found = Search(*survey(1.0), limits=Limits(seconds=0.2)).run(strategy)
    assert found.ending == "time limit"
    assert 0.2 < found.seconds < 0.203
    assert 0 < found.checks < 200 * BATCH
    asked = itertools.count()
    found = Search(*survey(1.0), limits=Limits(cancelled=lambda: next(asked) > 20)).run(strategy)
    assert found.ending == "cancelled"
    assert found.best is not None
    assert found.best.anonymous
    assert not found.proven


def test_seeds_lead_elsewhere(survey):
    seen = [
        Search(*survey(1.0), limits=Limits(checks=600)).run(BestEffort(seed=seed)).space.evaluated
        for seed in (0, 0, 1)
    ]
    assert seen[0] == seen[1] != seen[2]


# Worked values of the reference's example E1: 2-anonymity, loss, suppression limit 0.1.


@pytest.fixture
def example():
    return Evaluator(sample_of(E1), [KAnonymity(2)], Loss(), 0.1), (0, 0, 0), (2, 1, 3)


@pytest.mark.parametrize("strategy", EXHAUSTIVE, ids=repr)
def test_reference_unlimited_heuristics_all_find_the_same(strategy, example):
    assert Search(*example).run(strategy).best.levels == (1, 0, 1)


def test_reference_six_checks_from_the_bottom(example, monkeypatch):
    """Bounds that cost no check lead further in six of them; without those it is the reference's path."""
    assert Search(*example, limits=Limits(checks=6)).run(Lightning()).best.levels == (1, 0, 1)
    monkeypatch.setattr("veil.lattice.lightning._Climb._loses_too_much", lambda self, levels: False)
    best = Search(*example, limits=Limits(checks=6)).run(Lightning()).best
    assert best.levels == (0, 1, 0)
    assert best.score == pytest.approx((0.342574688877,), rel=1e-11)


def test_reference_six_checks_from_the_top(example):
    assert Search(*example, limits=Limits(checks=6)).run(TopDown()).best.levels == (1, 0, 3)


# One path: the greedy algorithms by their definition.


def path_by_definition(problem, k, allowed, choose):
    """Walk from the bottom as `choose` says until few enough records lie in small classes."""
    levels = [0] * problem.width
    while True:
        classes = oracle.classes(problem, tuple(levels))
        if sum(len(members) for members in classes if len(members) < k) <= allowed:
            return tuple(levels)
        can_rise = [j for j, height in enumerate(problem.heights) if levels[j] < height]
        if not can_rise:
            return None
        levels[choose(levels, can_rise)] += 1


def distinct(problem, levels, j):
    return len({row[j] for row in oracle.generalize(problem, tuple(levels))})


@often
@given(st.data())
def test_data_fly_by_definition(data):
    problem = dataclasses.replace(
        data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None)), subset=None
    )
    k, limit = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([0.0, 0.2]))

    def most_distinct(levels, can_rise):
        return max(can_rise, key=lambda j: (distinct(problem, levels, j), -j))

    evaluator = Evaluator(sample_of(problem), [KAnonymity(k)], Loss(), limit)
    found = Search(evaluator, (0,) * problem.width, problem.heights).run(DataFly()).best
    expected = path_by_definition(problem, k, evaluator.allowed, most_distinct)
    assert (found and found.levels) == expected


@often
@given(st.data())
def test_improved_greedy_by_definition(data):
    problem = dataclasses.replace(
        data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None)), subset=None
    )
    k, limit = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([0.0, 0.2]))

    def largest_smallest_class(levels, can_rise):
        def smallest(j):
            raised = tuple(level + (i == j) for i, level in enumerate(levels))
            return min(len(members) for members in oracle.classes(problem, raised))

        return max(can_rise, key=lambda j: (smallest(j), distinct(problem, levels, j), -j))

    evaluator = Evaluator(sample_of(problem), [KAnonymity(k)], Loss(), limit)
    found = Search(evaluator, (0,) * problem.width, problem.heights).run(ImprovedGreedy()).best
    expected = path_by_definition(problem, k, evaluator.allowed, largest_smallest_class)
    assert (found and found.levels) == expected


@often
@given(st.data())
def test_minimal_from_the_top_has_no_anonymous_better_predecessor(data):
    evaluator, low, high = draw_evaluator(data)
    search = Search(evaluator, low, high)
    found = search.run(TopDown(minimal=True)).best
    if found is not None:
        below = [evaluate(evaluator, levels) for _, levels in search.space.predecessors(found.levels)]
        assert all(not each.anonymous or each.score >= found.score for each in below)


# The parts.


def test_the_smallest_table_that_is_fine_enough_is_the_source(survey):
    evaluator, low, high = survey()
    search = Search(evaluator, low, high)
    half = (2,) * 10 + (0,) * 2
    search.check([half, high])
    tables = search.tables
    assert tables.source(low) is tables.finest
    assert tables.source(half).levels == half
    assert tables.source((2,) * 10 + (1, 0)).levels == half
    assert tables.source((2,) * 9 + (1, 0, 0)) is tables.finest
    assert tables.source(high).levels == high


def test_old_tables_make_room(survey, monkeypatch):
    evaluator, low, high = survey()
    monkeypatch.setattr("veil.lattice.cache.MOST", 3)
    search = Search(evaluator, low, high)
    tables = TableCache(evaluator.sample.table)
    search.tables = tables
    for j in range(8):
        search.check([tuple(0 if i == j else 2 for i in range(12))])
    assert len(tables.kept) == 3
    assert tables.bytes == sum(tables.slots[slot].nbytes for slot in tables.kept.values())
    assert set(tables.kept) == {tuple(0 if i == j else 2 for i in range(12)) for j in (5, 6, 7)}


def test_tables_are_kept_once_and_within_memory(survey, monkeypatch):
    evaluator, low, high = survey()
    search = Search(evaluator, low, high)
    search.check([tuple(0 if i == j else 2 for i in range(12)) for j in range(8)])
    made = [search.tables.slots[slot] for slot in search.tables.kept.values()]
    largest = max(table.nbytes for table in made)
    monkeypatch.setattr("veil.lattice.cache.MEMORY", 4 * largest)  # a table may have a quarter of it
    tables = TableCache(evaluator.sample.table)
    for table in made:
        tables.add(table)
        tables.add(table)
        assert tables.source(table.levels) is table
        assert tables.bytes == sum(tables.slots[slot].nbytes for slot in tables.kept.values()) <= 4 * largest
    assert list(tables.kept) == [table.levels for table in made][-len(tables.kept) :]
    assert tables.bytes + made[-len(tables.kept) - 1].nbytes > 4 * largest  # none went without need
    assert tables.source(made[0].levels) is tables.finest
    monkeypatch.setattr("veil.lattice.cache.MEMORY", 4 * largest - 1)
    tables = TableCache(evaluator.sample.table)
    for table in made:
        tables.add(table)
        assert (table.levels in tables.kept) == (table.nbytes < largest)


def test_by_name():
    assert by_name("Best-Effort") == BestEffort()
    assert by_name("topdown") == TopDown()
    assert by_name("datafly") == DataFly()
    with refused(ParameterError, "`strategy`", "best_effort", "'lightening'"):
        by_name("lightening")
