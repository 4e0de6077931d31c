"""Every quality model against the oracle, which computes from the definitions in exact arithmetic."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.oracle.suppression import class_loss
from support.samples import (
    Whimsical,
    as_tuple,
    evaluator_of,
    judged,
    model_of,
    names_of,
    sample_of,
    score_of,
)
from support.shares import MODELS, SHARED, shared_problems
from veil.classes.table import keep
from veil.lattice.evaluator import Evaluator
from veil.quality import VectorMeasure

often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def near(value):
    """Agree to 1e-9, relative and absolute: some losses are cut off after ten digits."""
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def assert_agrees(problem, quality, levels, k):
    evaluator = evaluator_of(problem, quality, k)
    suppressed = oracle.evaluate(problem, [oracle.KAnonymity(k)], levels, 1).suppressed
    expected = as_tuple(oracle.score(problem, quality, levels, suppressed))
    assert tuple(score_of(evaluator, levels)) == near(expected)
    if isinstance(evaluator.measure, VectorMeasure):
        found = list(evaluator.measure.vector(judged(evaluator, levels)))
        assert found == near(oracle.score_vector(problem, quality, levels, suppressed))


@pytest.mark.parametrize("name", MODELS)
def test_score_is_the_oracles(name):
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(microaggregated=None))
        quality = data.draw(strategies.qualities(problem, (name,)))
        assert_agrees(problem, quality, data.draw(strategies.nodes(problem)), data.draw(st.integers(1, 4)))

    check()


@pytest.mark.parametrize("name", [*SHARED, "Ambiguity", "KullbackLeibler"])
def test_score_with_given_shares_is_the_oracles(name):
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(shared_problems())
        quality = data.draw(strategies.qualities(problem, (name,)))
        assert_agrees(problem, quality, data.draw(strategies.nodes(problem)), data.draw(st.integers(1, 4)))

    check()


@pytest.mark.parametrize("name", MODELS)
def test_extremes_and_normalized_scores_are_the_oracles(name):
    @settings(often, max_examples=30)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(microaggregated=None))
        quality = data.draw(strategies.qualities(problem, (name,)))
        low, high = data.draw(strategies.level_ranges(problem))
        levels = data.draw(strategies.nodes(problem))
        evaluator = evaluator_of(problem, quality, 2)
        suppressed = oracle.evaluate(problem, [oracle.KAnonymity(2)], levels, 1).suppressed
        least, most = oracle.bounds(problem, quality, low, high)
        found = evaluator.measure.extremes(low, high)
        assert tuple(found[0]) == near(as_tuple(least))
        assert tuple(found[1]) == near(as_tuple(most))
        score = score_of(evaluator, levels)
        if math.isfinite(score[0]):
            expected = oracle.normalized(problem, quality, levels, suppressed, low, high)
            # A relative error of the score is magnified where the range is narrow.
            assert evaluator.measure.normalized(score, low, high) == pytest.approx(
                expected, rel=1e-7, abs=1e-7
            )

    check()


@pytest.mark.parametrize("name", ["Loss", "Ambiguity", "EntropyBased"])
def test_class_losses_order_classes_as_the_oracle_does(name):
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(subset=False, microaggregated=None))
        quality = data.draw(strategies.qualities(problem, (name,)))
        levels = data.draw(strategies.nodes(problem))
        evaluator = evaluator_of(problem, quality, 1)
        node = judged(evaluator, levels)
        losses = evaluator.measure.class_losses(node.table)
        groups = oracle.classes(problem, levels)
        expected = [class_loss(problem, levels, group, quality) for group in groups]
        for a, b in itertools.combinations(range(len(groups)), 2):
            if len(groups[a]) == len(groups[b]):
                assert (losses[a] < losses[b]) == (expected[a] < expected[b])
                assert (losses[a] > losses[b]) == (expected[a] > expected[b])

    check()


@pytest.mark.parametrize("name", MODELS)
def test_score_does_not_depend_on_how_the_classes_were_derived(name):
    @settings(often, max_examples=30)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(microaggregated=None))
        quality = data.draw(strategies.qualities(problem, (name,)))
        levels = data.draw(strategies.nodes(problem))
        between = tuple(data.draw(st.integers(0, level)) for level in levels)
        sample = sample_of(problem)
        whims = [Whimsical(7, 0.3)]
        evaluator = Evaluator(sample, whims, model_of(quality, names_of(problem)), 1.0)
        straight = evaluator.evaluate(levels, sample.table, score=True)[0]
        lower = keep(evaluator.evaluate(between, sample.table)[1])
        assert evaluator.evaluate(levels, lower, score=True)[0] == straight

    check()


@pytest.mark.parametrize("name", MODELS)
def test_keys_of_several_machine_words(name):
    rng = random.Random(5)
    tables = [[[v, f"{v in 'ab'}", "*"] for v in "abcde"] for _ in range(23)]  # 69 bits
    pool = [tuple(rng.choice("abcd") for _ in tables) for _ in range(12)]
    rows = [rng.choice(pool) for _ in range(40)]
    problem = oracle.Problem(rows, tables, {"S": [rng.choice("xyz") for _ in rows]})
    losses = [[0, 0.5, 2] for _ in tables]
    quality = oracle.Quality(name, losses=losses, responses=["S", 0, 22], aggregate="sum")
    assert len(sample_of(problem).table.keys) == 2
    for _ in range(3):
        levels = tuple(rng.choice([0, 1, 2]) for _ in tables)
        assert_agrees(problem, quality, levels, 3)
