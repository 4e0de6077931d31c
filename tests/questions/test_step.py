"""Questions in recipes: the schema, and what is refused in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.refusals import refused
from veil.errors import ParameterError, PlanError
from veil.recipe import Recipe, schema

QUESTIONS: dict[str, Any] = {
    "neighbours": "one changed",
    "bounds": {"age": [0, 120]},
    "missing": {"age": "leave out"},
    "ask": [{"ask": "mean", "of": "age", "epsilon": "ln(2)/10"}, {"ask": "count", "epsilon": 0.1}],
}


def recipe(changes: dict[str, Any] | None = None, **common: Any) -> dict[str, Any]:
    return {"input": "patients.csv", "person": None, "questions": QUESTIONS | (changes or {})} | common


def test_the_schema_agrees() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.validate(recipe())
    assert Recipe(**recipe()).questions.ask[0].of == ["age"]
    without = {name: value for name, value in QUESTIONS.items() if name != "neighbours"}
    assert not validator.is_valid({"questions": without})
    with refused(ParameterError, "`questions.neighbours`"):
        Recipe(person=None, questions=without)


def test_whose_rows_there_are_has_to_be_said(tmp_path: Path) -> None:
    without = {name: value for name, value in recipe().items() if name != "person"}
    place = tmp_path / "ask.yaml"
    for document, facts in (
        (without, ("whose rows", "person: null", "`person`", "`rows_per_person`")),
        (recipe(person="patient"), ("how many rows", "'patient'")),
        (recipe({"rows_per_person": 3}), ("every row is a different person", "3")),
    ):
        place.write_text(json.dumps(document))
        with refused(ParameterError, *facts):
            Recipe.read(place)
    assert Recipe(**recipe({"rows_per_person": 3}, person="patient")).questions.rows_per_person == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ask": []}, "`questions.ask`"),
        ({"ask": [{"ask": "count", "epsilom": 1}]}, "epsilom"),
        ({"ask": [{"ask": "count", "epsilon": float("inf")}]}, "finite"),
        ({"ask": [{"ask": "guess"}]}, "'count', 'histogram', 'sum', 'mean', 'quantiles' or 'record', not 'guess'"),
        ({"neighbours": "any"}, "`questions.neighbours` should be 'one more or less' or 'one changed', not 'any'"),
        ({"outside": "tell"}, "`questions.outside` should be 'clamp' or 'leave out', not 'tell'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with refused(ParameterError, message):
        Recipe(**recipe(changes))


@pytest.mark.parametrize("field", [{"output": "o.csv"}, {"certificate": "c.json"}, {"order": "input"}])
def test_fields_without_an_effect_are_refused(field: dict[str, Any]) -> None:
    with refused(PlanError, f"`{next(iter(field))}`", "no effect on questions"):
        Recipe(**recipe(**field))
