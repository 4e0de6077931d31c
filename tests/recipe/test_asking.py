"""Recipes of questions: their schema, and what is refused in them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from veil.errors import ParameterError
from veil.recipe.asking import AskingRecipe, asking_schema

SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "asking.schema.json"
GOOD = {
    "input": "patients.csv",
    "neighbours": "one changed",
    "person": None,
    "bounds": {"age": [0, 120]},
    "missing": {"age": "leave out"},
    "questions": [{"ask": "mean", "of": "age", "epsilon": "ln(2)/10"}, {"ask": "count", "epsilon": 0.1}],
}


def test_the_schema_is_valid_up_to_date_and_agrees() -> None:
    jsonschema.Draft202012Validator.check_schema(asking_schema())
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == asking_schema(), (
        "run `python docs/make_reference.py`"
    )
    validator = jsonschema.Draft202012Validator(asking_schema())
    validator.validate(GOOD)
    assert AskingRecipe.model_validate(GOOD).questions[0].of == ["age"]
    without = {name: value for name, value in GOOD.items() if name != "neighbours"}
    assert not validator.is_valid(without)
    with pytest.raises(ParameterError, match="`neighbours`"):
        AskingRecipe.model_validate(without)


def test_whose_rows_there_are_has_to_be_said(tmp_path: Path) -> None:
    without = {name: value for name, value in GOOD.items() if name != "person"}
    assert not jsonschema.Draft202012Validator(asking_schema()).is_valid(without)
    place = tmp_path / "ask.yaml"
    for given, message in (
        (without, "say whose rows these are, .*: person: null if every row is .*`person`.*`rows_per_person`"),
        ({**GOOD, "person": "patient"}, "say how many rows somebody of 'patient' has at most"),
        ({**GOOD, "rows_per_person": 3}, "every row is a different person, so that none has 3"),
    ):
        place.write_text(json.dumps(given))
        with pytest.raises(ParameterError, match=message):
            AskingRecipe.read(place)
    assert (
        AskingRecipe.model_validate({**GOOD, "person": "patient", "rows_per_person": 3}).rows_per_person == 3
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"questions": []}, "`questions`"),
        ({"questions": [{"ask": "count", "epsilom": 1}]}, "epsilom"),
        ({"neighbours": "any"}, "`neighbours` should be 'one more or less' or 'one changed', not 'any'"),
        ({"outside": "tell"}, "`outside` should be 'clamp' or 'leave out', not 'tell'"),
    ],
)
def test_what_cannot_be_is_refused(change, message) -> None:
    with pytest.raises(ParameterError, match=message):
        AskingRecipe.model_validate({**GOOD, **change})
