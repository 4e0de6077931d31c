"""Who the rows are about: what a plan says of it, in Python, in recipes and on the command line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import (
    AverageReidentificationRisk,
    KAnonymity,
    KMap,
    Plan,
    PopulationUniqueness,
    Profitability,
    SampleUniqueness,
)
from veil import hierarchies as h
from veil.cli.anonymize import recipe_of
from veil.cli.options import fields_of
from veil.errors import InputError, PlanError, Say
from veil.models import PrivacyModel, SubsetKAnonymity
from veil.plan.owners import number_people
from veil.plan.prepare import columns_read, prepare
from veil.recipe import Recipe
from veil.tables.rows import Weights

VISITS = pa.table({"patient": ["a", "a", "b"], "sex": ["f", "f", "m"], "ward": ["x", "y", "x"]})


def plan(**fields: object) -> Plan:
    given: dict[str, object] = {"quasi_identifiers": {"sex": h.suppression()}, "models": KAnonymity(1)}
    return Plan(**{**given, **fields})  # type: ignore[arg-type]


def test_the_column_is_identifying_without_being_listed() -> None:
    made = plan(person="patient")
    assert made.role_of("patient") == "identifying"
    assert made.identifying == {"patient": "remove"}
    assert plan(person="patient", identifying={"patient": "mask"}).identifying == {"patient": "mask"}
    assert "patient" in columns_read(made, VISITS.column_names)


def test_nobody_is_asked_by_default_and_rows_are_people_on_request() -> None:
    assert plan().person_column is None
    assert plan(person=None).person_column is None
    assert plan(person=None).person is None


def test_a_quasi_identifier_cannot_tell_people_apart() -> None:
    with refused(PlanError, "'sex'", "quasi-identifying and identifying"):
        plan(person="sex")


def test_all_rows_of_whom() -> None:
    with refused(PlanError, Say("knows", "all rows"), "in `person`", "people"):
        plan(knows="all rows")
    assert plan(knows="all rows", person=None).knows == "all rows"


def test_rows_in_the_order_of_the_input_belong_together() -> None:
    with pytest.raises(PlanError, match=r'order="random".*knows="all rows"'):
        plan(person="patient", order="input")
    assert plan(person="patient", order="input", knows="all rows").order == "input"
    assert plan(person=None, order="input").order == "input"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SubsetKAnonymity(2, 1), "adds up the records of several classes"),
        (KMap(2, [0]), "its research subset chooses rows"),
        (PopulationUniqueness(0.1, 100), "everybody is once"),
    ],
)
def test_models_that_cannot_count_people_say_why(model: PrivacyModel, reason: str) -> None:
    with refused(PlanError, "count people", reason):
        plan(person="patient", models=model)


def test_labels_of_people_with_the_same_rows_are_not_read() -> None:
    plan(person="patient", models=Profitability())
    with refused(PlanError, "labels", "a class"):
        plan(person="patient", models=Profitability(), knows="all rows")
    for model in (SampleUniqueness(0.1), AverageReidentificationRisk(0.2), PopulationUniqueness(0.1, 100)):
        plan(person="patient", models=model, knows="all rows")


def test_a_table_without_the_column_is_refused() -> None:
    with refused(PlanError, "no column 'patients'", "identifying", "you mean"):
        prepare(VISITS, plan(person="patients", insensitive="ward"))


def test_a_column_that_is_called_as_the_question_is_refused() -> None:
    table = VISITS.rename_columns(["ask", "sex", "ward"])
    with refused(PlanError, "'ask'", "the name", "`person`"):
        prepare(table, plan(others="keep"))
    prepare(table, plan(others="keep", person=None))


def test_people_are_numbered() -> None:
    prepared = prepare(VISITS, plan(person="patient", others="keep"))
    assert prepared.rows.owners.array.tolist() == [0, 0, 1]
    assert prepare(VISITS, plan(person=None, others="keep")).rows.owners.are_records


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["a", None, "b", None]]),
        pa.chunked_array([[1.0, math.nan, 2.0, math.nan]]),
        pa.chunked_array([pa.array(["a", None, "b", None]).dictionary_encode()]),
    ],
)
def test_rows_of_nobody_are_refused(column: pa.ChunkedArray) -> None:
    with refused(InputError, "'patient'", "in 2 rows", "row 2", Say("person")):
        number_people(column, "patient")


@pytest.mark.parametrize("text", ["", " ", "unknown", "N/A", "-"])
def test_a_text_that_says_that_there_is_no_value_is_nobody(text: str) -> None:
    """Taken for a person, it would be counted beside whoever it is: here, one patient would be a class of two."""
    table = pa.table({"patient": ["7", text], "age": [30, 30]})
    with refused(InputError, "'patient'", "no value", "in 1 row", "row 2"):
        veil.anonymize(
            table, person="patient", quasi_identifiers={"age": h.intervals(10)}, models=KAnonymity(2)
        )


def test_suppressed_people_of_a_published_table_are_no_obstacle_to_its_analysis() -> None:
    table = pa.table({"patient": ["0a", "0b", "*"], "age": ["30", "30", "*"]})
    assert "highest 50 %" in str(veil.risk.analyze(table, ["age"], person="patient"))


def test_rows_that_stand_for_several_are_counted() -> None:
    with refused(InputError, "in 5 rows", "nobody"):
        number_people(pa.chunked_array([["a", None, None]]), "patient", Weights(3, np.array([7, 2, 3])))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([b"1", b"2"]),
        pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "period", "elsewhere"), pa.array([1, 2])),
    ],
)
def test_what_has_no_text_form_tells_nobody_apart(column: pa.Array) -> None:
    with refused(InputError, "'patient'", "no text form"):
        number_people(pa.chunked_array([column]), "patient")


def test_recipes_spell_all_three(tmp_path: Path) -> None:
    for made in (
        plan(),
        plan(person=None),
        plan(person="patient", knows="all rows", identifying="name"),
    ):
        Recipe.of(made).save(tmp_path / "recipe.yaml")
        assert Recipe.read(tmp_path / "recipe.yaml").plan() == made


def test_options_spell_both() -> None:
    given = {"quasi_identifiers": ["sex=suppression"], "models": ["k-anonymity:2"]}
    assert recipe_of(fields_of({**given, "person": "patient"})).plan().person == "patient"
    assert recipe_of(fields_of({**given, "person": "null"})).plan().person is None
