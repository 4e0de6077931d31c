"""Random choices have exactly the probabilities they should have; noise is as large as its budget asks for."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.dp.stochastic import find_violation, neighbouring_pairs
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.dp.mechanisms import ExponentialChoice, exponential, gaussian, geometric, laplace
from veil.dp.symbolic import Symbolic
from veil.errors import MissingDependencyError, ParameterError

ALARM = 1e-6
"""Chance that a test of frequencies fails although nothing is wrong."""


def surprise(counts: Sequence[int], probabilities: Sequence[float]) -> float:
    """The chance of frequencies that are at least as far off: Pearson's chi-squared."""
    trials, total = sum(counts), math.fsum(probabilities)
    expected = [trials * p / total for p in probabilities]
    assert min(expected) >= 5
    statistic = math.fsum((seen - e) ** 2 / e for seen, e in zip(counts, expected, strict=True))
    with ctx.workprec(64):
        return float(arb(statistic / 2).gamma_upper(s=arb(len(counts) - 1) / 2, regularized=1))


def filled(
    scores: Iterable[int | Fraction],
    epsilon: object = 1,
    sensitivity: int | Fraction = 1,
    seed: int | None = None,
) -> ExponentialChoice[int]:
    randomness = Randomness() if seed is None else Randomness.for_testing(seed)
    choice = ExponentialChoice[int](epsilon, sensitivity, randomness)
    for place, score in enumerate(scores):
        choice.add(place, score)
    return choice


class Digits(Randomness):
    """Given digits first, then zeros or ones for ever."""

    is_private = False

    def __init__(self, words: Iterable[int], then: int = 0) -> None:
        self.words, self.then = list(words), then
        self.drawn = 0

    def bits(self, size: int) -> NDArray[np.uint64]:
        self.drawn += size
        taken = [self.words.pop(0) if self.words else self.then for _ in range(size)]
        return np.array(taken, np.uint64)


# --- probabilities --------------------------------------------------------------------------------


def test_frequencies_are_those_of_the_exponential_mechanism_and_a_wrong_scale_is_seen():
    scores = [Fraction(i * i, 7) for i in range(12)]
    choice = filled(scores, epsilon="1/2", sensitivity=Fraction(3, 2))
    seen = Counter(choice.draw() for _ in range(20_000))
    counts = [seen[i] for i in range(12)]

    def weights(rate: float) -> list[float]:
        return [math.exp(rate * float(score)) for score in scores]

    assert surprise(counts, weights(1 / 6)) > ALARM
    assert surprise(counts, weights(1 / 6 * 1.08)) < ALARM
    assert surprise(counts, weights(1 / 6 / 1.08)) < ALARM
    assert surprise(counts, weights(1 / 3)) < ALARM  # without the 2 in 2 * sensitivity


