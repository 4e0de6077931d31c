"""The options of a plan, made of its fields; and the ways out of errors in the words of each side."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from support.cli import PLAN, veil
from veil import Plan
from veil.cli.options import flag_of, plan_options, spell_option
from veil.errors import PlanError, Say, VeilError
from veil.recipe import Recipe
from veil.recipe.generalize import COMMON
from veil.recipe.generalize import FIELDS as GENERALIZE

FLAGS = {
    "quasi_identifiers": "--qi",
    "models": "--model",
    "microaggregated": "--microaggregate",
    "sensitive": "--sensitive",
    "insensitive": "--insensitive",
    "identifying": "--identifying",
    "items": "--items",
    "person": "--person",
    "pseudonym_key": "--pseudonym-key",
    "knows": "--knows",
    "others": "--others",
    "recoding": "--recoding",
    "quality": "--quality",
    "suppression_limit": "--suppression-limit",
    "minimum_levels": "--minimum-level",
    "maximum_levels": "--maximum-level",
    "strategy": "--strategy",
    "time_limit": "--time-limit",
    "check_limit": "--check-limit",
    "suppressed_rows": "--suppressed-rows",
    "choose_by": "--choose-by",
    "marker": "--marker",
    "order": "--order",
}


def test_every_field_of_a_plan_is_an_option_and_a_field_of_recipes() -> None:
    fields = [field.name for field in dataclasses.fields(Plan)]
    assert {name: flag_of(name) for name in fields} == FLAGS
    assert [each.name for each in plan_options()] == fields
    assert set(fields) == {*GENERALIZE, *COMMON}
    assert set(COMMON) < set(Recipe.model_fields)


def test_the_help_says_what_the_plan_says() -> None:
    helped = " ".join(veil("anonymize", "--help").out.replace("│", " ").split())
    for told in (
        "--qi COLUMN=HIERARCHY",
        "--others keep|drop",
        "--suppressed-rows blank|keep cells|drop",
        "--order random|input",
        "Default: loss.",
        "Default: 0.",
        "Default: blank.",
        "Default: *.",
        *FLAGS.values(),
    ):
        assert told in helped
    for each in plan_options():
        about = Plan.__pydantic_fields__[each.name].description.split(";")[0].split(",")[0].split(":")[0]
        text = each.annotation.__metadata__[0].help
        assert text.lower().startswith(about.split(". ")[0])
        assert text.endswith(".")


def test_the_list_of_commands_knows_the_command_without_its_options() -> None:
    assert "Anonymize a table, following a recipe or options." in " ".join(veil("--help").out.split())


@pytest.mark.parametrize(
    ("way", "python", "options"),
    [
        (Say("others", "keep"), 'others="keep"', "--others keep"),
        (Say("overwrite", True), "overwrite=True", "--overwrite"),
        (Say("quasi_identifiers"), "`quasi_identifiers`", "--qi"),
        (Say("engine"), "`engine`", "--engine"),
        (Say("engine", "memory"), 'engine="memory"', "--engine memory"),
        (Say("engine", "Settings", memory=...), "Settings(memory=...)", "--memory ..."),
        (Say("format", "Csv", header=False), "format=Csv(header=False)", "--format csv:header=false"),
        (Say("format", "Csv", skip=1), "format=Csv(skip=1)", "--format csv:skip=1"),
        (Say("format", "Csv", quote=None), "format=Csv(quote=None)", "--format csv:quote=null"),
        (Say("format", "Csv", quote='"'), "format=Csv(quote='\"')", "--format 'csv:quote=\"'"),
        (Say("format", "Excel", skip=3), "format=Excel(skip=3)", "--format excel:skip=3"),
        (Say("quasi_identifiers", "dates", format="%Y"), 'dates(…, format="%Y")', "--qi 'COLUMN=dates:…,format=%Y'"),
        (Say("apart", "FOLDER"), 'apart="FOLDER"', "--apart FOLDER"),
    ],
)  # fmt: skip
def test_ways_out_in_python_and_as_options(way: Say, python: str, options: str) -> None:
    assert (str(way), spell_option(way)) == (python, options)


def test_errors_keep_their_ways_out_as_data() -> None:
    error = PlanError("say ", Say("others", "keep"), " or ", Say("overwrite", True)).after("recipe.yaml: ")
    assert isinstance(error, PlanError)
    assert [each for each in error.words if isinstance(each, Say)] == [
        Say("others", "keep"),
        Say("overwrite", True),
    ]
    assert str(error) == 'recipe.yaml: say others="keep" or overwrite=True'
    some = error.spell_ways(lambda way: "others: keep" if way.field == "others" else None)
    assert str(some) == "recipe.yaml: say others: keep or overwrite=True"
    assert str(some.spell_ways(spell_option)) == "recipe.yaml: say others: keep or --overwrite"
    assert str(VeilError("plain")) == "plain"


@pytest.mark.parametrize("given", ["abc", "1.5"])
def test_numbers_are_checked_by_the_plan(folder: Path, given: str) -> None:
    ran = veil("anonymize", "patients.csv", *PLAN, "-o", "release.csv", "--suppression-limit", given)
    assert ran.code == 2
    assert "`suppression_limit` should be" in ran.err
    assert given in ran.err


@pytest.mark.parametrize("command", ["anonymize patients.csv", "mask patients.csv", "run recipe.yaml"])
def test_an_option_that_belongs_elsewhere(command: str) -> None:
    for option, told in {"--weights": "veil risk --weights", "--household": "veil risk --household"}.items():
        ran = veil(*command.split(), option, "w")
        assert ran.code == 2
        assert told in " ".join(re.sub("[│\n]", " ", ran.err).split())
    ran = veil("risk", "patients.csv", "--weights")
    assert ran.code == 2
    assert "requires an argument" in ran.err
    assert "Sampling weights" not in ran.err
