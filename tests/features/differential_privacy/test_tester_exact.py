"""Answers whose chances are computed, where a tester would have to draw too often; a scale of 0.8 must be caught.

The questions are made and answered by the code that sessions use. Only what is drawn is replaced: by each number that could
be drawn, with its chance.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from flint import arb, ctx

from support.dp.asking import RECORDS, Ask, Table, make_question, respond
from support.dp.stochastic import neighbouring_pairs
from veil.base.exact import ball
from veil.base.randomness import Randomness
from veil.dp import Gaussian, StepNoise
from veil.dp.mechanisms import Candidate, ExponentialChoice
from veil.dp.noise import Noise
from veil.dp.noisy_vector import VectorNoise, _Each, noise_for
from veil.dp.symbolic import Symbolic
from veil.questions.mechanisms import counting, quantiles, totals
from veil.questions.mechanisms.question import Question

NARROW = "5/2"
"""Noise of this epsilon has a scale of 0.8, where 2 was paid."""

Chances = dict[Any, arb]
"""Of each of some events; every ball holds the chance for certain."""


@pytest.fixture(autouse=True)
def _enough_bits() -> Iterator[None]:
    with ctx.workprec(128):
        yield


def largest_log_ratio(chances: Callable[[Table], Chances], pairs: Iterable[tuple[Table, Table]]) -> arb:
    """Return how much likelier one of the events is on one of two neighbours than on the other."""
    couples = list(pairs)
    known = {table: chances(table) for table in set(itertools.chain(*couples))}
    return max(
        abs((known[one][event] / known[other][event]).log()) for one, other in couples for event in known[one]
    )


# --- noise that is replayed -----------------------------------------------------------------------


class Replayed:
    """Noise that is what it is told to be."""

    def __init__(self, noise: VectorNoise) -> None:
        self.name, self.noise, self.drawn = noise.name, noise, [0, 0]

    def draw(self, randomness: Randomness | None) -> list[int]:
        return self.drawn

    def half_width(self, number: int, confidence: float) -> float:
        raise NotImplementedError


def chance_up_to(noise: Noise, number: int) -> arb:
    return noise.tail(-number) / 2 if number < 0 else 1 - noise.tail(number + 1) / 2


def chance_of_both(noise: VectorNoise, limit: int, number: int) -> arb:
    """Return the chance that the first noise of two is not above a limit, and the second a given number."""
    if isinstance(noise, _Each):
        first, second = noise._noises
        return chance_up_to(first, limit) * (chance_up_to(second, number) - chance_up_to(second, number - 1))
    assert isinstance(noise, StepNoise)
    total = arb(0)
    for box, chance in enumerate(chances_of_boxes(noise)):
        first_end, second_end = (z + box * s - 1 for z, s in zip(noise._core, noise._steps, strict=True))
        if abs(number) <= second_end:
            below = max(0, min(limit, first_end) + first_end + 1)
            points = (2 * first_end + 1) * (2 * second_end + 1)
            total += chance * ball(Fraction(below, points))
    return total


@functools.cache
def chances_of_boxes(noise: StepNoise) -> list[arb]:
    return [noise._tail(box) - noise._tail(box + 1) for box in range(40)]


def replayed(
    ask: Ask, price: object, monkeypatch: pytest.MonkeyPatch, neighbours: str = "one more or less"
) -> tuple[Question, Replayed]:
    """Make a question, and return the noise that will be added."""
    made: list[Replayed] = []

    def replaying(*given: Any) -> Replayed:
        made.append(Replayed(noise_for(*given)))
        return made[-1]

    for room in (counting, totals):
        monkeypatch.setattr(room, "noise_for", replaying)
    return make_question(ask, neighbours, price), made[-1]


# --- means of a noisy number ----------------------------------------------------------------------


FAR = 2**24
"""More steps than noise ever has."""


def means(noise: str, epsilon: object, monkeypatch: pytest.MonkeyPatch) -> Callable[[Table], Chances]:
    """Return the chances that the mean comes out as its lower bound, 0, and that it is above."""

    def ask(asked: Any, price: Any) -> Any:
        return asked.mean("x", epsilon=price, noise=noise)

    question, replay = replayed(ask, epsilon, monkeypatch)

    def chances(table: Table) -> Chances:
        zero = seen = arb(0)
        for number in range(-20, 21):
            # Means rise with the noise of the sum: with the least of it they are 0, with the most above.
            low, high = -FAR, FAR
            while high - low > 1:
                replay.drawn = [(low + high) // 2, number]
                is_low = respond(question, table) <= 0
                low, high = (replay.drawn[0], high) if is_low else (low, replay.drawn[0])
            zero += chance_of_both(replay.noise, low, number)
            seen += chance_of_both(replay.noise, FAR, number)
        missed = (1 - seen) / 2  # numbers, and boxes, that have next to no chance
        zero += missed + arb(0, missed)
        return {"0": zero, "above": 1 - zero}

    return chances


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "staircase", "step"])
def test_means_of_a_noisy_number(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise is attained by the noisy sum and the noisy number together, and by their quotient with step noise alone.

    A mean of records of 3 alone that comes out as 0 is least likely for its price: of n of them, the chance is about
    e^(-n epsilon), times n and a constant, for the ways in which the two noises bring that about together. So it takes some
    records to come close to the price, and then a tester would have to wait too long for the answer to occur at all.
    """
    pairs = [*neighbouring_pairs(RECORDS, 1), *(((3,) * n, (3,) * (n + 1)) for n in (1, 2, 3))]
    # Step noise attains it even so, where its balls lie around 2.
    assert 1.5 < largest_log_ratio(means(noise, 2, monkeypatch), pairs) < 2 + 1e-12
    assert largest_log_ratio(means(noise, NARROW, monkeypatch), pairs) > 2


