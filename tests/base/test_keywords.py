"""Names that are given where they are not known lead to where they belong."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import veil
from support import refusals
from support.recipes import generalize_data
from veil import KAnonymity, Plan
from veil import hierarchies as h
from veil.errors import ParameterError
from veil.masking import RandomPseudonyms

TABLE = pa.table({"age": [31, 34], "w": [120.5, 80.0]})
PLAN: dict[str, Any] = {"quasi_identifiers": {"age": h.intervals(10)}, "models": KAnonymity(2)}
PLACES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "anonymize": lambda unknown: veil.anonymize(TABLE, **PLAN, **unknown),
    "assess": lambda unknown: veil.assess(TABLE, quasi_identifiers="age", **unknown),
    "frontier": lambda unknown: veil.frontier(TABLE, over={"k": [2]}, **PLAN, **unknown),
    "Plan": lambda unknown: Plan(**PLAN, **unknown),
    "Recipe": lambda unknown: veil.Recipe(
        **generalize_data(
            quasi_identifiers={"age": "auto"}, models=[{"kind": "KAnonymity", "k": 2}], **unknown
        )
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["weights", "weight", "sampling_weights", "weight_column"])
def test_sampling_weights_are_told_where_they_belong(place: str, name: str) -> None:
    with refusals.refused(ParameterError, name, "`weights`", "veil.risk.analyze") as refused:
        PLACES[place]({name: "w"})
    assert "`insensitive`" in str(refused.value)


def test_masking_takes_no_weights_either() -> None:
    with refusals.refused(ParameterError, "`weights`", "mask", "Sampling weights"):
        veil.mask(TABLE, RandomPseudonyms("w"), weights="w")  # type: ignore[call-arg]


FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "mask": (veil.mask, "person"),
    "verify": (veil.verify, "certificate"),
    "run": (veil.run, "overwrite"),
    "promises": (veil.promises, "plan"),
    "profile": (veil.profile, "source"),
    "analyze": (veil.risk.analyze, "population"),
    "individual_risk": (veil.risk.individual_risk, "household"),
    "detect_identifiers": (veil.risk.detect_identifiers, "threshold"),
    "propose_roles": (veil.risk.propose_roles, "threshold"),
    "compare": (veil.utility.compare, "targets"),
    "private_table": (veil.private_table.private_table, "bounds"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_tells_the_nearest_keyword(name: str) -> None:
    function, keyword = FUNCTIONS[name]
    assert keyword in inspect.signature(function).parameters
    told = f"`{keyword}x` is not a parameter of {name}. Did you mean '{keyword}'?"
    with pytest.raises(ParameterError, match=re.escape(told)):
        function(TABLE, **{f"{keyword}x": 1})


@pytest.mark.parametrize("place", ["anonymize", "assess"])
def test_other_keywords_are_told_the_nearest_name(place: str) -> None:
    with refusals.refused(ParameterError, "`sensitiv`", place, "mean 'sensitive'"):
        PLACES[place]({"sensitiv": "w"})
    with refusals.refused(ParameterError, "`household`", "veil.risk.analyze"):
        PLACES[place]({"household": "w"})


def test_the_k_of_k_anonymity_is_told_where_it_belongs() -> None:
    with refusals.refused(ParameterError, "`k`", "models=KAnonymity(5)", "not a parameter"):
        PLACES["anonymize"]({"k": 5})
    with refusals.refused(ParameterError, "`models`", "Plan", "models=KAnonymity(5)"):
        Plan(quasi_identifiers={"age": "auto"})  # type: ignore[call-arg]


def test_the_parameter_that_the_hint_names_takes_them() -> None:
    assert veil.risk.analyze(TABLE, quasi_identifiers=["age"], weights="w") is not None
