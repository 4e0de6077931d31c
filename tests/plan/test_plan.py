from __future__ import annotations

import math
from typing import Any

import pytest

from support import refusals
from veil import KAnonymity, Plan
from veil import hierarchies as h
from veil.cli.options import spell_option
from veil.errors import ParameterError, PlanError, Say
from veil.lattice import Auto
from veil.models import TCloseness
from veil.quality import Loss, Precision


def plan(**changes: object) -> Plan:
    fields: dict[str, object] = {
        "quasi_identifiers": {"age": h.intervals(10), "sex": "suppression"},
        "models": KAnonymity(2),
    }
    return Plan(**(fields | changes))  # type: ignore[arg-type]


def test_short_forms_become_what_they_stand_for() -> None:
    made = plan(
        sensitive="diagnosis",
        identifying=["name", "phone"],
        quality="precision",
        quasi_identifiers={"a": {"kind": "suppression"}},
    )
    assert made.quasi_identifiers == {"a": h.suppression()}
    assert made.models == (KAnonymity(2),)
    assert made.sensitive == ("diagnosis",)
    assert made.identifying == {"name": "remove", "phone": "remove"}
    assert made.quality == Precision()
    assert plan().quality == Loss()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quasi_identifiers": {}}, "no quasi-identifier"),
        ({"quasi_identifiers": ["age"]}, "map each column to its hierarchy"),
        ({"quasi_identifiers": {"age": 5}}, "needs a hierarchy, not 5"),
        ({"quasi_identifiers": {"age": "intervalls"}}, "intervalls"),
        ({"models": []}, "`models`.*at least 1 item"),
        ({"models": ["k"]}, "`models"),
        ({"sensitive": ["age"]}, "'age' cannot be both quasi-identifying and sensitive"),
        ({"sensitive": ["ill", "ill"]}, "column 'ill' is named twice in `sensitive`: leave one out"),
        (
            {"sensitive": ["cost"], "microaggregated": {"cost": "mean"}},
            "column 'cost' stands in `microaggregated`, which makes it a quasi-identifier, and cannot be sensitive as well",
        ),
        (
            {"suppression_limit": 1.5},
            "`suppression_limit` of Plan should be from 0 to 1, not 1.5",
        ),
        ({"suppression_limit": -0.1}, "`suppression_limit` of Plan should be from 0 to 1, not -0.1"),
        ({"suppression_limit": float("nan")}, "`suppression_limit`"),
        ({"suppression_limit": "5%"}, "`suppression_limit` of Plan should be a number from 0 to 1, not '5%'"),
        ({"suppression_limit": True}, "`suppression_limit` of Plan should be a number from 0 to 1, not True"),
        (
            {"minimum_levels": {"age": True}},
            "`minimum_levels.age` of Plan should be a valid integer, not True",
        ),
        ({"quality": "los"}, "Did you mean 'loss'"),
        ({"minimum_levels": {"agee": 1}}, "`minimum_levels` names 'agee'.*Did you mean 'age'"),
        ({"minimum_levels": {"age": 2}, "maximum_levels": {"age": 1}}, "minimum level 2 of 'age' is above"),
        (
            {"suppressed_rows": "hide"},
            "`suppressed_rows` of Plan should be 'blank', 'keep cells' or 'drop', not 'hide'",
        ),
    ],
)
def test_a_plan_that_cannot_work_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**changes)


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("models", KAnonymity, r"KAnonymity\(5\), not the class KAnonymity itself: write KAnonymity\(...\)"),
        ("models", [KAnonymity(2), KAnonymity], r"not the class KAnonymity itself: write KAnonymity\(...\)"),
        ("models", None, "`models` should be a privacy model or a list of them, .*, not None"),
        ("models", 5, "`models` should be a privacy model or a list of them, .*, not 5"),
        (
            "models",
            "k-anonymity",
            "`models` should be a privacy model or a list of them, .*, not 'k-anonymity'",
        ),
        ("models", {"kind": "KAnonymity", "k": 2}, r"`models` should be .*KAnonymity\(5\), not {'kind'"),
        ("models", [[KAnonymity(2)]], r"`models` should be .*, not \[KAnonymity\(k=2\)\]"),
        ("quality", Loss, r"`quality` should be .*, not the class Loss itself: write Loss\(...\)"),
        ("quality", None, r"`quality` should be .*, for example Loss\(\) or 'loss', not None"),
        ("strategy", Auto, r"`strategy` should be .*, not the class Auto itself: write Auto\(...\)"),
        ("strategy", 5, r"`strategy` should be .*, for example Auto\(\) or 'auto', not 5"),
        ("quasi_identifiers", 5, "`quasi_identifiers` should map each column to its hierarchy, .* Got 5"),
        ("quasi_identifiers", [["age"]], r"should map each column to its hierarchy, .* Got \[\['age'\]\]"),
        (
            "quasi_identifiers",
            (each for each in "ab"),
            "should map each column to its hierarchy, .* Got <gen",
        ),
        (
            "quasi_identifiers",
            {"age": h.Intervals},
            r"not the class Intervals itself: write Intervals\(...\)",
        ),
        ("quasi_identifiers", {"age": h.read}, r"not the function read itself: write read\(...\)"),
        ("quasi_identifiers", {"age": {"widths": [5]}}, "hierarchy: `kind` is required"),
        (
            "quasi_identifiers",
            {"age": "intervalls"},
            "there is no kind 'intervalls'. Did you mean 'intervals'",
        ),
        ("sensitive", 5, "`sensitive` should be the name of a column or a list of names, not 5"),
        ("sensitive", None, "`sensitive` should be the name of a column or a list of names, not None"),
        (
            "insensitive",
            [["a"]],
            r"`insensitive` should be the name of a column or a list .*, not \[\['a'\]\]",
        ),
        ("identifying", 5, "`identifying` should be the name of a column or a list of names, not 5"),
        (
            "identifying",
            {"name": "hide"},
            "`identifying.name` of Plan should be 'remove', 'mask' or 'pseudonym', not 'hide'",
        ),
        ("microaggregated", 5, "`microaggregated` of Plan should be a mapping of names to values, not 5"),
    ],
)
def test_the_wrong_kind_of_thing_is_refused_in_words(parameter: str, value: object, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**{parameter: value})


