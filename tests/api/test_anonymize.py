"""The verb anonymize: a plan or its fields, and the ways that it can go."""

from __future__ import annotations

import dataclasses
import inspect
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.refusals import refused
from veil import KAnonymity, Plan, SafePub, TCloseness
from veil import hierarchies as h
from veil.errors import InputError, NoSolutionError, ParameterError, PlanError
from veil.recoding import FastIterative, FromTheStart

PEOPLE = pa.table({"age": [21, 22, 23, 24, 35, 36, 51, 78], "ill": list("abababab")})
FIELDS: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(10, 20, 100)},
    "models": KAnonymity(2),
    "sensitive": ["ill"],
    "suppression_limit": 0.3,
    "order": "input",
}


def test_a_plan_and_its_fields_are_the_same() -> None:
    by_plan, by_fields = veil.anonymize(PEOPLE, Plan(**FIELDS)), veil.anonymize(PEOPLE, **FIELDS)
    assert by_plan.arrow == by_fields.arrow
    assert by_plan.plan == by_fields.plan == Plan(**FIELDS)


def test_a_field_beside_a_plan_is_refused() -> None:
    with refused(PlanError, "`suppression_limit`", "in the plan"):
        veil.anonymize(PEOPLE, Plan(**FIELDS), suppression_limit=0.1)
    with refused(PlanError, "`quasi_identifiers`", "`models`"):
        veil.anonymize(PEOPLE, models=KAnonymity(2))
    with refused(ParameterError, "`plan`", "a Plan"):
        veil.anonymize(PEOPLE, {"age": "suppression"})


def test_the_keywords_are_the_fields_of_a_plan_with_their_defaults() -> None:
    keywords = inspect.signature(veil.anonymize).parameters
    assert [each.name for each in dataclasses.fields(Plan) if each.name not in keywords] == []
    least = {"quasi_identifiers": {"age": "suppression"}, "models": KAnonymity(2)}
    plan = Plan(**least)
    for each in dataclasses.fields(Plan):
        default = keywords[each.name].default
        if each.name not in least and default is not None:
            assert getattr(Plan(**least, **{each.name: default}), each.name) == getattr(plan, each.name)


def test_local_goes_on_with_what_was_suppressed() -> None:
    plan = Plan(**FIELDS | {"quality": veil.quality.Loss(factor=0)})
    release = veil.anonymize(PEOPLE, plan)
    local = veil.anonymize(PEOPLE, dataclasses.replace(plan, recoding=FastIterative(0.2)))
    again = release.local_recoding(FastIterative(0.2))
    assert local.arrow == again.arrow
    assert (local.passes, local.ending) == (again.passes, again.ending)
    assert local.suppressed < release.suppressed
    start = veil.anonymize(PEOPLE, dataclasses.replace(plan, suppression_limit=0, recoding=FromTheStart(4)))
    assert start.suppressed == 0


def test_what_cannot_go_together_is_refused() -> None:
    with refused(ParameterError, "`recoding`", "way of recoding"):
        veil.anonymize(PEOPLE, **FIELDS, recoding=True)
    with refused(InputError, "in memory", "`parts`"):
        veil.anonymize(PEOPLE, **FIELDS, parts=True)
    with refused(PlanError, "`parts`", "FastIterative"):
        veil.anonymize(PEOPLE, **FIELDS, parts=True, recoding=FastIterative())
    with refused(PlanError, "only for SafePub"):
        veil.anonymize(PEOPLE, **FIELDS, for_testing_seed=1)
    private = {"quasi_identifiers": {"age": h.intervals(50).build(pa.array(range(100)), [1] * 100, "age")}}
    with refused(PlanError, "suppressed records", "`recoding`"):
        veil.anonymize(
            PEOPLE, **private, models=SafePub(1, 0.1), others="drop", recoding=FastIterative(), person=None
        )


def test_everything_that_takes_a_table_takes_a_release() -> None:
    release = veil.anonymize(PEOPLE, **FIELDS | {"models": [KAnonymity(2), TCloseness("ill", 0.9)]})
    assert veil.verify(release).holds
    found = veil.assess(release, sensitive="ill")
    assert found.suppressed == release.suppressed
    assert str(found) == str(veil.assess(release.arrow, quasi_identifiers="age", sensitive="ill"))
    assert str(veil.risk.analyze(release)) == str(veil.risk.analyze(release.arrow, "age"))
    alone = veil.utility.compare(release, queries=0)
    assert str(alone) == str(release.utility(queries=0))
    assert (
        veil.utility.compare(PEOPLE, release, {"age": FIELDS["quasi_identifiers"]["age"]}, queries=0).records
        == 8
    )
    with refused(PlanError, "nothing to compare"):
        veil.utility.compare(PEOPLE)


@pytest.mark.parametrize(
    ("alike", "alone", "limit"), [(5, 10, 10 / 15), (2, 1, Fraction(1, 3)), (71, 29, 0.29)]
)
def test_a_limit_is_the_share_that_was_meant(alike: int, alone: int, limit: Any) -> None:
    """10 / 15 as a double is less than two thirds, and 1 / 3 has no end."""
    table = pa.table({"job": ["x"] * alike + [str(number) for number in range(alone)]})
    plan = {"quasi_identifiers": {"job": h.identity()}, "models": KAnonymity(2)}
    made = veil.anonymize(table, suppression_limit=limit, **plan)
    assert made.suppressed == alone
    assert f"at most {alone} record" in str(made.verification)
    with pytest.raises(NoSolutionError):
        veil.anonymize(table, suppression_limit=float(limit) - 1e-9, **plan)
