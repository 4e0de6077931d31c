"""Recipes of private tables: their schema, and what is refused in them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from support.refusals import refused
from veil.dp import Corners, IndividualRanking, MarginalTree
from veil.errors import ParameterError, PlanError
from veil.recipe.private_table import PrivateTableRecipe, private_table_schema

SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "private-table.schema.json"
GOOD = {
    "input": "patients.csv",
    "output": "private.csv",
    "neighbours": "one changed",
    "person": None,
    "bounds": {"age": [0, 120]},
    "domains": {"sex": ["f", "m"], "job": "hierarchies/job.csv"},
    "method": {"kind": "IndividualRanking", "k": 100},
    "epsilon": "ln(2)",
}


def test_the_schema_is_valid_up_to_date_and_agrees() -> None:
    jsonschema.Draft202012Validator.check_schema(private_table_schema())
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == private_table_schema(), (
        "run `python docs/make_reference.py`"
    )
    validator = jsonschema.Draft202012Validator(private_table_schema())
    validator.validate(GOOD)
    assert PrivateTableRecipe.model_validate(GOOD).method == IndividualRanking(100)
    for name in ("neighbours", "method", "person"):
        without = {key: value for key, value in GOOD.items() if key != name}
        assert not validator.is_valid(without)
        with pytest.raises(ParameterError, match=f"`{name}`"):
            PrivateTableRecipe.model_validate(without)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("MarginalTree", MarginalTree()),
        ({"kind": "MarginalTree", "breaks": {"age": [18, 65]}}, MarginalTree({"age": [18, 65]})),
        ({"kind": "Corners", "k": 50, "as_published": "true"}, Corners(50, as_published=True)),
        ({"kind": "IndividualRanking", "k": "auto"}, IndividualRanking("auto")),
    ],
)
def test_every_method_can_be_named(given: object, made: object) -> None:
    assert PrivateTableRecipe.model_validate({**GOOD, "method": given}).method == made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": {"kind": "Ranking"}}, "there is no kind 'Ranking'"),
        ({"method": {"kind": "Corners", "k": 0}}, "`k` should be a whole number from 1 on"),
        ({"method": {"k": 3}}, "`kind` is required"),
        ({"neighbours": "any"}, "`neighbours` should be 'one more or less' or 'one changed', not 'any'"),
        ({"epsilom": 1}, "epsilom"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PrivateTableRecipe.model_validate({**GOOD, **change})


def test_a_domain_must_not_be_made_from_the_data() -> None:
    recipe = PrivateTableRecipe.model_validate({**GOOD, "domains": {"zip": {"kind": "redaction"}}})
    with refused(PlanError, "without the data"):
        recipe.known_domains()
    rows = {"kind": "table", "rows": [["f", "*"], ["m", "*"]]}
    recipe = PrivateTableRecipe.model_validate({**GOOD, "domains": {"sex": rows}})
    assert recipe.known_domains()["sex"].labels[0] == ("f", "m")  # type: ignore[union-attr]
