"""Questions under a budget: what one record changes, what is paid, what is refused, and that nothing else is told."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.sessions import PATIENTS, NoNoise, open_session, truths
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.dp import Accountant, Prior, fingerprint, rho_of_epsilon
from veil.dp.source import MemorySource
from veil.errors import BudgetError, InputError, ParameterError, PlanError
from veil.private_table import MarginalTree, private_table
from veil.private_table.sections import private_facts
from veil.questions.mechanisms.totals import sum_reach

# --- what is asked --------------------------------------------------------------------------------


def test_values_are_clamped_and_missing_ones_count_as_declared() -> None:
    session = truths()
    assert session.count(epsilon=1).value == 6
    assert session.count(where="age >= 65", epsilon=1).value == 3
    assert session.count(where="not age >= 65", epsilon=1).value == 2  # of a missing age, neither is true
    assert session.histogram("sex", epsilon=1).value == {"f": 3, "m": 1}  # "x" is no key
    assert session.sum("age", epsilon=1).value == 34 + 71 + 68 + 25 + 120
    assert session.mean("age", epsilon=1).value == pytest.approx(318 / 5, abs=1e-3)
    assert session.sum("income", epsilon=1).value == 100 + 250.5 - 30 + 0.25 + 1000
    assert session.sum("income", where="sex = 'f'", epsilon=1).value == 70.25
    public = truths(neighbours="one changed", missing={"age": 50, "income": 0}).mean("age", epsilon=1)
    assert public.value == (34 + 71 + 68 + 25 + 50 + 120) / 6
    left_out = truths(outside="leave out", missing={"age": 50, "income": "leave out"})
    assert left_out.sum("age", epsilon=1).value == 34 + 71 + 68 + 25 + 50
    assert left_out.sum("income", epsilon=1).value == 100 + 250.5 - 30 + 0.25


def test_two_columns_make_a_table_of_cells() -> None:
    session = truths(keys={"sex": ["f", "m", None], "id": [1, 5]})
    counted = session.histogram(["sex", "id"], epsilon=1).value
    assert counted == {
        ("f", 1): 1, ("f", 5): 0, ("m", 1): 0, ("m", 5): 0, (None, 1): 0, (None, 5): 1,
    }  # fmt: skip


def test_keys_may_be_of_any_size() -> None:
    held = MemorySource(pa.table({"sex": [str(2**70), "1.0", "1"]}))
    session = truths(source=held, bounds={}, missing={}, keys={"sex": [2**70, 1, math.nan]})
    assert list(session.histogram("sex", epsilon=1).value.values()) == [1, 2, 0]


def test_the_same_answer_for_every_frame_and_engine() -> None:
    ibis = pytest.importorskip("ibis")
    sources = [PATIENTS, PATIENTS.to_pandas(), pl.from_arrow(PATIENTS), ibis.memtable(PATIENTS.to_pandas())]
    assert isinstance(sources[1], pd.DataFrame)
    for source in sources:
        session = open_session(source, randomness=NoNoise())
        assert session.count(epsilon=1).value == 6
        assert session.count(where="age >= 65 and sex = 'f'", epsilon=1).value == 1
        assert session.histogram("sex", epsilon=1).value == {"f": 3, "m": 1}
        assert session.sum("income", epsilon=1).value == 1320.75
        median = open_session(source).quantiles("age", [0.5], epsilon=10**5, candidates=120).value[0.5]
        assert median == pytest.approx(68, abs=3)
        of_people = open_session(source, person="id", rows_per_person=1, randomness=Randomness.for_testing(3))
        assert of_people.record("2", "sex", epsilon=20).value == "m"
        assert of_people.count(epsilon=50).value == 5


def test_files_and_databases(tmp_path) -> None:
    pytest.importorskip("ibis")
    import sqlite3

    rows = [(30, "f"), (40, "m"), (50, "f")]
    database = sqlite3.connect(tmp_path / "clinic.db")
    database.execute("create table patients (age integer, sex text)")
    database.executemany("insert into patients values (?, ?)", rows)
    database.commit()
    database.close()
    (tmp_path / "patients.csv").write_text("age,sex\n" + "".join(f"{a},{s}\n" for a, s in rows))
    for place in (f"sqlite:///{tmp_path}/clinic.db#patients", tmp_path / "patients.csv"):
        session = open_session(place, randomness=NoNoise(), bounds={"age": (0, 120)}, missing={"age": 0})
        assert session.sum("age", where="sex = 'f'", epsilon=1).value == 80


# --- what one record changes ----------------------------------------------------------------------

records = st.tuples(st.one_of(st.none(), st.integers(-50, 200)), st.sampled_from(["f", "m", "x"]))


def answers(rows: list[Any], neighbours: str, where: str | None, **declared: Any) -> dict[str, Any]:
    table = pa.table(
        {
            "age": pa.array([row[0] for row in rows], pa.int64()),
            "sex": pa.array([row[1] for row in rows], pa.string()),
        }
    )
    session = truths(source=MemorySource(table), neighbours=neighbours, **declared)
    bounded = session._declared.bounded("age")
    return {
        "count": session.count(where, epsilon=1).value,
        "histogram": session.histogram("sex", where=where, epsilon=1).value,
        "sum": session.sum("age", where=where, epsilon=1).value,
        "hidden": sum_reach(session._declared, bounded, where) * bounded.step,
    }


@settings(max_examples=120, deadline=None)
@given(
    st.lists(records, max_size=6),
    records,
    records,
    st.sampled_from([(-10, 100), (80, 100), (-100, -80)]),
    st.sampled_from(["leave out", 0, 90]),
    st.sampled_from(["leave out", "clamp"]),
    st.sampled_from([None, "sex = 'f'"]),
)
def test_a_record_changes_answers_by_at_most_what_noise_hides(
    rows, record, other, bounds, missing, outside, where
) -> None:
    declared: dict[str, Any] = {
        "bounds": {"age": bounds},
        "missing": {"age": missing if isinstance(missing, str) else min(max(missing, bounds[0]), bounds[1])},
        "outside": outside,
    }
    for neighbours, pair in (
        ("one more or less", (rows, [*rows, record])),
        ("one changed", ([*rows, other], [*rows, record])),
    ):
        one, two = (answers(each, neighbours, where, **declared) for each in pair)
        assert abs(one["count"] - two["count"]) <= 1
        cells = [abs(one["histogram"][key] - two["histogram"][key]) for key in ("f", "m")]
        assert sum(cells) <= (2 if neighbours == "one changed" else 1)
        assert abs(one["sum"] - two["sum"]) <= one["hidden"]


def test_noise_is_scaled_to_what_a_record_changes() -> None:
    """95 % of Laplace noise of scale s / epsilon lie within s ln(20) / epsilon."""
    for neighbours, reach in (("one more or less", 1000), ("one changed", 1100)):
        session = open_session(neighbours=neighbours)
        low, high = session.sum("income", epsilon=1).interval(0.95)
        assert (high - low) / 2 == pytest.approx(reach * math.log(20), rel=1e-3)
        bounded = session._declared.bounded("income")
        assert sum_reach(session._declared, bounded, None) * bounded.step == reach
        step = session.preview.histogram("sex", epsilon=1, noise="step").accuracy(0.95)
        assert step == "with 95 % each number is within ± 4"
    halves = {
        neighbours: open_session(neighbours=neighbours).preview.histogram("sex", epsilon=1).accuracy()
        for neighbours in ("one more or less", "one changed")
    }
    assert halves == {
        "one more or less": "with 95 % each number is within ± 3",
        "one changed": "with 95 % each number is within ± 6",
    }


def test_intervals_hold_as_often_as_they_say() -> None:
    session = open_session(randomness=Randomness.for_testing(2))
    inside = 0
    for _ in range(300):
        session.accountant = Accountant(10)
        low, high = session.mean("age", epsilon=5).interval(0.8)
        inside += low <= 318 / 5 <= high
    assert inside >= 240  # the interval is for two noises together, so that it holds more often


# --- what is paid ---------------------------------------------------------------------------------


def test_previews_cost_nothing_and_answers_what_they_say() -> None:
    session = open_session(budget=1)
    preview = session.preview.mean("age", epsilon=0.1)
    assert (preview.mechanism, str(preview.cost)) == ("laplace", "epsilon = 0.1")
    assert all(fact in str(preview) for fact in ("the mean", "± 4426"))
    assert session.accountant.ledger == ()
    answer = session.mean("age", epsilon=0.1)
    assert str(answer.loss) == "epsilon = 0.1"
    assert [entry.label for entry in session.accountant.ledger] == ["mean of age"]


def test_once_refused_always_refused() -> None:
    """Protocol 2 of the thesis, §5.4.1."""
    session = open_session(budget=1)
    session.count(epsilon="3/4")
    with refused(BudgetError, "'sum of age'", "epsilon = 0.5", "epsilon = 0.25 is"):
        session.sum("age", epsilon="1/2")
    with refused(BudgetError, "'sum of age'", "refused"):
        session.count(epsilon="1/8")
    assert len(session.accountant.ledger) == 1


def test_one_more_or_less_is_dearer_in_a_budget_for_one_changed() -> None:
    session = open_session(budget=Accountant(1, neighbours="one changed"))
    assert str(session.preview.count(epsilon="1/4").cost) == "epsilon = 0.5"
    assert str(session.count(epsilon="1/4").loss) == "epsilon = 0.5"
    with refused(PlanError, 'neighbours="one more or less"', '"one changed"'):
        open_session(budget=Accountant(1), neighbours="one changed")


def test_the_budget_of_another_table_is_refused(tmp_path) -> None:
    account = Accountant.create(tmp_path / "budget.json", 1, fingerprint="ab" * 32)
    with refused(PlanError, "SHA-256 abababababab"):
        open_session(budget=account)
    own = Accountant.create(tmp_path / "own.json", 1, fingerprint=fingerprint(PATIENTS))
    assert str(open_session(budget=own).count(epsilon=1).loss) == "epsilon = 1"


def test_gaussian_noise_is_paid_in_rho_or_in_delta() -> None:
    rho = rho_of_epsilon(1, "1e-6")
    session = open_session(budget=Accountant(1, "1e-6", zcdp_delta="1e-6"))
    answer = session.histogram("sex", rho=rho / 2, noise="gaussian")
    assert answer.loss.rho == rho / 2
    assert answer.interval()["f"][1] - answer.value["f"] == pytest.approx(1.96 / math.sqrt(float(rho)), abs=1)
    plain = open_session(budget=Accountant(1, "1e-5"))
    assert str(plain.count(epsilon=1, delta="1e-6", noise="gaussian").loss) == "epsilon = 1, delta = 1e-06"
    with refused(ParameterError, "gaussian", "`delta`", "above 0"):
        plain.count(epsilon=1, noise="gaussian")


# --- single records -------------------------------------------------------------------------------


def test_of_whoever_has_several_records_one_is_drawn_for_all_questions() -> None:
    visits = pa.table({"id": ["A17", "a17 ", "b", None], "sex": ["f", "m", "m", "f"]})
    seen = set()
    for seed in range(12):
        session = open_session(
            visits,
            person="id",
            rows_per_person=1,
            bounds={},
            missing={},
            randomness=Randomness.for_testing(seed),
        )
        answers = {session.record("Ａ17", "sex", epsilon=30).value for _ in range(5)}
        assert len(answers) == 1
        seen |= answers
        assert session.count(epsilon=50).value == 2  # nobody knows whose the last one is
    assert seen == {"f", "m"}


@pytest.mark.parametrize(("person", "people"), [("id", 2), ("id=folded", 2), ("id=as written", 3)])
def test_spellings_of_people_are_what_is_declared_of_them(person: str, people: int) -> None:
    visits = pa.table({"id": ["A17", "a17 ", "b", " "], "sex": ["f", "m", "m", "f"]})
    session = open_session(visits, person=person, rows_per_person=1, bounds={}, missing={})
    assert session.count(epsilon=50).value == people
    if people == 3:
        assert [session.record(who, "sex", epsilon=30).value for who in ("A17", "a17 ")] == ["f", "m"]
    hidden = {"neighbours": "one more or less", "person": person, "rows_per_person": 1}
    table = private_table(visits, MarginalTree(), 1, **hidden, domains={"sex": ["f", "m", None]}, delta=1e-6)
    assert private_facts(table)["person"] == person
    assert f"told apart by {person!r}" in table.whose


def test_a_statistical_question_may_have_a_prior() -> None:
    session = open_session(randomness=Randomness.for_testing(3))
    prior = Prior.table({each: "1/10" for each in range(10)}, "absolute")  # noqa: C420
    assert session.count(epsilon=40, noise=prior).value == 6
    assert 0 <= session.mean("age", epsilon=1, noise=Prior.uniform(0, 120)).value <= 120


# --- what is refused ------------------------------------------------------------------------------


def test_a_key_that_is_not_declared_is_refused_whether_it_occurs_or_not() -> None:
    told = set()
    for values in (["f"], ["other"], [None]):
        table = pa.table({"sex": pa.array(values, pa.string())})
        session = open_session(table, keys={}, bounds={}, missing={})
        with refused(ParameterError, "'sex'", "no keys") as error:
            session.histogram("sex", epsilon=1)
        told.add(str(error.value))
        assert session.accountant.ledger == ()
    assert len(told) == 1


def test_nothing_is_said_about_values_outside_of_bounds() -> None:
    """The same words, the same type and the same price, whatever the data are."""
    told = set()
    for values in ([50.0], [1e300], [-1e300], [float("inf")], [None], []):
        held = MemorySource(pa.table({"age": pa.array(values, pa.float64())}))
        session = open_session(
            held, bounds={"age": (0, 120)}, keys={}, missing={"age": 0}, randomness=NoNoise()
        )
        answer = session.sum("age", epsilon=1)
        told.add((type(answer.value), str(answer.loss), answer.question, answer.mechanism))
        assert 0 <= answer.value <= 120
    assert len(told) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: open_session(bounds={"age": (120, 0)}),
            "the bounds of 'age' should be a lower and a higher number",
        ),
        (lambda: open_session(bounds={"age": (0, math.nan)}), "`bounds` should be a finite number, not nan"),
        (lambda: open_session(bounds={"age": (0, math.inf)}), "`bounds` should be a finite number, not inf"),
        (lambda: open_session(bounds={"age": 3}), "the bounds of 'age' should be two numbers, not 3"),
        (lambda: open_session(keys={"sex": ["f", "f"]}), "the keys of 'sex' name 'f' twice"),
        (lambda: open_session(neighbours="any"), "`neighbours` should be"),
        (lambda: open_session(outside="tell"), '`outside` should be "clamp" or "leave out"'),
        (lambda: open_session(randomness=7), "anyone who knows a seed can remove the noise"),
        (lambda: open_session().sum("id", epsilon=1), "column 'id' has no bounds"),
        (
            lambda: open_session(missing={}).sum("age", epsilon=1),
            "say how missing values of 'age' are counted",
        ),
        (lambda: open_session().count(epsilon=0), "`epsilon` should be greater than 0, not 0"),
        (lambda: open_session().count(), "`epsilon` is missing"),
        (lambda: open_session().count(epsilon=1, rho=1), "`rho` replaces `epsilon` and `delta`"),
        (
            lambda: open_session().count(epsilon=1, noise="gauss"),
            "there is no noise 'gauss'. Did you mean 'gaussian'",
        ),
        (lambda: open_session().count(epsilon=1, delta="1e-6"), "geometric noise does not use `delta`"),
        (lambda: open_session().count("age >", epsilon=1), "character 6: a value should follow"),
        (lambda: open_session().histogram("sex", epsilon=1, noise=Prior.uniform([1])), "a prior is for one"),
        (lambda: open_session().quantiles("age", [], epsilon=1), "`shares` is empty"),
        (lambda: open_session().quantiles("age", [2], epsilon=1), "`shares` should be numbers from 0 to 1"),
        (lambda: open_session().quantiles("age", [0.5], epsilon=1, candidates=0), "`candidates` should be"),
        (lambda: open_session(keys={"sex": [[1]]}), r"\[1\] is no value of a cell"),
        (lambda: open_session(person="ask"), "say whose rows these are"),
        (lambda: open_session(person="id"), "say how many rows somebody of 'id' has at most"),
        (lambda: open_session(person="id", rows_per_person=0), "a whole number from 1 on, not 0"),
        (lambda: open_session(rows_per_person=2), "every row is a different person, so that none has 2"),
        (
            lambda: open_session().count(epsilon=1).interval(2),
            "`confidence` should be between 0 and 1, not 2",
        ),
    ],
)
def test_parameters_are_checked(call, message) -> None:
    with pytest.raises(ParameterError, match=message):
        call()


def test_what_the_table_lacks_is_refused_before_anything_is_paid() -> None:
    with refused(InputError, "mean 'age'", "no column 'aeg'"):
        open_session(bounds={"aeg": (0, 1)})
    with refused(InputError, "mean 'id'", "no column 'idd'"):
        open_session(person="idd", rows_per_person=1)
    session = open_session()
    for call, error in (
        (lambda: session.count("agee > 3", epsilon=1), "there is no column 'agee'"),
        (lambda: session.count("age > true", epsilon=1), "true and false have no order"),
    ):
        with pytest.raises((InputError, PlanError), match=error):
            call()
    assert session.accountant.ledger == ()
