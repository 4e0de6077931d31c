"""What a plan forces into every class: no release that keeps its promises has less, and some plans force nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil import hierarchies as h
from veil import models as m
from veil.dp import SafePub
from veil.errors import ParameterError, VeilError
from veil.models.base import PrivacyModel
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import prepare_rows
from veil.published.table import Published
from veil.tables.rows import Owners, Rows
from veil.verification.release import verify_models

Q = h.table([["a", "*"], ["b", "*"]])

MODELS = [
    m.KAnonymity(2),
    m.KAnonymity(3),
    m.DistinctLDiversity("S", 2),
    m.DistinctLDiversity("S", 3, missing="a value"),
    m.DistinctLDiversity("S", 2, missing="worst"),
    m.EntropyLDiversity("S", 1.5),
    m.EntropyLDiversity("S", 2, missing="a value"),
    m.EntropyLDiversity("S", 1.3, "grassberger"),
    m.RecursiveCLDiversity("S", 2, 2),
    m.RecursiveCLDiversity("S", 0.6, 2),
    m.RecursiveCLDiversity("S", 1, 2, missing="worst"),
    m.AlphaKAnonymity("S", 0.5, 2),
    m.AlphaKAnonymity("S", 0.4, 1),
    m.SubsetKAnonymity(2, 1),
    m.SubsetKAnonymity(2, 2),
    m.KMAnonymity("S", 2, 1),
    m.Profitability(no_attack=True, adversary_gain=10, cost=4),
    m.TCloseness("S", 0.2),
    m.BetaLikeness("S", 0.5),
    m.AverageReidentificationRisk(0.5),
]


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Every way to put some things into groups."""
    if not items:
        yield []
        return
    for groups in partitions(items[1:]):
        yield [[items[0]], *groups]
        for i in range(len(groups)):
            yield [*groups[:i], [items[0], *groups[i]], *groups[i + 1 :]]


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["x", "x", "y", "z", None]), min_size=2, max_size=6),
    st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique=True),
    st.data(),
)
def test_no_classes_that_keep_the_promises_have_fewer_records_or_values(
    values: list[str | None], models: list[PrivacyModel], data: st.DataObject
) -> None:
    number = len(values)
    owners = None
    if data.draw(st.booleans()):
        codes = data.draw(st.lists(st.integers(0, number - 1), min_size=number, max_size=number))
        owners = Owners.coded(np.array(codes, np.int32), data.draw(st.sampled_from(["one row", "all rows"])))
    table = pa.table({"q": ["a", "b", *"a" * number][:number], "S": pa.array(values, pa.string())})
    rows = Rows.of(table, owners=owners)
    try:
        size = forced_size(prepare_rows(rows, Plan({"q": Q}, models, sensitive=["S"], suppression_limit=0)))
    except VeilError:  # no release at all keeps these promises, or they cannot count people
        return
    if not isinstance(size, ForcedSize):
        return
    assert size.smallest > 1
    for classes in partitions(list(range(number))):
        label_of = {i: str(place) for place, records in enumerate(classes) for i in records}
        labels = pa.table({"q": [label_of[i] for i in range(number)], "S": table["S"]})
        if all(
            each.holds
            for each in verify_models(Published(rows.showing(labels), ["q"], baseline=rows), models)
        ):
            assert min(map(len, classes)) >= size.smallest
            if size.attribute is not None:
                assert min(len({values[i] for i in records}) for records in classes) >= size.least_values


def reason(models: Any, hierarchy: Any = Q, **options: Any) -> str | ForcedSize:
    table = pa.table({"q": ["a", "a", "b", "b"], "n": [1, 2, 3, 4], "S": ["x", "y", "x", "y"]})
    plan = Plan({"q": hierarchy}, models, sensitive=["S"], **({"others": "keep"} | options))
    return forced_size(prepare_rows(Rows.of(table), plan, may_be_empty=True))


def test_the_size_is_the_largest_one_that_a_model_forces() -> None:
    assert reason(m.KAnonymity(3), suppression_limit=0.5) == ForcedSize(3, 2)
    diverse = [m.KAnonymity(2), m.RecursiveCLDiversity("S", 0.7, 2), m.TCloseness("S", 0.1)]
    assert reason([m.KAnonymity(2), m.DistinctLDiversity("S", 2)]) == ForcedSize(2, 0, "S", 2)
    with pytest.raises(ParameterError):
        reason(diverse)
    diverse[1] = m.RecursiveCLDiversity("S", 1.5, 2)
    assert reason(diverse) == ForcedSize(2, 0, "S", 2)
    assert reason([m.EntropyLDiversity("S", 1.2)]) == ForcedSize(2, 0, "S", 2)


@pytest.mark.parametrize(
    ("models", "options", "words"),
    [
        (m.TCloseness("S", 0.2), {}, "(TCloseness)"),
        ([m.BetaLikeness("S", 1), m.DeltaDisclosure("S", 2)], {}, "(BetaLikeness, DeltaDisclosure)"),
        (m.KAnonymity(1), {}, "forces no number of records"),
        (m.KMap(2, population=100), {}, "(KMap)"),
        ([m.KAnonymity(2), m.Inclusion([0, 1, 2])], {}, "a subset that was chosen from a population"),
        (m.KAnonymity(2), {"microaggregated": {"n": "mean"}}, "microaggregated"),
        (SafePub(1, 0.01), {"suppression_limit": 1, "person": None}, "differential privacy"),
        (
            m.KAnonymity(2),
            {"hierarchy": h.table([["a", "b", "*"], ["b", "b", "*"]])},
            "label 'b' of column 'q'",
        ),
    ],
)
def test_a_plan_without_a_bound_has_a_reason(models: Any, options: dict[str, Any], words: str) -> None:
    answer = reason(models, **options)
    assert not isinstance(answer, ForcedSize)
    assert words in answer


def test_labels_are_ambiguous_only_where_they_can_be_used() -> None:
    """The same label for the same values, for values that do not occur, or on a level that is not allowed."""
    assert isinstance(reason(m.KAnonymity(2), h.table([["a", "a", "*"], ["b", "b", "*"]])), ForcedSize)
    absent = h.table([["a", "c", "*"], ["b", "d", "*"], ["c", "d", "*"]])
    assert isinstance(reason(m.KAnonymity(2), absent), ForcedSize)
    reused = h.table([["a", "b", "*"], ["b", "b", "*"]])
    assert isinstance(reason(m.KAnonymity(2), reused, minimum_levels={"q": 1}), ForcedSize)
    assert isinstance(reason(m.KAnonymity(2), reused, maximum_levels={"q": 0}), ForcedSize)


def test_who_loses_a_row_may_lose_all_of_them() -> None:
    """Two of four people may lose a row: at worst those with three and two rows."""
    table = pa.table({"q": ["a", "b"] * 4, "p": ["1", "1", "1", "2", "2", "3", "3", "4"], "S": ["x"] * 8})
    plan = Plan({"q": Q}, m.KAnonymity(2), person="p", suppression_limit=0.5, others="keep")
    rows = Rows.of(table, owners=Owners.of(table, "p"))
    assert forced_size(prepare_rows(rows, plan)) == ForcedSize(2, 5)
