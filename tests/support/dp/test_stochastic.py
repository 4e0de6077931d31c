"""The tester is tested: it finds the faults it is there for, and nothing else."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.stochastic import (
    exceeds,
    find_violation,
    lower_bound,
    neighbouring_pairs,
    neighbours,
    upper_bound,
)

PAIRS = list(neighbouring_pairs("ab", 3))


def noisy_count(epsilon: float, source: random.Random) -> Callable[[tuple[str, ...]], int]:
    """Count the records "a", with two-sided geometric noise for the given epsilon."""

    def geometric() -> int:
        return math.floor(math.log(1 - source.random()) / -epsilon)

    return lambda dataset: dataset.count("a") + geometric() - geometric()


def randomized_response(truth: float, source: random.Random) -> Callable[[tuple[str, ...]], bool]:
    return lambda dataset: ("a" in dataset) == (source.random() < truth)


def test_a_right_mechanism_passes_and_one_with_too_little_noise_is_caught():
    assert find_violation(noisy_count(1.0, random.Random(1)), PAIRS, 1, runs=3000) is None
    violation = find_violation(noisy_count(1.6, random.Random(1)), PAIRS, 1, runs=3000)
    assert violation is not None
    assert violation.at_least > math.e * violation.at_most
    assert abs(len(violation.first) - len(violation.second)) == 1
    assert "has a probability" in str(violation)


def test_a_mechanism_is_caught_as_soon_as_its_odds_exceed_the_factor():
    pairs = [(("a",), ())]
    honest = 3 / 4  # odds of 3 to 1
    assert (
        find_violation(randomized_response(honest, random.Random(2)), pairs, math.log(3), runs=20_000) is None
    )
    assert find_violation(randomized_response(honest, random.Random(2)), pairs, math.log(2.5), runs=20_000)


def test_delta_is_granted_and_no_more():
    source = random.Random(3)

    def rarely_tells_all(dataset: tuple[str, ...]) -> object:
        return dataset if source.random() < 0.2 else "nothing"

    assert find_violation(rarely_tells_all, PAIRS, 1, 0.22, runs=4000) is None
    assert find_violation(rarely_tells_all, PAIRS, 1, 0.1, runs=4000)
    assert find_violation(rarely_tells_all, PAIRS, 2, runs=4000)  # no epsilon makes up for certainty


def test_a_deterministic_mechanism_is_caught_in_either_direction():
    for pairs in ([(("a",), ())], [((), ("a",))]):
        found = find_violation(lambda dataset: len(dataset) or "none", pairs, 3, runs=3000)
        assert found is not None


def test_false_alarms_are_as_rare_as_promised():
    """At the very limit of what is allowed, with an alarm rate of 1/5: at most 1/5 of the trials may sound.

    Of 200 trials 67 or more sound with a chance below 1e-5 if the rate is kept.
    """
    pairs = [(("a",), ())]
    alarms = sum(
        find_violation(
            randomized_response(3 / 4, random.Random(seed)), pairs, math.log(3), runs=400, alarm=0.2
        )
        is not None
        for seed in range(200)
    )
    assert alarms < 67


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.data(), st.sampled_from(["1/3", "1/20", "1/1000000"]))
def test_bounds_are_those_of_clopper_and_pearson(trials, data, text):
    successes, level = data.draw(st.integers(0, trials)), Fraction(text)

    def at_most(p: Fraction) -> Fraction:
        return sum(comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(successes + 1))

    high = upper_bound(successes, trials, level)
    if successes == trials:
        assert high == 1
    else:
        assert at_most(high) <= level < at_most(high - Fraction(1, 1 << 40))
    assert lower_bound(successes, trials, level) == 1 - upper_bound(trials - successes, trials, level)


def test_what_lies_exactly_on_the_line_is_no_violation():
    assert not exceeds(Fraction(1, 2), Fraction(1, 2), 0, 0)
    assert exceeds(Fraction(1, 2), Fraction(1, 2) - Fraction(1, 10**30), 0, 0)
    assert not exceeds(Fraction(1, 2), Fraction(1, 4), 0, "1/4")


@pytest.mark.parametrize("largest", [1, 3])
def test_every_pair_of_neighbours_comes_once(largest):
    pairs = list(neighbouring_pairs("abc", largest))
    assert len(pairs) == len(set(pairs))
    sizes = [comb(size + 2, 2) for size in range(largest)]  # multisets of each size
    assert len(pairs) == 3 * sum(sizes)  # each of them grows by one of three records
    for more, less in pairs:
        assert len(Counter(more) - Counter(less)) == 1
        assert not Counter(less) - Counter(more)
        assert less in set(neighbours(more, "abc"))
        assert more in set(neighbours(less, "abc"))
