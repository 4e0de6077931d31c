"""Score functions: what the paper defines, and bounds on what one record changes that hold for all small tables."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp import definitions
from support.dp.definitions import DEFINITIONS, Hierarchies, Levels, Table, sloped
from support.dp.scores import NAMES, THREE, TWO, encoding_of, function_of, scores_of
from support.dp.stochastic import neighbouring_pairs
from support.refusals import refused
from veil import quality
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, roll_up
from veil.dp.scores import RetentionScore, score_function
from veil.errors import PlanError

WITHOUT_ROOT = [["a", "x"], ["b", "x"], ["c", "z"]]


@st.composite
def problems(draw: st.DrawFn) -> tuple[Hierarchies, Table]:
    hierarchies = draw(
        st.lists(st.sampled_from([TWO, THREE, WITHOUT_ROOT, [["a"], ["b"]]]), min_size=1, max_size=3)
    )
    record = st.tuples(*(st.sampled_from([row[0] for row in rows]) for rows in hierarchies))
    return hierarchies, draw(st.lists(record, min_size=1, max_size=25))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(problem=problems(), k=st.integers(1, 6))
def test_with_a_step_scores_are_those_of_bild_kuhn_and_prasser_definitions_4_to_8(name, problem, k):
    hierarchies, table = problem
    define, larger = DEFINITIONS[name]
    constant = larger(len(table), len(hierarchies))
    function = function_of(name, encoding_of(hierarchies), RetentionScore.below(k))
    for levels, score in scores_of(function, table, hierarchies).items():
        assert score == define(table, hierarchies, levels, k) + constant


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(problem=problems(), low=st.integers(0, 6), width=st.integers(1, 8))
def test_with_a_slope_scores_are_the_sums_over_classes_that_the_module_states(name, problem, low, width):
    hierarchies, table = problem
    function = function_of(name, encoding_of(hierarchies), RetentionScore(low, low + width))
    for levels, score in scores_of(function, table, hierarchies).items():
        assert score == sloped(name, table, hierarchies, levels, low, low + width)


# --- what one record changes --------------------------------------------------------------------------

UNIVERSES: list[tuple[Hierarchies, int]] = [([THREE], 7), ([TWO, TWO], 5), ([THREE, TWO], 4)]


@functools.cache
def changes(name: str, retention: RetentionScore, universe: int) -> list[tuple[Fraction, Fraction]]:
    """The least and the largest change of a score over all schemes, for every pair of neighbours."""
    hierarchies, largest = UNIVERSES[universe]
    function = function_of(name, encoding_of(hierarchies), retention)
    records = list(itertools.product(*([row[0] for row in rows] for rows in hierarchies)))
    known: dict[Table, dict[Levels, Fraction]] = {}
    found = []
    for more, less in neighbouring_pairs(records, largest):
        for table in (more, less):
            if table not in known:
                known[table] = scores_of(function, table, hierarchies)
        change = [known[more][levels] - known[less][levels] for levels in known[more]]
        found.append((min(change), max(change)))
    return found


@pytest.mark.parametrize(
    "retention",
    [RetentionScore.below(k) for k in (1, 2, 3, 4)] + [RetentionScore(1, 3), RetentionScore(0, 4)],
    ids=str,
)
@pytest.mark.parametrize("name", NAMES)
def test_one_record_changes_no_score_by_more_than_is_proved(name, retention):
    for universe, (hierarchies, _) in enumerate(UNIVERSES):
        function = function_of(name, encoding_of(hierarchies), retention)
        assert function.spread <= 2 * max(abs(function.least), function.most)
        for least, most in changes(name, retention, universe):
            assert function.least <= least
            assert most <= function.most
            assert most - least <= function.spread


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_one_record_changes_published_scores_by_the_sensitivity_of_theorems_6_to_9(name, k):
    for universe, (hierarchies, _) in enumerate(UNIVERSES):
        m = len(hierarchies)
        function = function_of(name, encoding_of(hierarchies), RetentionScore.below(k))
        # Veil's form is larger by a constant for each record.
        constant = DEFINITIONS[name][1](1, m)
        bound = function.published(k, m)
        for least, most in changes(name, RetentionScore.below(k), universe):
            assert max(abs(least - constant), abs(most - constant)) <= bound
        assert function.spread <= 2 * bound


@pytest.mark.parametrize(
    ("name", "universe", "retention", "attained"),
    [
        ("GroupSize", 0, RetentionScore.below(3), 1),
        ("GroupSize", 0, RetentionScore(0, 4), Fraction(1, 4)),
        ("Classification", 1, RetentionScore.below(3), 3),
        ("Classification", 1, RetentionScore(1, 3), Fraction(3, 2)),
        ("Granularity", 1, RetentionScore.below(3), 3),  # of 6: each value covers half of its domain
        ("Intensity", 1, RetentionScore.below(3), 6),
    ],
)
def test_what_is_proved_is_reached(name, universe, retention, attained):
    """A smaller bound would be wrong: some neighbours differ by as much."""
    hierarchies = UNIVERSES[universe][0]
    assert max(most for _, most in changes(name, retention, universe)) == attained
    bound = function_of(name, encoding_of(hierarchies), retention).most
    assert bound == attained * (2 if name == "Granularity" else 1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=6),
    st.integers(0, 6),
    st.integers(1, 8),
    st.data(),
)
def test_change_of_discernibility_and_entropy_holds_far_beyond_small_universes(sizes, low, width, data):
    """One attribute without levels: its values are the classes, in any sizes."""
    times = data.draw(st.integers(1, 40))
    values = [chr(ord("a") + i) for i in range(len(sizes) + 1)]
    hierarchies = [[[value, "*"] for value in values]]
    less = [(value,) for value, size in zip(values, sizes, strict=False) for _ in range(size * times)]
    more = [*less, (data.draw(st.sampled_from(values)),)]
    for name in ("Discernibility", "Entropy"):
        function = function_of(
            name, encoding_of(hierarchies), RetentionScore(low * times, (low + width) * times)
        )
        before, after = (scores_of(function, each, hierarchies)[(0,)] for each in (less, more))
        assert function.least <= after - before <= function.most


# --- retention ----------------------------------------------------------------------------------------


@given(st.integers(0, 20), st.integers(1, 30))
def test_weights_grow_by_nothing_or_from_one_to_the_steepness(low, width):
    retention = RetentionScore(low, low + width)
    weights = [retention.weight(size) for size in range(low + width + 5)]
    for size, weight in enumerate(weights):
        assert weight == definitions.weight(size, low, low + width) <= size
    steps = {after - before for before, after in itertools.pairwise(weights)}
    assert all(step == 0 or 1 <= step <= retention.steepness for step in steps)
    assert max(steps) == retention.steepness


def test_a_retention_that_falls_is_refused():
    with pytest.raises(ValueError, match="`low`"):
        RetentionScore(3, 3)


# --- exactness, choice --------------------------------------------------------------------------------


def test_sums_are_exact_beyond_64_bits():
    """Ten billion people in two classes: squares of their number have 67 bits."""
    encoding = encoding_of([TWO])
    sizes = np.array([7 * 10**9, 3 * 10**9], np.int64)
    keys = (np.array([0, 1], np.uint64),)
    retention = RetentionScore(50, 150)
    table = ClassTable((0,), keys, (sizes,), ())
    entropy = function_of("Entropy", encoding, retention).score(table)
    assert entropy == function_of("Discernibility", encoding, retention).score(table) == Fraction(42 * 10**8)


def test_several_responses_count_alike():
    hierarchies = [TWO, TWO, THREE]
    encoding, retention = encoding_of(hierarchies), RetentionScore(1, 3)
    table = [
        ("a", "b", "c"),
        ("a", "b", "a"),
        ("b", "b", "a"),
        ("b", "a", "a"),
        ("b", "a", "a"),
        ("a", "b", "a"),
    ] * 2
    both = score_function(quality.Classification(["q0", "q1"]), encoding, retention)
    single = [score_function(quality.Classification([name]), encoding, retention) for name in ("q0", "q1")]
    together, *alone = (scores_of(each, table, hierarchies) for each in (both, *single))
    for levels, score in together.items():
        assert score == (alone[0][levels] + alone[1][levels]) / 2
    assert both.spread == single[0].spread


def test_keys_of_several_words_are_voted_on_alike():
    """Eight attributes of 300 values need 72 bits: two words."""
    rows = [[str(i), "*"] for i in range(300)]
    rng = np.random.default_rng(1)
    table = [("0", *(str(v) for v in rng.integers(0, 2, 7))) for _ in range(60)]
    table = [(str(i % 2 + i % 3), *record[1:]) for i, record in enumerate(table)]
    hierarchies = [rows] * 8
    function = function_of("Classification", encoding_of(hierarchies), RetentionScore(1, 4))
    assert function.encoding.words == 2
    levels = (0, 0, 1, 1, 0, 1, 1, 1)
    places = [{row[0]: i for i, row in enumerate(rows)} for rows in hierarchies]
    codes = [np.array([p[record[j]] for record in table], np.int32) for j, p in enumerate(places)]
    sample = Sample(function.encoding, codes)
    found = function.score(roll_up(function.encoding, sample.table, levels, sample.workspace()))
    assert found == sloped("Classification", table, hierarchies, levels, 1, 4) > 0


def test_quality_models_without_a_score_function_are_refused_with_those_that_have_one():
    encoding = encoding_of([TWO])
    with refused(
        PlanError, "AverageClassSize, Classification", "Discernibility, Loss", "NonUniformEntropy, Precision"
    ):
        score_function(quality.KullbackLeibler(), encoding, RetentionScore.below(2))


def test_further_parameters_of_a_quality_model_are_refused():
    encoding = encoding_of([TWO])
    with refused(PlanError, "no other parameters", "Loss"):
        score_function(quality.Loss(factor=0.9), encoding, RetentionScore.below(2))
    with refused(PlanError, "no other parameters", "Classification"):
        score_function(quality.Classification(["q0"], factor=0.9), encoding, RetentionScore.below(2))


def test_a_response_that_is_not_published_is_refused():
    with refused(PlanError, "response 'q7'", "from: 'q0'"):
        score_function(quality.Classification(["q7"]), encoding_of([TWO]), RetentionScore.below(2))


def test_spreads_in_numbers():
    """For five attributes and k = 100: half of what twice the published sensitivity would be, or close to it."""
    encoding = encoding_of([TWO] * 5)
    hard, soft = RetentionScore.below(100), RetentionScore(50, 150)
    spreads = {
        name: (function_of(name, encoding, hard).spread, function_of(name, encoding, soft).spread)
        for name in NAMES
    }
    assert spreads == {
        "Granularity": (500, Fraction(15, 2)),
        "Intensity": (500, Fraction(15, 2)),
        "Discernibility": (101, Fraction(5, 2)),
        "Entropy": (1000, 15),
        "GroupSize": (1, Fraction(1, 100)),
        "Classification": (100, Fraction(3, 2)),
    }
    assert math.isclose(
        function_of("Discernibility", encoding, hard).published(100, 5), 102.0101, rel_tol=1e-6
    )