# --- Gaussian noise -------------------------------------------------------------------------------


def least_delta(epsilon: object, monkeypatch: pytest.MonkeyPatch) -> arb:
    """Return the delta that a sum with Gaussian noise of an epsilon, and a delta of 1/20, keeps for an epsilon of 1.

    Chances of Gaussian noise around two truths have a ratio that falls along the line, so that the events to look at are
    those of results that are not above a number.
    """
    question, noise = replayed(
        lambda asked, price: asked.sum("x", epsilon=price, delta="1/20", noise="gaussian"),
        epsilon,
        monkeypatch,
    )
    assert question.bounded is not None
    assert isinstance(noise.noise, _Each)
    (gaussian,), step = noise.noise._noises, question.bounded.step
    lower, higher = (int(Fraction(respond(question, table)) / step) for table in ((), (3,)))
    assert higher - lower == 3 / step
    limits = range(lower - 2 * higher, higher, higher // 100)
    return max(
        chance_up_to(gaussian, limit - lower) - arb(1).exp() * chance_up_to(gaussian, limit - higher)
        for limit in limits
    )


def test_sums_with_gaussian_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise is attained. Of 0.8 of the scale, as noise of epsilon = 1.42 has, the delta is .1056 in place of .05.

    That is a difference of chances, not a factor, which takes a tester some 30,000 runs.
    """
    ratio = Gaussian(3, "1.42", "1/20").sigma / Gaussian(3, 1, "1/20").sigma
    assert ratio == pytest.approx(0.8, abs=1e-4)
    assert 0.0499 < least_delta(1, monkeypatch) <= ball(Fraction(1, 20))
    assert least_delta("1.42", monkeypatch) > 0.1


# --- prices in rho --------------------------------------------------------------------------------


def rho_kept(ask: Ask, rho: str, neighbours: str, monkeypatch: pytest.MonkeyPatch) -> arb:
    """Return half of the Rényi divergence of order 2 between the answers on two neighbours: at most rho, if it is kept.

    Answers are truths and noise, in steps. Of noise that is drawn for each, divergences add up. Looked at are intervals of
    answers, which tell no more than the answers.
    """
    question, noise = replayed(ask, rho, monkeypatch, neighbours)
    assert isinstance(noise.noise, _Each)

    def steps(table: Table, drawn: int) -> list[int]:
        noise.drawn = [drawn] * len(RECORDS)
        value, step = respond(question, table), question.bounded.step if question.bounded else 1
        numbers = value.values() if isinstance(value, dict) else [value]
        return [int(Fraction(each) / step) for each in numbers]

    pair: tuple[Table, Table] = ((0,), (3,)) if neighbours == "one changed" else ((), (3,))
    one, other = (steps(table, 0) for table in pair)
    assert steps(pair[0], 7) == [each + 7 for each in one]  # what is drawn is what is added
    total = arb(0)
    for each, first, second in zip(noise.noise._noises, one, other, strict=True):
        assert isinstance(each, Gaussian)
        far, width = int(8 * each.deviation), max(1, int(each.deviation / 20))
        ends = range(min(first, second) - far, max(first, second) + far, width)
        chances = [
            [high - low for low, high in itertools.pairwise(chance_up_to(each, end - truth) for end in ends)]
            for truth in (first, second)
        ]
        total += sum((p * p / q for p, q in zip(*chances, strict=True)), arb(0)).log()
    return total / 2


PAID_IN_RHO: dict[str, tuple[Ask, str]] = {
    "count": (lambda asked, rho: asked.count(rho=rho, noise="gaussian"), "one more or less"),
    "sum": (lambda asked, rho: asked.sum("x", rho=rho, noise="gaussian"), "one more or less"),
    "histogram": (lambda asked, rho: asked.histogram("x", rho=rho, noise="gaussian"), "one more or less"),
    "histogram of a public number": (
        lambda asked, rho: asked.histogram("x", rho=rho, noise="gaussian"),
        "one changed",
    ),
    "mean of a public number": (
        lambda asked, rho: asked.mean("x", rho=rho, noise="gaussian"),
        "one changed",
    ),
}


@pytest.mark.parametrize("name", list(PAID_IN_RHO))
def test_prices_in_rho(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise is attained, but for what rounding hides. Noise of 0.8 of the scale costs 1/0.64 as much."""
    ask, neighbours = PAID_IN_RHO[name]
    assert 0.0198 < rho_kept(ask, "0.02", neighbours, monkeypatch) <= ball(Fraction("0.02"))
    assert rho_kept(ask, "0.03125", neighbours, monkeypatch) > 0.03


MEANS_BY_GAUSSIAN_NOISE: dict[str, tuple[Ask, str, str, float]] = {
    "rho": (lambda asked, rho: asked.mean("x", rho=rho, noise="gaussian"), "0.08", "0.125", 2.5),
    "epsilon and delta": (
        lambda asked, epsilon: asked.mean("x", epsilon=epsilon, delta="1e-6", noise="gaussian"),
        "1",
        "1.2725",
        4.2247,
    ),
}
"""Price, the price of noise of 0.8 of the scale, and the deviation for a distance of 1: 1 / sqrt(2 rho), or Balle and Wang's."""


@pytest.mark.parametrize("name", list(MEANS_BY_GAUSSIAN_NOISE))
def test_means_by_gaussian_noise_vary_as_they_should_and_those_of_scale_0_8_do_not(name: str) -> None:
    """Promises are attained by the noisy sum and the noisy number together; a tester would need too many answers.

    A record changes the sum around the middle by 3/2 and the number by 1, and each gets noise for its own change times the
    root of 2. Of records whose sum around the middle is 0, means vary as the noisy sum does.
    """
    ask, paid, narrow, deviation = MEANS_BY_GAUSSIAN_NOISE[name]
    table, draws = (0, 3) * 500, 800

    def variance(price: str) -> float:
        question, source = make_question(ask, "one more or less", price), Randomness.for_testing(11)
        return statistics.pvariance([respond(question, table, source) for _ in range(draws)], 1.5)

    expected, error = (1.5 * math.sqrt(2) * deviation / len(table)) ** 2, math.sqrt(2 / draws)
    assert abs(variance(paid) / expected - 1) < 4.5 * error
    assert abs(variance(narrow) / expected - 1) > 4.5 * error


# --- quantiles ------------------------------------------------------------------------------------


class Weighed(ExponentialChoice[Candidate]):
    """A choice that tells the chances of its candidates."""

    drawn: ClassVar[list[Chances]] = []
    """Those of all choices, one after the other."""

    def __init__(self, epsilon: Symbolic, sensitivity: int, randomness: Randomness | None) -> None:
        super().__init__(epsilon, sensitivity, randomness)
        self.epsilon, self.sensitivity = epsilon, sensitivity
        self.weights: Chances = {}

    def add(self, candidate: Candidate, score: int | Fraction) -> None:
        super().add(candidate, score)
        self.weights[candidate] = (self.epsilon.ball() * ball(Fraction(score) / (2 * self.sensitivity))).exp()

    def draw(self) -> Candidate:
        total = sum(self.weights.values(), arb(0))
        Weighed.drawn.append({candidate: weight / total for candidate, weight in self.weights.items()})
        return super().draw()


def chances_of_quantiles(
    shares: list[str], epsilon: object, neighbours: str, candidates: int, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Table], Chances]:
    """Return the chance of each answer; of several quantiles, which are drawn one by one, that of all together."""
    monkeypatch.setattr(quantiles, "ExponentialChoice", Weighed)
    question = make_question(
        lambda asked, price: asked.quantiles("x", shares, epsilon=price, candidates=candidates),
        neighbours,
        epsilon,
    )

    def chances(table: Table) -> Chances:
        Weighed.drawn.clear()
        respond(question, table, Randomness.for_testing(1))
        assert len(Weighed.drawn) == len(shares)
        return {
            answer: math.prod(
                (each[place] for each, place in zip(Weighed.drawn, answer, strict=True)), start=arb(1)
            )
            for answer in itertools.product(*Weighed.drawn)
        }

    return chances


