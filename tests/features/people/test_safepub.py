"""SafePub for people: neighbouring tables differ by everything of one person.

For small tables the coins are replaced by every way they can fall, so that probabilities are exact. The mechanism that runs
is the one that users run, from the table to what is published.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import SafePub
from veil import hierarchies as h
from veil.base.randomness import Randomness
from veil.dp import Accountant
from veil.dp.publish import publish
from veil.dp.unit import draw_rows_of_people
from veil.errors import ParameterError, PlanError
from veil.plan.plan import Plan
from veil.tables import read

Rows = tuple[tuple[str, str], ...]
"""Person and value."""

DOMAIN = h.table([["7", "*"], ["8", "*"]])
CASES = {
    # Both draw with one half and publish classes of two: ε/C = ln(2), and δ (2 - 1)/(4 - 1) is a quarter.
    1: (SafePub("ln(2)", "1/4", generalization={"value": 0}), 2, Fraction(1, 4)),
    2: (SafePub("ln(4)", "3/4", generalization={"value": 0}, rows_per_person=2), 4, Fraction(3, 4)),
}


class Falls(Randomness):
    """Coins that fall as written down: for the rows of people, for the sample, and then in order."""

    def __init__(self, *falls: tuple[int, ...]) -> None:
        self.falls = list(falls)

    def bits(self, size: int) -> Any:
        given = self.falls.pop(0) if self.falls else range(size)
        return np.array([*given][:size], np.uint64)


def _published(
    rows: Rows, model: SafePub, order: tuple[int, ...], sample: tuple[int, ...]
) -> tuple[str, ...]:
    table = pa.table({"patient": [p for p, _ in rows], "value": [v for _, v in rows]})
    plan = Plan({"value": DOMAIN}, model, person="patient")
    made = publish(read(table), plan, randomness=Falls(order, sample)).table
    return tuple(sorted(made["value"].to_pylist()))


def _distribution(rows: Rows, model: SafePub) -> dict[tuple[str, ...], Fraction]:
    found: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
    people = pa.array([p for p, _ in rows]).dictionary_encode().indices.to_numpy().astype(np.int32)
    orders = list(itertools.permutations(range(len(rows))))
    taken = {
        order: tuple(draw_rows_of_people(people, model.rows_per_person or 1, Falls(order)))
        for order in orders
    }
    often = Counter(taken.values())
    for rows_taken, order in {rows_taken: order for order, rows_taken in taken.items()}.items():
        samples = list(itertools.product((0, 1 << 63), repeat=len(rows_taken)))
        for sample in samples:
            chance = Fraction(often[rows_taken], len(orders) * len(samples))
            found[_published(rows, model, order, sample)] += chance
    assert sum(found.values()) == 1
    return found


def _excess(one: dict[Any, Fraction], other: dict[Any, Fraction], factor: int) -> Fraction:
    return sum(
        (max(Fraction(0), p - factor * other.get(key, Fraction(0))) for key, p in one.items()), Fraction(0)
    )


_OTHERS: list[Rows] = [
    (("a", "7"), ("b", "7")),
    (("a", "7"), ("a", "8")),
]
_ADDED: list[Rows] = [(("z", "7"),), (("z", "7"), ("z", "7")), (("z", "7"), ("z", "8"))]


@pytest.mark.parametrize("most", CASES)
@pytest.mark.parametrize("others", _OTHERS)
def test_a_whole_person_more_or_less_changes_no_chance_by_more_than_promised(most: int, others: Rows) -> None:
    model, factor, delta = CASES[most]
    without = _distribution(others, model)
    for added in _ADDED:
        withit = _distribution((*others, *added), model)
        assert _excess(withit, without, factor) <= delta
        assert _excess(without, withit, factor) <= delta


def test_a_cap_that_nobody_keeps_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model, factor, delta = CASES[1]
    monkeypatch.setattr(
        "veil.dp.unit.draw_rows_of_people", lambda people, most, chance: np.arange(people.size)
    )
    alike = tuple(("z", "7") for _ in range(4))
    found: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
    for sample in itertools.product((0, 1 << 63), repeat=4):
        table = pa.table({"patient": ["z"] * 4, "value": ["7"] * 4})
        made = publish(
            read(table), Plan({"value": DOMAIN}, model, person="patient"), randomness=Falls(sample)
        )
        found[tuple(made.table["value"].to_pylist())] += Fraction(1, 16)
    assert len(alike) == 4
    assert _excess(found, {(): Fraction(1)}, factor) > delta


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, 3))
def test_every_choice_of_a_persons_rows_is_as_likely(people: list[int], most: int) -> None:
    codes = np.unique(people, return_inverse=True)[1].astype(np.int32)
    counts = Counter(
        tuple(draw_rows_of_people(codes, most, Falls(order)).tolist())
        for order in itertools.permutations(range(len(people)))
    )
    rows = [np.flatnonzero(codes == each).tolist() for each in range(codes.max() + 1)]
    choices = [list(itertools.combinations(each, min(most, len(each)))) for each in rows]
    every = {tuple(sorted(itertools.chain(*chosen))) for chosen in itertools.product(*choices)}
    assert set(counts) == every
    assert len(set(counts.values())) == 1


@settings(deadline=None)
@given(st.fractions(min_value="1/10", max_value=4), st.integers(1, 9), st.fractions("1/1000", "1/2"))
def test_rows_together_cost_no_more_than_a_person_may(epsilon: Fraction, most: int, delta: Fraction) -> None:
    model = SafePub(str(epsilon), str(delta), rows_per_person=most)
    search, anonymization, of_row = model.row_budgets()
    assert most * (search + anonymization) == sum(model.budgets()[:2], start=search * 0)
    each = math.exp(float(epsilon) / most)
    total = float(of_row) * sum(each**i for i in range(most))
    assert total <= float(delta) * (1 + 1e-12)
    assert total >= float(delta) * (1 - 1e-9), "no more is given away than needed"


def test_one_row_a_person_is_what_it_was() -> None:
    table = {"value": ["7", "8"] * 400}
    plan = Plan({"value": DOMAIN}, SafePub(1, 1e-4, generalization={"value": 0}), person=None)
    alone = publish(read(pa.table(table)), plan, randomness=Randomness.for_testing(4))
    by_row = Plan({"value": DOMAIN}, SafePub(1, 1e-4, generalization={"value": 0}), person="patient")
    numbered = pa.table({"patient": list(range(800)), **table})
    with_people = publish(read(numbered), by_row, randomness=Randomness.for_testing(4))
    assert alone.table.num_rows > 200
    assert abs(alone.table.num_rows - with_people.table.num_rows) < 150  # other coins of the same mechanism
    assert with_people.levels == alone.levels


def test_a_person_with_ten_thousand_rows_has_no_more_say_than_another() -> None:
    rows = ["z"] * 10_000 + [f"p{i}" for i in range(500)]
    frame = pd.DataFrame({"patient": rows, "value": ["8"] * 10_000 + ["7"] * 500})
    made = veil.anonymize(
        frame,
        quasi_identifiers={"value": DOMAIN},
        models=SafePub(1, 1e-4, generalization={"value": 0}),
        person="patient",
    )
    assert set(made.table["value"]) == {"7"}
    assert made.statement is not None
    assert "none of your rows is in the data at all" in made.statement
    assert "At most 1 row of each person took part" in made.statement


def test_ledger_and_statement_speak_of_people(tmp_path: Path) -> None:
    table = pa.table({"patient": [i // 2 for i in range(2000)], "value": ["7", "8"] * 1000})
    account = Accountant(2, "1/100")
    model = SafePub(1, 1e-4, generalization={"value": 0}, rows_per_person=2)
    made = veil.anonymize(
        table, quasi_identifiers={"value": DOMAIN}, models=model, person="patient", accountant=account
    )
    assert "of people by 'patient', each with all rows" in str(account.ledger[0])
    assert float(account.spent.epsilon) == 1
    assert "At most 2 rows of each person took part" in str(made.statement)
    made.report(tmp_path / "report.html")
    assert "At most 2 rows of each person" in (tmp_path / "report.html").read_text()


def test_people_of_a_csv_file_are_told_apart_by_the_text_of_their_cells(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        "patient,value\n" + "".join(f"{i % 400},{7 + i % 2}\n" for i in range(1200))
    )
    made = veil.anonymize(
        tmp_path / "p.csv",
        quasi_identifiers={"value": DOMAIN},
        models=SafePub(1, 1e-4, generalization={"value": 0}),
        person="patient",
    )
    assert 0 < made.table.num_rows <= 400


def test_spellings_of_one_person_are_one_person_and_nobody_has_no_rows() -> None:
    cells = ["A17", "A17 ", " a17", "\uff2117", None, "  "] * 20
    table = read(pa.table({"patient": cells, "value": ["7"] * len(cells)}))
    model = SafePub(1, "1/2", generalization={"value": 0})
    assert model.parameters().k < 4
    for _ in range(20):
        assert publish(table, Plan({"value": DOMAIN}, model, person="patient")).table.num_rows == 0


@pytest.mark.parametrize("given", [{}, {"models": SafePub(1, 1e-4), "person": "ask"}])
def test_whose_rows_there_are_has_to_be_said_and_no_cell_is_looked_at(given: Any) -> None:
    class Unread:
        """A table that nobody may look at."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise AssertionError("a cell was looked at")

    plan: dict[str, Any] = {"quasi_identifiers": {"value": DOMAIN}, "models": SafePub(1, 1e-4), **given}
    with pytest.raises(PlanError, match=r"person=None.*person=\"patient\".*rows_per_person"):
        veil.anonymize(Unread(), **plan)


