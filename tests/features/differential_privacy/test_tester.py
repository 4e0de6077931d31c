"""A tester that tries to break every mechanism on all neighbours of small tables; a scale of 0.8 must be caught, and so
must noise that is computed in doubles.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from support.amount import runs
from support.dp.asking import RECORDS, Ask, Questions, Table, holding, make_question, respond
from support.dp.stochastic import find_violation, neighbouring_pairs
from veil.base.randomness import Randomness
from veil.dp import Accountant, Gaussian, Laplace, Prior, Refinement, Staircase, StepNoise
from veil.dp.declared import Declared
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import MemorySource
from veil.dp.unit import Unit
from veil.questions import Session
from veil.questions.session.joint_query import Joint

Release = Callable[[Table], Hashable]

MORE_OR_LESS = list(neighbouring_pairs(RECORDS, 2))


def changed_pairs() -> Iterator[tuple[Table, Table]]:
    """Every pair of tables of two records that differ in one."""
    tables = list(itertools.combinations_with_replacement(RECORDS, 2))
    for one, other in itertools.combinations(tables, 2):
        if len(set(one) ^ set(other)) <= 1 or sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            yield one, other


PAIRS = {"one more or less": MORE_OR_LESS, "one changed": list(changed_pairs())}


def asking(ask: Ask, neighbours: str, epsilon: object, seed: int) -> Release:
    """Answer one question over and over."""
    question, source = make_question(ask, neighbours, epsilon), Randomness.for_testing(seed)

    def release(table: Table) -> Hashable:
        value = respond(question, table, source)
        return tuple(map(coarse, value.values())) if isinstance(value, dict) else coarse(value)

    return release


def coarse(value: float) -> int:
    """Few different results, so that each is seen often; what is made of a result tells no more than it.

    Rounded up, so that means which are clamped to the lower bound, 0, stay apart from those just above it.
    """
    return max(-8, min(8, math.ceil(value)))


EXPECTED = Prior.table({0: "0.22", 1: "0.22", 2: "0.56"}, "absolute")
"""So little of what is nearest that nearly all of it gains the whole factor: counts of 0 and 1 are as far apart as they may."""


def jointly(asked: Any, epsilon: Any) -> Any:
    """Ask one of the questions that a joint sensitivity of 3 is for, through a session or as one makes them."""
    if isinstance(asked, Session):
        return asked.jointly(sensitivity=3, epsilon=epsilon)
    return Joint(asked._declared, 3, PrivacyLoss.read(epsilon), lambda question: question)  # type: ignore[arg-type, return-value]


QUESTIONS: dict[str, Ask] = {
    "count": lambda asked, epsilon: asked.count(epsilon=epsilon),
    "count where": lambda asked, epsilon: asked.count("x > 1", epsilon=epsilon),
    "count by staircase": lambda asked, epsilon: asked.count(epsilon=epsilon, noise="staircase"),
    "histogram": lambda asked, epsilon: asked.histogram("x", epsilon=epsilon),
    "histogram by steps": lambda asked, epsilon: asked.histogram("x", epsilon=epsilon, noise="step"),
    "sum": lambda asked, epsilon: asked.sum("x", epsilon=epsilon),
    "sum by staircase": lambda asked, epsilon: asked.sum("x", epsilon=epsilon, noise="staircase"),
    "mean": lambda asked, epsilon: asked.mean("x", epsilon=epsilon),
    "median": lambda asked, epsilon: asked.quantiles("x", [0.5], epsilon=epsilon, candidates=3),
    "sum jointly": lambda asked, epsilon: jointly(asked, epsilon).sum("x"),
    "prior": lambda asked, epsilon: asked.count(epsilon=epsilon, noise=EXPECTED),
}


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
@pytest.mark.parametrize("name", list(QUESTIONS))
def test_no_question_tells_more_than_it_costs(name: str, neighbours: str) -> None:
    release = asking(QUESTIONS[name], neighbours, 2, 20)
    assert find_violation(release, PAIRS[neighbours], 2, runs=runs(200)) is None


CAUGHT = {
    "count": 5000,
    "count where": 5000,
    "count by staircase": 5000,
    "histogram": 5000,
    "histogram by steps": 8000,
    "sum": 9000,
    "sum by staircase": 5000,
    "sum jointly": 7000,
    "prior": 6500,
}
"""How many runs it takes. Means of a noisy number, quantiles and Gaussian noise take too many: see test_tester_exact.py."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CAUGHT))
def test_a_question_of_scale_0_8_is_caught(name: str) -> None:
    """The noise of epsilon = 5/2, where 2 was paid."""
    release = asking(QUESTIONS[name], "one more or less", "5/2", 21)
    assert find_violation(release, [((), (3,))], 2, runs=CAUGHT[name]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean", "histogram by steps"])
def test_a_question_of_scale_0_8_about_a_public_number_is_caught(name: str) -> None:
    release = asking(QUESTIONS[name], "one changed", "5/2", 21)
    assert find_violation(release, [((0,), (3,))], 2, runs=8000) is not None


@pytest.mark.slow
def test_a_question_about_one_person_keeps_its_price_and_one_of_scale_0_8_is_caught() -> None:
    """Against a table without the person; between two truths it may be twice as much."""

    def release(epsilon: Any) -> Release:
        declared = Declared("one more or less", Unit("id"), {"x": (0, 3)}, {"x": list(RECORDS)}, {"x": 0})
        question, source = Questions(declared).record("a", "x", epsilon=epsilon), Randomness.for_testing(22)

        def answer(table: Table) -> Hashable:
            held = MemorySource(
                pa.table({"id": pa.array(["a"] * len(table), pa.string()), "x": pa.array(table, pa.int64())})
            )
            selected = held.select(question.reads)
            return coarse(question.respond(selected, question.choose(selected), source)[0])

        return answer

    absent: list[tuple[Table, Table]] = [((), (record,)) for record in RECORDS]
    assert find_violation(release(2), absent, 2, runs=runs(300)) is None
    assert find_violation(release("5/2"), absent[-1:], 2, runs=9000) is not None


@pytest.mark.slow
def test_answers_of_a_session_are_those_that_were_tested() -> None:
    """The whole way of an answer, with its ledger: a few of them, and the same from the same seed."""
    for name, ask in QUESTIONS.items():
        release = asking(ask, "one more or less", 2, 5)
        session = Session(
            holding((0, 3)),
            Accountant(1000),
            neighbours="one more or less",
            person=None,
            bounds={"x": (0, 3)},
            keys={"x": list(RECORDS)},
            missing={"x": 0},
            constant_time=False,
            randomness=Randomness.for_testing(5),
        )
        for _ in range(5):
            value: Any = ask(session, 2).value  # type: ignore[attr-defined]
            found = tuple(map(coarse, value.values())) if isinstance(value, dict) else coarse(value)
            assert found == release((0, 3)), name


def one_number(noise: object) -> Release:
    source = Randomness.for_testing(7)
    return lambda table: coarse(noise.add(sum(table), source))  # type: ignore[attr-defined]


def two_numbers(noise: StepNoise) -> Release:
    source = Randomness.for_testing(7)
    return lambda table: tuple(coarse(each) for each in noise.add([len(table), sum(table)], source))


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
    assert find_violation(MECHANISMS[name](2), pairs, 2, runs=runs(300)) is None
    far = [((), (3,))]
    assert (
        find_violation(MECHANISMS[name]("5/2"), far, 2, runs=9000 if name == "laplace" else 6000) is not None
    )


@pytest.mark.slow
def test_gaussian_noise_keeps_its_delta_and_a_scale_of_0_8_does_not() -> None:
    right = Gaussian(3, 1, "1/20")
    narrow = Gaussian(3 * Fraction(4, 5), 1, "1/20")
    assert find_violation(one_number(right), MORE_OR_LESS, 1, "1/20", runs=runs(300)) is None
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
