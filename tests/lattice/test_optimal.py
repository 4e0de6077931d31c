"""The pruned search returns exactly what looking at every node returns."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.samples import as_tuple, model_of, names_of, sample_of
from support.searching import assert_finds_the_best, best_of, every_node, models, often
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import BranchAndBound, Optimal
from veil.lattice.search import Search, Strategy
from veil.models import KAnonymity, TCloseness

EXACT = ("Discernibility", "Ambiguity", "Classification")
"""Models whose scores are rounded at most once, so that ties are ties for everyone."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *oracle.VECTOR_MODELS, *oracle.SINGLE_MODELS])
def test_pruned_is_exhaustive(name):
    """With any quality model (400 cases), then 40 more for each of them."""

    @settings(often, max_examples=40 if name else 400)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None))
        quality = data.draw(strategies.qualities(problem, (name,) if name else None))
        low, high = data.draw(strategies.level_ranges(problem))
        limit = data.draw(strategies.limits())
        chosen = data.draw(models())
        evaluator = Evaluator(sample_of(problem), chosen, model_of(quality, names_of(problem)), limit)
        assert_finds_the_best(evaluator, low, high, data.draw(st.sampled_from([1, 2])))

    check()


@pytest.mark.parametrize("boxes", [1, 5])
def test_short_of_memory_the_best_is_found_all_the_same(boxes, monkeypatch):
    """Few boxes wait at a time, and what was found out is forgotten soon."""
    monkeypatch.setattr("veil.lattice.optimal.MOST_BOXES", boxes)
    monkeypatch.setattr("veil.lattice.optimal.MOST_REMEMBERED", boxes)
    monkeypatch.setattr("veil.lattice.search.MOST_REMEMBERED", boxes)

    @settings(often, max_examples=150)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(max_width=4, max_height=3, sensitive=True))
        quality = data.draw(strategies.qualities(problem))
        low, high = data.draw(strategies.level_ranges(problem))
        chosen = [*data.draw(models()), *data.draw(st.sampled_from([[], [TCloseness("S", 0.3)]]))]
        limit = data.draw(strategies.limits())
        evaluator = Evaluator(sample_of(problem), chosen, model_of(quality, names_of(problem)), limit)
        found = Search(evaluator, low, high, threads=1).run(Optimal())
        best = best_of(every_node(evaluator, low, high))
        assert found.proven
        assert (found.best is None) == (best is None)
        assert best is None or (found.best.levels, found.best.score) == (best.levels, best.score)

    check()


class Interrupted(Strategy):
    """Branch and bound that is stopped after some checks; then somebody else looks at nodes of boxes that wait."""

    def __init__(self, checks, look):
        self.checks, self.look = checks, look

    def run(self, search):
        boxes = BranchAndBound(search, search.space.minimum, search.space.maximum)
        if self.checks:
            boxes.run(checks=self.checks)
        search.check(self.look(boxes.heap))
        boxes.conclude()
        best = search.best
        self.waiting = [best is None or box.rank < best for box in boxes.heap]
        self.has_begun = boxes.has_begun


@settings(often, max_examples=300)
@given(st.data())
def test_a_proof_is_claimed_exactly_if_nothing_that_waits_can_be_better(data):
    """Also where the best node is the low corner of a box that waits, as another strategy may find out."""
    problem = data.draw(strategies.problems(max_width=3, max_height=3))
    low, high = data.draw(strategies.level_ranges(problem))
    quality = model_of(data.draw(strategies.qualities(problem)), names_of(problem))
    evaluator = Evaluator(sample_of(problem), data.draw(models()), quality, data.draw(strategies.limits()))
    best = best_of(every_node(evaluator, low, high))
    looks = [lambda heap: [], lambda heap: [box.low for box in heap[:1]]]
    if best is not None:
        looks.append(lambda heap: [best.levels])
    stopped = Interrupted(data.draw(st.integers(0, 12)), data.draw(st.sampled_from(looks)))
    found = Search(evaluator, low, high, threads=1).run(stopped)
    assert found.proven == (stopped.has_begun and not any(stopped.waiting))
    if found.proven:
        assert (found.best and found.best.levels) == (best and best.levels)


