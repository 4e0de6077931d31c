from __future__ import annotations

import pytest

from veil import KAnonymity, Plan
from veil import hierarchies as h
from veil.errors import ParameterError, PlanError
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
        (
            {"suppression_limit": 1.5},
            "`suppression_limit` of Plan should be less than or equal to 1, not 1.5",
        ),
        ({"suppression_limit": -0.1}, "`suppression_limit` of Plan should be greater than or equal to 0"),
        ({"suppression_limit": float("nan")}, "`suppression_limit`"),
        ({"quality": "los"}, "Did you mean 'loss'"),
        ({"minimum_levels": {"agee": 1}}, "`minimum_levels` names 'agee'.*Did you mean 'age'"),
        ({"minimum_levels": {"age": 2}, "maximum_levels": {"age": 1}}, "minimum level 2 of 'age' is above"),
        ({"suppressed_rows": "hide"}, "`suppressed_rows` of Plan should be 'keep' or 'drop', not 'hide'"),
    ],
)
def test_a_plan_that_cannot_work_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**changes)


def test_parameters_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="`k` of KAnonymity should be greater than or equal to 1, not 0"):
        KAnonymity(0)
    with pytest.raises(ParameterError, match="`k` of KAnonymity should be a valid integer"):
        KAnonymity(2.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="`q` of KAnonymity is not a parameter"):
        KAnonymity(2, q=1)  # type: ignore[call-arg]


def test_columns_without_a_role_are_refused_by_name() -> None:
    with pytest.raises(PlanError, match="column 'note' has no role.*others='keep' or others='drop'"):
        plan().check_columns(["age", "sex", "note"])
    with pytest.raises(PlanError, match="columns 'note', 'zip' have no role"):
        plan().check_columns(["age", "sex", "note", "zip"])
    plan(others="keep").check_columns(["age", "sex", "note"])
    assert plan(others="keep").role_of("note") == "insensitive"
    assert plan(others="drop").role_of("note") == "dropped"


def test_columns_of_the_plan_must_exist() -> None:
    with pytest.raises(
        PlanError, match="no column 'sex', which the plan calls quasi-identifying. Did you mean 'sexe'"
    ):
        plan().check_columns(["age", "sexe"])