def test_frequencies_are_those_of_opendp():
    """Its noisy maximum with Gumbel noise is the same distribution."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    scores = [0, 3, 4, 7, 8, 8]
    opendp = measurements.make_noisy_max(
        domains.vector_domain(domains.atom_domain(T="i64")),
        metrics.linf_distance(T="i64"),
        measures.zero_concentrated_divergence(),
        scale=4.0,  # 2 * sensitivity / epsilon
    )
    theirs = Counter(opendp(scores) for _ in range(6000))
    choice = filled(scores, epsilon=1, sensitivity=2)
    ours = Counter(choice.draw() for _ in range(6000))
    expected = [math.exp(score / 4) for score in scores]
    assert surprise([theirs[i] for i in range(6)], expected) > ALARM
    assert surprise([ours[i] for i in range(6)], expected) > ALARM


def test_the_mechanism_keeps_its_promise_and_half_the_sensitivity_does_not():
    def most_frequent(sensitivity: Fraction) -> Callable[[tuple[str, ...]], str]:
        randomness = Randomness.for_testing(11)

        def run(dataset: tuple[str, ...]) -> str:
            scores: dict[str, int | Fraction] = {"b": 2 * dataset.count("b"), "a": -2 * len(dataset)}
            return exponential(scores, sensitivity, "ln(3)", randomness)

        return run

    pairs = list(neighbouring_pairs("bc", 2))
    assert find_violation(most_frequent(Fraction(2)), pairs, math.log(3), runs=2500) is None
    assert find_violation(most_frequent(Fraction(1, 2)), pairs, math.log(3), runs=2500) is not None


# --- against the definition, with the same random digits ------------------------------------------


def twin(weights: Sequence[Fraction], randomness: Randomness) -> int:
    """The place that an infinite sequence of digits points to: fractions, and as many digits as it takes."""
    total, number, unit = sum(weights), Fraction(0), Fraction(1)
    while True:
        unit /= 2**64
        number += int(randomness.bits(1)[0]) * unit
        end = Fraction(0)
        for place, weight in enumerate(weights):
            start, end = end, end + weight
            if start <= number * total and (number + unit) * total <= end:
                return place


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=12),
    st.integers(0, 2**32),
    st.lists(st.integers(0, 11), max_size=4),
)
def test_draws_are_those_of_the_definition(scores, seed, removed):
    # Weights of 2^score: rational, so that fractions can follow.
    choice = filled(scores, epsilon="2*ln(2)", seed=seed)
    for each in removed:
        if each in choice and len(choice) > 1:
            choice.remove(each)
    randomness = Randomness.for_testing(seed)
    weights = [Fraction(2) ** scores[each] for each in choice.candidates]
    for _ in range(5):
        assert choice.draw() == choice.candidates[twin(weights, randomness)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=6), st.data())
def test_digits_on_the_edge_are_decided_by_those_that_follow(scores, data):
    """Digits start with those of a border between two candidates; only later ones tell on which side."""
    weights = [Fraction(2) ** score for score in scores]
    border = sum(weights[: data.draw(st.integers(0, len(scores)))]) / sum(weights)
    first = min(math.floor(border * 2**64), 2**64 - 1)
    second = math.floor(border * 2**128) % 2**64
    second = min(max(0, second + data.draw(st.integers(-1, 1))), 2**64 - 1)
    words = [first, second, data.draw(st.integers(0, 2**64 - 1)), data.draw(st.integers(0, 2**64 - 1))]
    choice = ExponentialChoice[int]("2*ln(2)", 1, Digits(words, then=3))
    for place, score in enumerate(scores):
        choice.add(place, score)
    assert choice.draw() == twin(weights, Digits(words, then=3))


@pytest.mark.parametrize(("then", "place"), [(1, 1), (2**64 - 1, 1)])
def test_one_half_belongs_to_the_second_of_two_equals(then, place):
    source = Digits([2**63, 0, 0, 0], then)
    choice = ExponentialChoice[int](1, 1, source)
    choice.add(0, Fraction(1, 3))
    choice.add(1, Fraction(1, 3))
    assert choice.draw() == place
    assert source.drawn >= 5  # not before a digit other than 0 has come


def test_the_quick_answer_is_the_thorough_one():
    source = np.random.default_rng(5)
    scores = [Fraction(int(each), 30162) for each in source.integers(0, 10**6, 400)]
    choice = filled(scores, epsilon="0.1", seed=4)
    chosen = [choice.draw() for _ in range(30)]
    digits = [int(each) for each in Randomness.for_testing(4).bits(30)]
    assert len(set(chosen)) > 10
    assert chosen == [choice._decide(each) for each in digits]


# --- extremes -------------------------------------------------------------------------------------


def test_scores_far_apart_neither_overflow_nor_vanish():
    choice = filled([0], epsilon=2, seed=1)
    assert choice.draw() == 0
    for place, score in ((1, 10**4), (2, 10**6), (3, -(10**6))):
        choice.add(place, score)
        assert choice.draw() == (place if score > 0 else 2)
    choice.remove(2)
    assert choice.draw() == 1
    choice.remove(1)
    assert choice.draw() == 0
    choice.remove(0)
    assert choice.draw() == 3
    choice.add(4, -(10**6))
    assert {choice.draw() for _ in range(60)} == {3, 4}


def test_what_was_too_little_to_count_counts_when_nothing_better_is_left():
    choice = filled([1000, 1, 0, -1], epsilon="2*ln(2)", seed=6)  # weights 1, 2^-999, 2^-1000 and 2^-1001
    assert choice.draw() == 0
    choice.remove(0)
    seen = Counter(choice.draw() for _ in range(2000))
    assert surprise([seen[i] for i in (1, 2, 3)], [4, 2, 1]) > ALARM


def test_huge_and_close_scores_are_told_apart():
    base = 10**40
    choice = filled([base, base + 1, base], epsilon="2*ln(2)")
    counts = Counter(choice.draw() for _ in range(4000))
    assert surprise([counts[i] for i in range(3)], [1, 2, 1]) > ALARM


def test_candidates_come_and_go():
    choice = filled(range(100), epsilon=Symbolic.read("ln(2)/10"), seed=3)
    for place in range(0, 100, 2):
        choice.remove(place)
        choice.add(-place - 1, place)
    assert len(choice) == 100
    assert 2 not in choice
    assert -3 in choice
    assert sorted(choice.candidates) == [*range(-99, 0, 2), *range(1, 100, 2)]
    seen = Counter(choice.draw() for _ in range(20_000))
    order = sorted(choice.candidates)
    scores = [-place - 1 if place < 0 else place for place in order]
    assert surprise([seen[place] for place in order], [2 ** (score / 20) for score in scores]) > ALARM


def test_what_cannot_be_is_refused():
    choice = filled([1])
    with refused(ParameterError, "0 is already"):
        choice.add(0, 5)
    with refused(ParameterError, "'x'", "not a candidate"):
        choice.remove("x")  # type: ignore[arg-type]
    with refused(ParameterError, "no candidates"):
        filled([]).draw()
    with refused(ParameterError, "`sensitivity`", "greater than 0", "not 0"):
        ExponentialChoice(1, 0)
    with refused(ParameterError, "`epsilon`", "greater than 0", "not -1"):
        ExponentialChoice(-1, 1)


def test_randomness_is_the_operating_systems_unless_a_test_says_otherwise():
    runs = [tuple(filled([0] * 50, seed=seed).draw() for _ in range(1)) for seed in (1, 1)]
    assert runs[0] == runs[1]
    choices = [filled([0] * 1000) for _ in range(2)]
    assert [choices[0].draw() for _ in range(20)] != [choices[1].draw() for _ in range(20)]


# --- noise ----------------------------------------------------------------------------------------


def test_geometric_noise_has_its_distribution_and_a_wrong_scale_is_seen():
    epsilon, sensitivity, runs = 1.2, 2, 6000
    seen = Counter(geometric(10, sensitivity, epsilon) - 10 for _ in range(runs))

    def off(scale: float) -> float:
        near = range(-6, 7)
        shares = [math.exp(-abs(i) / scale) for i in near]
        inside = math.fsum(shares)
        everything = (1 + math.exp(-1 / scale)) / (1 - math.exp(-1 / scale))
        counts = [seen[i] for i in near]
        return surprise([*counts, runs - sum(counts)], [*shares, everything - inside])

    assert off(sensitivity / epsilon) > ALARM
    assert off(sensitivity / epsilon * 1.15) < ALARM
    assert off(sensitivity / epsilon / 1.15) < ALARM


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_has_its_distribution_and_a_wrong_scale_is_seen(kind):
    runs, bins = 10_000, 20
    if kind == "laplace":
        noise = [laplace(0.0, 3, "ln(2)") for _ in range(runs)]
        scale = 3 / math.log(2)

        def below(x: float) -> float:
            return 1 - math.exp(-x) / 2 if x > 0 else math.exp(x) / 2
    else:
        noise = [gaussian(0.0, 3, 1, 1e-6) for _ in range(runs)]
        scale = 3 * 4.224679  # the least for epsilon = 1 and delta = 1e-6 (Balle and Wang 2018)

        def below(x: float) -> float:
            return (1 + math.erf(x / math.sqrt(2))) / 2

    def off(factor: float) -> float:
        counts = Counter(min(bins - 1, int(below(each / (scale * factor)) * bins)) for each in noise)
        return surprise([counts[i] for i in range(bins)], [1.0] * bins)

    assert off(1) > ALARM
    assert off(1.15) < ALARM
    assert off(1 / 1.15) < ALARM


def test_noise_lies_around_the_value():
    assert abs(laplace(1e9, 1, 10) - 1e9) < 100
    assert abs(geometric(2**50, 1, 10) - 2**50) < 100
    assert abs(gaussian(-1e9, 1, 10, 1e-3) + 1e9) < 100


@pytest.mark.parametrize("epsilon", ["1/3", "ln(2)", 0.1, 1, 3.7, "1e-6"])
@pytest.mark.parametrize("sensitivity", [1, 7])
def test_opendp_certifies_the_budget_that_was_asked_for(epsilon, sensitivity):
    from veil.dp import mechanisms

    budget, reach = Symbolic.read(epsilon), Symbolic.read(sensitivity)
    for kind, distance in (("f64", float(sensitivity)), ("i64", sensitivity)):
        certified = mechanisms._laplace(kind, reach, budget).map(distance)
        assert Symbolic(Fraction(certified)) <= budget
        assert certified > float(budget) * (1 - 1e-12)


def test_noise_with_a_seed_is_refused():
    seeded = Randomness.for_testing(1)
    with refused(ParameterError, "with a seed"):
        laplace(1.0, 1, 1, randomness=seeded)
    with refused(ParameterError, "with a seed"):
        geometric(1, 1, 1, randomness=seeded)
    with refused(ParameterError, "with a seed"):
        gaussian(1.0, 1, 1, 0.1, randomness=seeded)
    assert isinstance(geometric(1, 1, 1, randomness=Randomness()), int)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laplace(1.0, 0, 1), "`sensitivity` should be greater than 0, not 0"),
        (lambda: laplace(1.0, 1, 0), "`epsilon` should be greater than 0, not 0"),
        (lambda: laplace(math.nan, 1, 1), "`value` should be a finite number, not nan"),
        (lambda: laplace(10**400, 1, 1), "`value` should be a finite number, not 1000"),
        (lambda: laplace("12", 1, 1), "`value` should be a finite number, not '12'"),
        (lambda: laplace(1.0, 1, "1e400"), "numbers go from 1e-300 to 1e300"),
        (lambda: geometric(1, 10**5000, 1), "`sensitivity` .* not one of thousands of digits"),
        (lambda: laplace(1.0, 1, "1e-300"), "beyond what a double can hold"),
        (lambda: geometric(1.5, 1, 1), "`value` should be a whole number .* not 1.5"),
        (lambda: geometric(1, 2**63, 1), "`sensitivity` should be a whole number"),
        (lambda: geometric(1, -1, 1), "`sensitivity` should be greater than 0, not -1"),
        (lambda: gaussian(1.0, 1, 1, 0), "`delta` should be greater than 0, not 0"),
        (lambda: gaussian(1.0, 1, 1, 1), "`delta` should be below 1, not 1"),
    ],
)
def test_parameters_of_noise_are_checked(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_opendp_is_imported_only_when_used_and_its_absence_explained(monkeypatch):
    code = "import sys, veil.dp.mechanisms; assert not [m for m in sys.modules if m.startswith('opendp')]"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})
    from veil.dp import mechanisms

    mechanisms._laplace.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(MissingDependencyError, match=r"veil-anonymizer\[noise\]"):
        laplace(1.0, 1, 1)