def test_what_is_as_good_as_a_list_is_taken() -> None:
    assert plan(models=(each for each in [KAnonymity(2)])).models == (KAnonymity(2),)
    assert plan(sensitive={"a": 1}.keys()).sensitive == ("a",)
    assert plan(time_limit=float("inf")).time_limit == float("inf")


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        ({}, 30),
        ({"strategy": "optimal"}, math.inf),
        ({"time_limit": 5}, 5),
        ({"check_limit": 100}, math.inf),  # no clock decides what is found
        ({"check_limit": 100, "time_limit": 5}, 5),
    ],
)
def test_how_long_a_search_may_take(limits: dict[str, Any], seconds: float) -> None:
    assert plan(**limits).seconds == seconds


@pytest.mark.parametrize(
    ("column", "changes", "message", "by_options"),
    [
        (
            "S",
            {"sensitive": ["s", "other"]},
            "add it to `sensitive`, or correct its name. Did you mean 's'?",
            "add it to --sensitive, or correct its name. Did you mean 's'?",
        ),
        (
            "xyz",
            {"sensitive": ["s"]},
            "add it to `sensitive`, or correct its name. Choose from: 's'.",
            "add it to --sensitive, or correct its name. Choose from: 's'.",
        ),
        (
            "s",
            {},
            "add it to `sensitive`, or correct its name",
            "add it to --sensitive, or correct its name",
        ),
        (
            "age",
            {"sensitive": ["s"]},
            "cannot be both that and sensitive: take it out of `quasi_identifiers` and add it to `sensitive`, or have",
            "take it out of --qi and add it to --sensitive, or have the model speak of another column",
        ),
        (
            "pay",
            {"microaggregated": {"pay": "mean"}},
            "take it out of `microaggregated` and add it to `sensitive`",
            "take it out of --microaggregate and add it to --sensitive",
        ),
        (
            "s",
            {"insensitive": ["s"]},
            "which is insensitive, not sensitive: take it out of `insensitive` and add it to `sensitive`",
            "take it out of --insensitive and add it to --sensitive",
        ),
    ],
)
def test_a_model_of_a_column_that_is_not_sensitive_is_refused_with_the_ways_out(
    column: str, changes: dict[str, object], message: str, by_options: str
) -> None:
    model = TCloseness(column, 0.5)
    with refusals.refused(PlanError, f"column '{column}'", message) as refused:
        plan(models=model, **changes)
    assert by_options in str(refused.value.spell_ways(spell_option))


def test_parameters_are_refused_by_name() -> None:
    with refusals.refused(ParameterError, "`k`", "KAnonymity", "not 0"):
        KAnonymity(0)
    with refusals.refused(ParameterError, "`k`", "KAnonymity", "valid integer"):
        KAnonymity(2.5)  # type: ignore[arg-type]
    with refusals.refused(ParameterError, "`q`", "KAnonymity", "not a parameter"):
        KAnonymity(2, q=1)  # type: ignore[call-arg]


def test_columns_without_a_role_are_refused_by_name() -> None:
    with refusals.refused(
        PlanError, "'note'", "no role", Say("quasi_identifiers"), Say("others", "keep"), Say("others", "drop")
    ):
        plan().check_columns(["age", "sex", "note"])
    with refusals.refused(PlanError, "'note', 'zip'", "no role"):
        plan().check_columns(["age", "sex", "note", "zip"])
    plan(others="keep").check_columns(["age", "sex", "note"])
    assert plan(others="keep").role_of("note") == "insensitive"
    assert plan(others="drop").role_of("note") == "dropped"


def test_columns_of_the_plan_must_exist() -> None:
    with refusals.refused(PlanError, "no column 'sex'", "quasi-identifying", "mean 'sexe'"):
        plan().check_columns(["age", "sexe"])
