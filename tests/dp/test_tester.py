"""A tester that tries to break every mechanism on all neighbours of small tables; a scale of 0.8 must be caught, and so
must noise that is computed in doubles.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction

import pyarrow as pa
import pytest

from support.dp.stochastic import find_violation, neighbouring_pairs
from veil.base.randomness import Randomness
from veil.dp import Accountant, Gaussian, Laplace, Prior, Refinement, Session, Staircase, StepNoise
from veil.dp.held import InMemory

Table = tuple[int, ...]
Release = Callable[[Table], Hashable]

RECORDS = (0, 3)
MORE_OR_LESS = list(neighbouring_pairs(RECORDS, 2))


def changed_pairs() -> Iterator[tuple[Table, Table]]:
    """Every pair of tables of two records that differ in one."""
    tables = list(itertools.combinations_with_replacement(RECORDS, 2))
    for one, other in itertools.combinations(tables, 2):
        if len(set(one) ^ set(other)) <= 1 or sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            yield one, other


PAIRS = {"one more or less": MORE_OR_LESS, "one changed": list(changed_pairs())}


def session_of(table: Table, neighbours: str, source: Randomness) -> Session:
    session = _session_of(table, neighbours, source)
    session.accountant = Accountant(10**9, neighbours=neighbours)  # type: ignore[arg-type]
    return session


@functools.cache
def _session_of(table: Table, neighbours: str, source: Randomness) -> Session:
    held = InMemory(pa.table({"x": pa.array(table, pa.int64())}))
    return Session(
        held,
        Accountant(10**9, neighbours=neighbours),  # type: ignore[arg-type]
        neighbours=neighbours,  # type: ignore[arg-type]
        bounds={"x": (0, 3)},
        keys={"x": list(RECORDS)},
        missing={"x": 0},
        steady=False,
        randomness=source,
    )


def coarse(value: float, width: float) -> int:
    """Few different results, so that each is seen often; what is made of a result tells no more than it."""
    return max(-8, min(8, math.floor(value / width)))


QUESTIONS: dict[str, Callable[[Session, object], Hashable]] = {
    "count": lambda session, epsilon: coarse(session.count(epsilon=epsilon).value, 1),
    "count where": lambda session, epsilon: coarse(session.count("x > 1", epsilon=epsilon).value, 1),
    "count by staircase": lambda session, epsilon: coarse(
        session.count(epsilon=epsilon, noise="staircase").value, 1
    ),
    "histogram": lambda session, epsilon: tuple(
        coarse(each, 1) for each in session.histogram("x", epsilon=epsilon).value.values()
    ),
    "histogram by steps": lambda session, epsilon: tuple(
        coarse(each, 1) for each in session.histogram("x", epsilon=epsilon, noise="step").value.values()
    ),
    "sum": lambda session, epsilon: coarse(session.sum("x", epsilon=epsilon).value, 1),
    "sum by staircase": lambda session, epsilon: coarse(
        session.sum("x", epsilon=epsilon, noise="staircase").value, 1
    ),
    "mean": lambda session, epsilon: coarse(session.mean("x", epsilon=epsilon).value, 0.5),
    "median": lambda session, epsilon: coarse(
        session.quantiles("x", [0.5], epsilon=epsilon, candidates=3).value[0.5], 1
    ),
    "prior": lambda session, epsilon: session.count(epsilon=epsilon, noise=Prior.uniform([0, 1, 2])).value,
}


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
@pytest.mark.parametrize("name", list(QUESTIONS))
def test_no_question_tells_more_than_it_costs(name: str, neighbours: str) -> None:
    source, ask = Randomness.for_testing(20), QUESTIONS[name]

    def release(table: Table) -> Hashable:
        return ask(session_of(table, neighbours, source), 2)

    assert find_violation(release, PAIRS[neighbours], 2, runs=800) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["count", "sum", "histogram"])
def test_a_question_of_scale_0_8_is_caught(name: str) -> None:
    """The noise of epsilon = 5/2, where 2 was paid."""
    source, ask = Randomness.for_testing(21), QUESTIONS[name]

    def release(table: Table) -> Hashable:
        return ask(session_of(table, "one more or less", source), "5/2")

    assert find_violation(release, [((), (3,))], 2, runs=12_000) is not None


def one_number(noise: object) -> Release:
    source = Randomness.for_testing(7)
    return lambda table: coarse(noise.add(sum(table), source), 1)  # type: ignore[attr-defined]


def two_numbers(noise: StepNoise) -> Release:
    source = Randomness.for_testing(7)
    return lambda table: tuple(coarse(each, 1) for each in noise.add([len(table), sum(table)], source))


def prior_of(epsilon: object) -> Release:
    source = Randomness.for_testing(7)
    question = Refinement(Prior.uniform([0, 3, 6]), epsilon, about="individual")  # type: ignore[arg-type]
    return lambda table: question.answer(table[0] if table else None, source)


MECHANISMS: dict[str, Callable[[object], Release]] = {
    "laplace": lambda epsilon: one_number(Laplace(3, epsilon)),  # type: ignore[arg-type]
    "geometric": lambda epsilon: one_number(Laplace(3, epsilon, whole=True)),  # type: ignore[arg-type]
    "staircase": lambda epsilon: one_number(Staircase(3, epsilon)),  # type: ignore[arg-type]
    "whole staircase": lambda epsilon: one_number(Staircase(3, epsilon, whole=True)),  # type: ignore[arg-type]
    "step": lambda epsilon: two_numbers(StepNoise([1, 3], epsilon, whole=True)),  # type: ignore[arg-type]
    "refinement": prior_of,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MECHANISMS))
def test_no_mechanism_tells_more_than_it_costs_and_a_scale_of_0_8_is_caught(name: str) -> None:
    pairs = [pair for pair in MORE_OR_LESS if name != "refinement" or () in pair]
    assert find_violation(MECHANISMS[name](2), pairs, 2, runs=1500) is None
    far = [((), (3,))]
    assert find_violation(MECHANISMS[name]("5/2"), far, 2, runs=14_000) is not None


@pytest.mark.slow
def test_gaussian_noise_keeps_its_delta_and_a_scale_of_0_8_does_not() -> None:
    right = Gaussian(3, 1, "1/20")
    narrow = Gaussian(3 * Fraction(4, 5), 1, "1/20")
    assert find_violation(one_number(right), MORE_OR_LESS, 1, "1/20", runs=1500) is None
    assert find_violation(one_number(narrow), [((), (3,))], 1, "1/20", runs=20_000) is not None


def naive(value: float, source: random.Random) -> float:
    """Laplace noise of scale 1 as it is written down in a textbook, in doubles."""
    return value + random.choice((-1, 1)) * -math.log(1 - source.random())


def could_be(result: float, value: float) -> bool:
    """Whether the textbook's noise can turn a value into a result: an attack by Mironov (2012), that tries the doubles."""
    size = abs(result - value)
    middle = round((1 - math.exp(-size)) * 2**53)
    sign = 1 if result >= value else -1
    tried = (value + sign * -math.log(1 - each * 2.0**-53) for each in range(max(0, middle - 3), middle + 4))
    return result in tried


def test_noise_in_doubles_is_caught_and_noise_on_a_grid_is_not() -> None:
    """The attacker asks of a result which of two neighbouring values could have led to it."""
    source = random.Random(4)
    noise, seeded = Laplace(1, 1), Randomness.for_testing(4)

    def attack(result: float) -> Hashable:
        return could_be(result, 0.0), could_be(result, 1.0)

    found = find_violation(lambda table: attack(naive(float(len(table)), source)), [((), (0,))], 1, runs=4000)
    assert found is not None
    assert found.at_least > 0.1
    on_grid = find_violation(
        lambda table: attack(float(noise.add(len(table), seeded))), [((), (0,))], 1, runs=4000
    )
    assert on_grid is None
