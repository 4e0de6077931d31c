"""The step PrivateTable: its schema, and what is refused in it."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from support.refusals import refused
from veil.errors import ParameterError, PlanError
from veil.private_table import Corners, IndividualRanking, MarginalTree
from veil.recipe import Recipe, schema

STEP: dict[str, Any] = {
    "kind": "PrivateTable",
    "neighbours": "one changed",
    "bounds": {"age": [0, 120]},
    "domains": {"sex": ["f", "m"], "job": "hierarchies/job.csv"},
    "method": {"kind": "IndividualRanking", "k": 100},
    "epsilon": "ln(2)",
}


def recipe(changes: dict[str, Any] | None = None, **common: Any) -> dict[str, Any]:
    return {"output": "private.csv", "person": None, "steps": [STEP | (changes or {})]} | common


def step(changes: dict[str, Any]) -> Any:
    return Recipe(**recipe(changes)).steps[0]


def test_the_schema_agrees() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.validate(recipe())
    assert step({}).method == IndividualRanking(100)
    for name in ("neighbours", "method"):
        without = {key: value for key, value in STEP.items() if key != name}
        assert not validator.is_valid({"steps": [without]})
        with refused(ParameterError, f"`steps[0].{name}`"):
            Recipe(person=None, steps=[without])
    with refused(ParameterError, "`person`"):
        Recipe(steps=[STEP])


@pytest.mark.parametrize("field", [{"origins": "o.csv"}, {"certificate": "c.json"}, {"knows": "all rows"}])
def test_fields_without_an_effect_are_refused(field: dict[str, Any]) -> None:
    with refused(PlanError, f"`{next(iter(field))}`", "no effect on PrivateTable"):
        Recipe(**recipe(**field))


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
    assert step({"method": given}).method == made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": {"kind": "Ranking"}}, "there is no kind 'Ranking'"),
        ({"method": {"kind": "Corners", "k": 0}}, "`k` should be a whole number from 1 on"),
        ({"method": {"k": 3}}, "`kind` is required"),
        (
            {"neighbours": "any"},
            "`steps\\[0\\].neighbours` should be 'one more or less' or 'one changed', not 'any'",
        ),
        ({"epsilom": 1}, "epsilom"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        step(change)


def test_a_domain_must_not_be_made_from_the_data() -> None:
    made = step({"domains": {"zip": {"kind": "redaction"}}})
    with refused(PlanError, "without the data"):
        made.known_domains()
    rows = {"kind": "table", "rows": [["f", "*"], ["m", "*"]]}
    made = step({"domains": {"sex": rows}})
    assert made.known_domains()["sex"].labels[0] == ("f", "m")  # type: ignore[union-attr]