def changed_pairs(universe: tuple[int, ...], records: int) -> list[tuple[Table, Table]]:
    tables = itertools.combinations_with_replacement(universe, records)
    return [
        (one, other)
        for one, other in itertools.combinations(tables, 2)
        if (Counter(one) - Counter(other)).total() == 1
    ]


@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
def test_medians(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise is approached only where the answer is unlikely anyway.

    Half of the price is for the weight of an answer, and half for the sum of all weights, which changes by its whole factor
    only where one other answer has nearly all of it. Of the answers 0 and 3, and records of 1 and 3, 0 has a chance of
    1 / (1 + e^(j epsilon)) with j records of 3: a tester would need some 60,000 runs. Any event is no further apart than
    the answers that it is made of.
    """
    universe = (0, 1, 3)
    pairs = (
        changed_pairs(universe, 6) if neighbours == "one changed" else list(neighbouring_pairs(universe, 4))
    )
    for candidates in (1, 3):
        right = chances_of_quantiles(["0.5"], 2, neighbours, candidates, monkeypatch)
        assert 1.25 < largest_log_ratio(right, pairs) <= 2
    narrow = chances_of_quantiles(["0.5"], NARROW, neighbours, 1, monkeypatch)
    assert largest_log_ratio(narrow, pairs) > 2


@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
def test_several_quantiles(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a third of the price, and all together come close to it where one record makes each of them likelier.

    With many records of 1, between the answers 0 and 3, shares above one half are unlikely to be answered by 0, and more so
    with a record of 3.
    """
    shares, many = ["0.7", "0.75", "0.8"], (1,) * 40
    pairs = [((*many, 0), (*many, 3)) if neighbours == "one changed" else (many, (*many, 3))]
    right = chances_of_quantiles(shares, 2, neighbours, 1, monkeypatch)
    assert 1.9 < largest_log_ratio(right, pairs) <= 2
    narrow = chances_of_quantiles(shares, NARROW, neighbours, 1, monkeypatch)
    assert largest_log_ratio(narrow, pairs) > 2
