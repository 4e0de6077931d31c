"""The unit: a person more or less changes what takes part by so many rows, and answers by no more than was promised.

For small tables every order in which rows can be drawn is tried, so that probabilities are exact.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.base.randomness import Randomness
from veil.dp import Accountant
from veil.dp.declared import Declared
from veil.dp.noisy_vector import _Each, noise_for
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.source import MemorySource, TruncatedOwners
from veil.dp.unit import Unit
from veil.questions import Session
from veil.questions.mechanisms.totals import sum_reach
from veil.tables.cells import Cells
from veil.tables.rows import Weights

Rows = tuple[tuple[str, int], ...]
"""Person and value."""


class Order(Randomness):
    """Rows are drawn in a given order; there is no noise."""

    is_private = False

    def __init__(self, order: tuple[int, ...]) -> None:
        self.order = np.array(order, np.int64)

    def permutation(self, size: int) -> np.ndarray:
        return self.order[self.order < size]

    def bits(self, size: int) -> np.ndarray:
        return np.full(size, 2**64 - 1, np.uint64)


def table(rows: Rows) -> pa.Table:
    return pa.table(
        {"id": pa.array([p for p, _ in rows], pa.string()), "x": pa.array([v for _, v in rows], pa.int64())}
    )


# --- what takes part ------------------------------------------------------------------------------------

names = st.sampled_from(["a", "A", " a", "b", "ｂ", "c", "", None])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(names, st.integers(0, 3)), max_size=10),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_everybody_takes_part_with_so_many_rows_and_their_own(rows: Any, most: int, random: Any) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)
    people = TruncatedOwners(MemorySource(table(tuple(rows))), Unit("id", most), Order(tuple(order)))
    selected = people.select(["x"])
    assert people.select(["x"]).cells["x"].codes.tolist() == selected.cells["x"].codes.tolist()
    # The slow way: walk through the rows of people in the order drawn.
    keys = [(name or "").strip().lower().replace("ｂ", "b") for name, _ in rows]
    present = [row for row, key in enumerate(keys) if key]
    taken: Counter[str] = Counter()
    expected = []
    for row in (present[place] for place in order if place < len(present)):
        taken[keys[row]] += 1
        if taken[keys[row]] <= most:
            expected.append(row)
    cells = selected.cells["x"]
    assert [cells.texts[code] for code in cells.codes] == [str(rows[row][1]) for row in sorted(expected)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(names, st.integers(1, 4)), max_size=6), st.integers(1, 3), st.integers(0, 99))
def test_combinations_are_drawn_as_the_records_that_they_stand_for(groups: Any, most: int, seed: int) -> None:
    people = Cells.of(pa.chunked_array([pa.array([name for name, _ in groups], pa.string())]))
    weights = np.array([often for _, often in groups], np.int64)
    rows, records = Unit("id", most).draw(people, Weights(len(groups), weights), Randomness.for_testing(seed))
    drawn = records.array
    assert (drawn <= weights[rows]).all()
    totals: Counter[str] = Counter()
    for row, often in zip(rows, drawn, strict=True):
        totals[(groups[row][0] or "").strip().lower().replace("ｂ", "b")] += int(often)
    there: Counter[str] = Counter()
    for name, often in groups:
        there[(name or "").strip().lower().replace("ｂ", "b")] += often
    there.pop("", None)
    assert totals == {name: min(often, most) for name, often in there.items()}


# --- exact chances --------------------------------------------------------------------------------------

OTHERS: list[Rows] = [(), (("a", 0), ("a", 3)), (("a", 3), ("b", 0))]
PEOPLE: list[Rows] = [(("z", 3),), (("z", 0), ("z", 3)), (("z", 3), ("z", 3), ("Z ", 3))]


def truths(rows: Rows, most: int, ask: Any) -> dict[Any, Fraction]:
    """Return how likely each truth is behind the noise."""
    found: Counter[Any] = Counter()
    for order in itertools.permutations(range(len(rows))):
        session = open_session(rows, most, Order(order))
        found[ask(session)] += 1
    return {truth: Fraction(often, found.total()) for truth, often in found.items()}


def open_session(
    rows: Rows, most: int, randomness: Randomness, neighbours: str = "one more or less"
) -> Session:
    return Session(
        MemorySource(table(rows)),
        Accountant(10**6, neighbours=neighbours),  # type: ignore[arg-type]
        neighbours=neighbours,  # type: ignore[arg-type]
        person="id",
        rows_per_person=most,
        bounds={"x": (0, 3)},
        keys={"x": [0, 3]},
        missing={"x": 0},
        constant_time=False,
        randomness=randomness,
    )


def largest_log_ratio(one: dict[int, Fraction], other: dict[int, Fraction], scale: float) -> float:
    """Return how much likelier a noisy number is on one table than on the other, with two-sided geometric noise."""

    def chance(truths: dict[int, Fraction], number: int) -> float:
        return sum(float(p) * math.exp(-abs(number - truth) / scale) for truth, p in truths.items())

    numbers = range(-12, 25)
    return max(abs(math.log(chance(one, number) / chance(other, number))) for number in numbers)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize(("ask", "reach"), [("count", 1), ("sum", 3)])
def test_a_whole_person_changes_no_chance_by_more_than_promised(
    ask: str, reach: int, person: Rows, others: Rows, most: int
) -> None:
    def asked(session: Session) -> int:
        return round(session.count(epsilon=1).value if ask == "count" else session.sum("x", epsilon=1).value)

    one, other = truths(others, most, asked), truths((*others, *person), most, asked)
    declared = open_session(others, most, Order(()))._declared
    bounded = declared.bounded("x")
    hidden = (
        declared.unit.rows if ask == "count" else float(sum_reach(declared, bounded, None) * bounded.step)
    )
    assert hidden == reach * most
    assert largest_log_ratio(one, other, hidden) <= 1 + 1e-9
    # Noise for one row, as it was: somebody with two rows costs twice what was paid.
    if most == 2 and len(person) >= 2 and (ask == "count" or person[0][1] == 3):
        assert largest_log_ratio(one, other, reach) > 1.9


@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
@pytest.mark.parametrize("noise", ["geometric", "staircase", "gaussian", "step"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_noise_of_a_histogram_covers_every_way_to_spread_rows_over_keys(
    neighbours: str, noise: str, rows: int
) -> None:
    """Of two lists of counts that a person can make, none is further from the other than the noise is for."""
    price = PrivacyLoss.read(1, delta="1e-6") if noise == "gaussian" else PrivacyLoss.read(1)
    cells, together = 3, 2 if neighbours == "one changed" else 1
    adding: Any = noise_for(noise, [1] * cells, together, price, rows)
    spreads = [each for each in itertools.product(range(rows + 1), repeat=cells) if sum(each) <= rows]
    nothing = [(0,) * cells]
    moves = {
        tuple(a - b for a, b in zip(one, other, strict=True))
        for one in spreads
        for other in (spreads if together == 2 else nothing)
    }
    if noise == "step":
        assert max(abs(each) for move in moves for each in move) <= rows == adding._noise._steps[0]
        return
    assert isinstance(adding, _Each)
    first: Any = adding._noises[0]
    if noise == "gaussian":
        farthest = max(math.sqrt(sum(each**2 for each in move)) for move in moves)
        assert farthest <= float(first.sensitivity) + 1e-9
        return
    losses = [loss(first, shift) for shift in range(rows + 1)]
    for move in moves:
        assert sum(losses[abs(each)] for each in move) <= 1 + 1e-9, move


def loss(noise: Any, shift: int) -> float:
    """Return the largest log-ratio between noise and the same noise, shifted."""

    def chance(number: int) -> float:
        return float(noise.tail(abs(number)) - noise.tail(abs(number) + 1)) / (2 if number else 1)

    return max(abs(math.log(chance(number) / chance(number - shift))) for number in range(-6, 7))


@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3), max_size=4),
    st.lists(st.integers(0, 3), max_size=2),
    st.lists(st.integers(0, 3), max_size=2),
)
def test_scores_of_quantiles_change_by_no_more_than_they_are_hidden_for(
    neighbours: str, others: list[int], one: list[int], other: list[int]
) -> None:
    if neighbours == "one more or less":
        one = []
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(1)):
        reach = 2 * (1 if neighbours == "one changed" else max(share, 1 - share))
        for y in range(4):
            scores = [badness([*others, *each], share, y) for each in (one, other)]
            assert abs(scores[0] - scores[1]) <= reach


def badness(values: list[int], share: Fraction, y: int) -> Fraction:
    goal = share * len(values)
    return max(sum(x < y for x in values) - goal, goal - sum(x <= y for x in values), Fraction(0))


def test_questions_take_the_unit_into_account() -> None:
    """Halves of intervals grow with the rows that a person may have; so does the rank that quantiles are off by."""

    def accuracy(rows: int) -> list[float]:
        previews = open_session((), rows, Order(())).preview
        asked = [previews.count(epsilon=1), previews.sum("x", epsilon=1), previews.mean("x", epsilon=1)]
        asked += [previews.histogram("x", epsilon=1), previews.quantiles("x", [0.5], epsilon=1, candidates=3)]
        return [_first_number(each.accuracy()) for each in asked]

    for one, ten in zip(accuracy(1), accuracy(10), strict=True):
        assert ten / one == pytest.approx(10, rel=0.2)


def _first_number(text: str) -> float:
    words = text.replace("at most", "±").partition("± ")[2] or text.partition("±")[2]
    return float(words.split()[0].rstrip(":,"))


def test_a_unit_has_to_be_declared_wherever_something_is_promised() -> None:
    with pytest.raises(TypeError):
        Declared("one changed")  # type: ignore[call-arg]
