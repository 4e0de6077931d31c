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