@settings(often, max_examples=300)
@given(st.data())
def test_what_is_known_of_a_corner_is_used_again_where_it_holds(data):
    """A node is not evaluated again from its own table, or from any if that tells nothing new."""
    problem = data.draw(strategies.problems(max_width=3, max_height=3, sensitive=True))
    low, high = data.draw(strategies.level_ranges(problem))
    quality = model_of(data.draw(strategies.qualities(problem)), names_of(problem))
    chosen = [TCloseness("S", data.draw(st.sampled_from([0.1, 0.3, 0.5]))), KAnonymity(2)]
    evaluator = Evaluator(
        sample_of(problem), [data.draw(st.sampled_from(chosen))], quality, data.draw(strategies.limits())
    )
    once = not (evaluator.keeping or evaluator.measure.counts_classes)
    seen, evaluate = [], evaluator.evaluate

    def watched(levels, source, **options):
        assert levels not in seen or not (once or levels == source.levels)
        seen.append(levels)
        return evaluate(levels, source, **options)

    evaluator.evaluate = watched
    Search(evaluator, low, high, threads=1).run(Optimal())
    evaluator.evaluate = evaluate
    assert_finds_the_best(evaluator, low, high, 1)


@settings(often, max_examples=80)
@given(st.data())
def test_optimum_is_the_oracles(data):
    """The oracle shares no code with the engine and computes scores exactly."""
    problem = data.draw(strategies.problems(max_rows=25, max_width=3, max_height=3, microaggregated=None))
    quality = data.draw(strategies.qualities(problem))
    low, high = data.draw(strategies.level_ranges(problem))
    limit = data.draw(strategies.limits())
    k = data.draw(st.integers(1, 5))
    evaluator = Evaluator(sample_of(problem), [KAnonymity(k)], model_of(quality, names_of(problem)), limit)
    found = Search(evaluator, low, high, threads=1).run(Optimal()).best
    results = oracle.exhaustive(problem, [oracle.KAnonymity(k)], quality, limit, low, high)
    expected = oracle.best(results)
    assert (found is None) == (expected is None)
    if found is None or expected is None:
        return
    assert tuple(found.score) == pytest.approx(as_tuple(results[expected].score), rel=1e-9, abs=1e-9)
    # Scores that differ by rounding only are ties for the oracle; any of them is an optimum.
    assert found.levels in oracle.ties(results)
    if quality.name in EXACT:
        assert found.levels == expected
    assert found.tally.suppressed == len(results[found.levels].suppressed)


def test_ties_go_to_the_lower_sum_then_to_the_smaller_node():
    """With losses that are all zero every node ties, so the most specific anonymous ones decide."""
    table = [[v, "*"] for v in "ab"]
    rows = [("a", "a", "a"), ("b", "a", "a"), ("a", "b", "b"), ("b", "b", "b")]
    problem = oracle.Problem(rows, [table] * 3)
    flat = oracle.Quality("Static", losses=[[0, 0]] * 3)

    def best(k, limit):
        evaluator = Evaluator(sample_of(problem), [KAnonymity(k)], model_of(flat, names_of(problem)), limit)
        found = Search(evaluator, (0, 0, 0), (1, 1, 1)).run(Optimal()).best
        return found and found.levels

    assert best(1, 0.0) == (0, 0, 0)
    assert best(2, 0.0) == (1, 0, 0)
    assert best(3, 0.0) == (1, 1, 1)
    assert best(5, 0.0) is None
    assert best(5, 1.0) == (0, 0, 0)


@pytest.mark.parametrize("name", ["Loss", "AverageClassSize", "Discernibility", "Precision", "Height"])
@pytest.mark.parametrize("limit", [0.0, 0.05, 1.0])
def test_larger_table_with_threads(name, limit, monkeypatch):
    """Enough nodes for pruning to matter; threads are used and change nothing."""
    monkeypatch.setattr("veil.lattice.search.WORTH_A_THREAD", 0)
    tables = [
        [[str(v), f"a{v // 2}", f"b{v // 6}", "*"] for v in range(18)],
        [[str(v), f"a{v // 3}", "*"] for v in range(9)],
        [[str(v), f"a{v // 2}", f"b{v // 4}", "*"] for v in range(8)],
        [[str(v), "*"] for v in range(3)],
    ]
    rng = random.Random(3)
    rows = [tuple(rng.choice(table)[0] for table in tables) for _ in range(700)]
    problem = oracle.Problem(rows, tables)
    quality = oracle.Quality(name)
    high = problem.heights
    alone, together = (
        Search(
            Evaluator(sample_of(problem), [KAnonymity(5)], model_of(quality, names_of(problem)), limit),
            (0,) * 4,
            high,
            threads=threads,
        ).run(Optimal())
        for threads in (1, 3)
    )
    assert alone.space.evaluated == together.space.evaluated
    assert alone.space.ruled_out == together.space.ruled_out
    evaluator = Evaluator(sample_of(problem), [KAnonymity(5)], model_of(quality, names_of(problem)), limit)
    assert_finds_the_best(evaluator, (0,) * 4, high, 2)
    if limit < 1.0:
        assert len(alone.space.evaluated) < 0.6 * math.prod(height + 1 for height in high)