def test_that_people_repeat_is_no_question_here() -> None:
    """A refusal would tell that somebody is in the table."""
    table = pa.table({"patient": ["1", "1", "2"] * 100, "value": ["7"] * 300})
    plan: dict[str, Any] = {"quasi_identifiers": {"value": DOMAIN}, "identifying": "patient"}
    made = veil.anonymize(table, **plan, models=SafePub(1, 1e-4), person=None)
    assert made.table.num_rows > 44


def test_what_cannot_be_promised_is_refused() -> None:
    table = pa.table({"patient": [1, 1, None], "value": ["7", "8", "7"]})
    fixed: dict[str, Any] = {"generalization": {"value": 0}}
    with refused(PlanError, "`rows_per_person`", "for people"):
        veil.anonymize(
            table.select(["value"]),
            quasi_identifiers={"value": DOMAIN},
            models=SafePub(1, 1e-4, rows_per_person=2, **fixed),
            person=None,
        )
    with refused(PlanError, "leave `knows` out"):
        Plan({"value": DOMAIN}, SafePub(1, 1e-4), person="patient", knows="all rows")
    with pytest.raises(ParameterError, match="rows_per_person=1"):
        SafePub(1, 1e-4, acquisition_sampling=0.1, rows_per_person=2, **fixed)
