"""Ways of recoding: parameters, kinds told apart, and what a plan refuses."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from support.refusals import refused
from veil.dp import SafePub
from veil.errors import ParameterError, PlanError, Say
from veil.models import Inclusion, KAnonymity
from veil.plan.plan import Plan
from veil.plan.recoding import AnyRecoding, Recoding
from veil.quality import Ambiguity, Loss, NonUniformEntropy, Precision
from veil.recoding import Cells, FastIterative, FromTheStart, FullDomain, Iterative, SinglePass, Subtree


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SinglePass(1.5), "`factor` of SinglePass should be from 0 to 1, not 1.5"),
        (lambda: Iterative(iterations=0), "`iterations` of Iterative should be greater than or equal to 1"),
        (lambda: Iterative(adaptation=-1), "`adaptation` of Iterative should be from 0 to 1, not -1"),
        (lambda: Cells(coarsening=-0.1), "`coarsening` of Cells should be from 0 to 1, not -0.1"),
        (lambda: FastIterative(0), "`share` of FastIterative should be more than 0 and at most 1, not 0"),
    ],
)
def test_parameters_out_of_range(make: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        make()


def test_modes_are_told_apart_by_kind() -> None:
    """What a recipe says is the mode that it names."""
    read = TypeAdapter(AnyRecoding).validate_python
    assert read({"kind": "FastIterative", "share": 0.2}) == FastIterative(0.2)
    assert read({"kind": "Iterative", "iterations": 7}) == Iterative(iterations=7)
    assert read({"kind": "SinglePass"}) == SinglePass()
    assert read({"kind": "Cells"}) == Cells()
    assert read({"kind": "Cells", "coarsening": 0.002}) == Cells(coarsening=0.002)


def plan(**fields: Any) -> Plan:
    return Plan(**{"quasi_identifiers": {"age": "suppression"}, "models": KAnonymity(2), **fields})


@pytest.mark.parametrize(
    ("name", "recoding"),
    [
        ("full-domain", FullDomain()),
        ("subtree", Subtree()),
        ("cells", Cells()),
        ("from the start", FromTheStart()),
        (Iterative(0.5), Iterative(0.5)),
    ],
)
def test_a_plan_names_its_recoding(name: Any, recoding: Recoding) -> None:
    assert plan(recoding=name).recoding == recoding


def test_without_a_limit_cells_and_subtree_take_half_a_minute() -> None:
    assert [plan(recoding=each).seconds for each in ("cells", "subtree")] == [30.0, 30.0]
    assert plan(recoding="cells", time_limit=2).seconds == 2
    assert plan(recoding="fast-iterative").seconds == plan().seconds


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"recoding": "cels"}, ("`recoding`", "cells", "'cels'")),
        ({"recoding": 3}, ("`recoding`", "3")),
    ],
)
def test_no_way_of_recoding(fields: dict[str, Any], words: tuple[str, ...]) -> None:
    with refused(ParameterError, *words):
        plan(**fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"quality": Ambiguity()}, ("Ambiguity", Say("quality"), Say("recoding", "full-domain"))),
        ({"quality": Loss(aggregate="maximum")}, ("mean", "maximum", "`aggregate`")),
        ({"quality": Precision(aggregate="geometric_mean")}, ("geometric_mean", "`aggregate` of Precision")),
        ({"quality": NonUniformEntropy(monotone=True)}, ("`monotone` of NonUniformEntropy",)),
        ({"quality": Precision(factor=0.3)}, ("`factor` of Precision",)),
        ({"check_limit": 5}, (Say("check_limit"), Say("time_limit"))),
        ({"microaggregated": {"age": "mean"}}, (Say("microaggregated"),)),
    ],
)
@pytest.mark.parametrize("recoding", ["cells", "subtree"])
def test_what_cannot_be_said_of_cells(recoding: str, fields: dict[str, Any], words: Any) -> None:
    plan(**fields)
    with refused(PlanError, *words):
        plan(**fields, recoding=recoding)


@pytest.mark.parametrize("recoding", ["cells", "subtree", "fast-iterative"])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"choose_by": "quasi-identifiers"}, (Say("choose_by", "all columns"),)),
        ({"models": Inclusion(subset=[0, 1])}, ("research subset",)),
        ({"models": SafePub(1, 1e-4), "person": None}, ("SafePub", Say("recoding"))),
    ],
)
def test_what_needs_one_level_for_a_column(recoding: str, fields: dict[str, Any], words: Any) -> None:
    plan(**fields)
    with refused(PlanError, *words):
        plan(**fields, recoding=recoding)


def test_the_plan_from_the_start_may_be_used_again() -> None:
    first = FromTheStart(4).first(plan(recoding=FromTheStart(4)))
    assert first.suppression_limit == 0.75
    assert FromTheStart(4).first(first) == first
    with refused(PlanError, "`suppression_limit`"):
        FromTheStart(5).first(first)
