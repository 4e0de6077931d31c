"""Models of people who show several values, against all choices of one value of each person."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle
from support.models import ours
from support.oracle.people import Longitudinal, breaches
from veil import hierarchies as h
from veil.errors import HierarchyError, ImpossibleError, ParameterError
from veil.lattice.evaluator import Evaluator
from veil.models import PrivacyModel, TCloseness
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.published.table import Published
from veil.tables.rows import Owners, Rows
from veil.verification.release import verify_model

MANY = int(os.environ.get("VEIL_FUZZ", "0")) or 40
TREE = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"]]

EXACT = [
    oracle.DeltaDisclosure("dx", 0.7),
    oracle.DeltaDisclosure("dx", 1.5),
    oracle.RatioDistance("dx", 1.5),
    oracle.RatioDistance("dx", 3),
    oracle.BetaLikeness("dx", 0.5, False),
    oracle.BetaLikeness("dx", 1, True),
    oracle.AlphaKAnonymity("dx", 0.6, 2),
]
SAFE = [
    oracle.TCloseness("dx", 0.2, "equal"),
    oracle.TCloseness("dx", 0.45, "equal"),
    oracle.TCloseness("dx", 0.3, "ordered"),
    oracle.TCloseness("dx", 0.3, "hierarchical", None, TREE),
    oracle.TCloseness("dx", 0.5, "hierarchical", None, TREE),
    oracle.EntropyLDiversity("dx", 1.5, "Grassberger"),
    oracle.EntropyLDiversity("dx", 1.5, "Shannon"),
]

classes = st.lists(
    st.lists(st.sets(st.sampled_from("abcd*"), min_size=1, max_size=3), min_size=1, max_size=5),
    min_size=1,
    max_size=3,
)
"""The values that the people of each class show; "*" is withheld."""


def table_of(shown: list[list[set[str]]]) -> pa.Table:
    """Rows of people of whom each is in one class; somebody has two rows in any case."""
    rows = [
        (f"{c}.{i}", str(c), value)
        for c, people in enumerate(shown)
        for i, values in enumerate(people)
        for value in sorted(values)
    ]
    rows.append(rows[0])
    return pa.table(dict(zip(("who", "class", "dx"), map(list, zip(*rows, strict=True)), strict=True)))


def rejected(table: pa.Table, model: PrivacyModel) -> set[str]:
    """The classes that a search rejects."""
    plan = Plan({"class": h.suppression()}, model, sensitive="dx", person="who")
    prepared = prepare(table, plan)
    judged = Evaluator(prepared.sample, plan.models, plan.quality, 1.0).judge((0,), prepared.sample.table)
    of_row = prepared.sample.classes_of_rows((0,))[1]
    marks = judged.node.rejected.astype(bool)[of_row]
    return {name for name, mark in zip(table["class"].to_pylist(), marks, strict=True) if mark}


def unsafe(table: pa.Table, model: Any) -> set[str]:
    """The classes of which some view breaks the model."""
    rows = table.to_pylist()
    everybody = [(row["who"], row) for row in rows]
    names = sorted({row["class"] for row in rows})
    found = set()
    for name in names:
        some = [row for row in rows if row["class"] == name]
        seen = Longitudinal(some, [row["who"] for row in some], ["class"])
        if breaches(model, seen, everybody, all_rows=False):
            found.add(name)
    return found


def holds(table: pa.Table, model: PrivacyModel, name: str) -> bool:
    """Whether the verifier says that a class keeps the promise."""
    some = table.filter(pa.array([each == name for each in table["class"].to_pylist()]))
    published = Published(
        Rows.of(some, None, Owners.of(some, "who")),
        ["class"],
        suppressed="none",
        baseline=Rows.of(table, None, Owners.of(table, "who")),
    )
    return verify_model(published, model).holds


@pytest.mark.parametrize("model", [*EXACT, *SAFE], ids=str)
@settings(max_examples=MANY, deadline=None)
@given(shown=classes)
def test_no_choice_of_values_breaks_what_is_accepted(model: Any, shown: list[list[set[str]]]) -> None:
    table = table_of(shown)
    mine = ours(model)
    assert mine is not None
    try:
        refused, wrong = rejected(table, mine), unsafe(table, model)
    except (HierarchyError, ImpossibleError, ParameterError):
        return  # no table is asked for that
    decided = {str(c) for c, people in enumerate(shown) if all(len(values) == 1 for values in people)}
    assert wrong <= refused
    assert refused & decided <= wrong
    if model in EXACT:
        assert refused == wrong
    for name in set(table["class"].to_pylist()):
        kept = holds(table, mine, name)
        assert kept if name not in refused else not kept or name not in wrong
        assert model not in EXACT or kept == (name not in refused)


def test_a_class_in_which_somebody_shows_two_values_may_be_close_enough() -> None:
    """Ten people as in the table, and an eleventh who shows both values, and is counted for each: 2 · (6/11 - 1/2) = 1/11."""
    shown = [[{"a"}] * 5 + [{"b"}] * 5 + [{"a", "b"}], [{"a"}] * 5 + [{"b"}] * 5]
    table = table_of(shown)
    assert rejected(table, TCloseness("dx", 0.091, "equal")) == set()
    assert rejected(table, TCloseness("dx", 0.09, "equal")) == {"0"}
    assert (
        rejected(table, TCloseness("dx", 0.046, "ordered")) == set()
    )  # 6/11 - 1/2 = 1/22, and no view is farther
    assert rejected(table, TCloseness("dx", 0.045, "ordered")) == {"0"}
