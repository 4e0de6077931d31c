"""Bounds never exceed a score they speak of: exhaustively, as computed, without tolerance."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.samples import Whimsical, judged, model_of, names_of, sample_of
from support.shares import MODELS, SHARED, shared_problems
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity
from veil.quality import NO_BOUND, by_name

often = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def at_or_above(low, levels):
    return all(a <= b for a, b in zip(low, levels, strict=True))


def assert_sound(problem, quality, models):
    """For every node, whatever it suppresses and keeps: no bound of a node below it exceeds its score.

    The search may only assume fewer suppressed records and more kept classes than a node really has, so the
    true numbers are the hardest case.
    """
    sample = sample_of(problem)
    evaluator = Evaluator(sample, models, model_of(quality, names_of(problem)), 1.0)
    measure = evaluator.measure
    scores, bases = {}, {}
    for levels in oracle.nodes((0,) * problem.width, problem.heights):
        node = judged(evaluator, levels)
        scores[levels] = measure.score(node), node.tally.suppressed, node.tally.kept
        bases[levels] = measure.base(node)
    for low, (levels, (score, suppressed, kept)) in itertools.product(bases, scores.items()):
        if at_or_above(low, levels):
            assert bases[low] <= score
            assert measure.bound(low, suppressed, kept) <= score
            assert measure.bound(low, suppressed // 2, kept + 1) <= score
            assert measure.bound(low, 0, sample.records) <= score


def models():
    """Draw what decides about suppression: class sizes, or nothing that a bound could lean on."""
    return st.one_of(
        st.integers(1, 6).map(lambda k: [KAnonymity(k)]),
        st.builds(Whimsical, st.integers(0, 99), st.sampled_from([0.1, 0.5, 0.9])).map(lambda whim: [whim]),
    )


@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_sound(name):
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(max_width=3, max_height=3, microaggregated=None))
        quality = data.draw(strategies.qualities(problem, (name,)))
        assert_sound(problem, quality, data.draw(models()))

    check()


@pytest.mark.parametrize("name", SHARED)
def test_bounds_with_given_shares_are_sound(name):
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(shared_problems())
        quality = data.draw(strategies.qualities(problem, (name,)))
        assert_sound(problem, quality, data.draw(models()))

    check()


@pytest.mark.parametrize("name", SHARED)
def test_bounds_survive_shares_above_one(name):
    table = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
    absurd = [{"a": 0.5, "b": 2, "c": 0.1}, {"x": 0.3, "y": 1.5}, {"*": 1}]
    rows = [(value,) for value in "aaabbcccca"]
    problem = oracle.Problem(rows, [table], shares=[absurd], domain_sizes=[3])
    for gs in strategies.FACTORS:
        for model in (KAnonymity(4), Whimsical(1, 0.5), Whimsical(2, 0.5)):
            assert_sound(problem, oracle.Quality(name, gs=gs), [model])


@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_sound_on_larger_tables(name):
    """Sums over many classes, where rounding has room to go wrong."""
    rng = np.random.default_rng(11)
    tables = [
        [[str(v), f"a{v // 2}", f"b{v // 8}", "*"] for v in range(32)],
        [[str(v), f"a{v // 3}", "*"] for v in range(27)],
        [[str(v), f"a{v // 2}", "*"] for v in range(7)],
    ]
    rows = [
        (str(int(a)), str(int(b)), str(int(c)))
        for a, b, c in zip(
            rng.binomial(31, 0.3, 3000), rng.integers(0, 27, 3000), rng.integers(0, 5, 3000), strict=True
        )
    ]
    response = [str(int(v)) for v in rng.integers(0, 3, 3000)]
    problem = oracle.Problem(rows, tables, {"S": response})
    losses = [[0, 0.1, 0.3, 0.7], [0, 0.1, 0.3], [0.1, 0.2, 0.3]]
    for gs, aggregate in [(0.5, "geometric_mean"), (0.3, "sum"), (0.8, "rank")]:
        quality = oracle.Quality(name, gs=gs, aggregate=aggregate, losses=losses, responses=["S", 2])
        assert_sound(problem, quality, [KAnonymity(5)])
    assert_sound(problem, dataclasses.replace(quality, gs=0.1), [Whimsical(3, 0.2)])


@pytest.mark.parametrize(
    "name",
    ["average_class_size", "discernibility", "ambiguity", "height", "precision", "loss", "entropy_based"],
)
def test_bounds_say_something(name):
    """A bound that is always NO_BOUND would be sound as well."""
    table = [[str(v), f"a{v // 2}", "*"] for v in range(8)]
    problem = oracle.Problem([(str(v % 8), str(v * v % 8)) for v in range(60)], [table, table])
    evaluator = Evaluator(sample_of(problem), [KAnonymity(5)], by_name(name), 1.0)
    low, middle = evaluator.measure.bound((0, 0), 0, 60), evaluator.measure.bound((1, 1), 30, 5)
    assert NO_BOUND < low < middle
