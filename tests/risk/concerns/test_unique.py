"""Kept columns that single people out: counted as plain Python counts, found and not found."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.risk.concerns.context import ReleaseContext
from veil.risk.concerns.unique import share_together

CELLS = {
    "a": st.one_of(st.none(), st.integers(0, 3)),
    "b": st.sampled_from(["x", "y", "*", None]),
    "c": st.one_of(st.none(), st.floats(-1, 1, allow_nan=False).map(lambda each: round(each, 1))),
}


def release_of(table: pa.Table, k: int = 1, **options: Any) -> Release:
    options = {"others": "keep", "order": "random", **options}
    return veil.anonymize(table, quasi_identifiers={"q": h.suppression()}, models=KAnonymity(k), **options)


def kinds(release: Release) -> dict[str, tuple[str, ...]]:
    return {each.kind: each.columns for each in release.concerns}


def alone(rows: list[tuple[Any, ...]]) -> int:
    """How many rows nobody else has: the slow twin. -0.0 is 0.0 in a release."""
    counted = Counter(rows)
    return sum(counted[row] == 1 for row in rows)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=12))
def test_records_of_their_own_are_counted_as_plain_python_does(rows: list[dict[str, Any]]) -> None:
    table = pa.table(
        {
            "q": ["x"] * len(rows),
            "a": pa.array([each["a"] for each in rows], pa.int64()),
            "b": pa.array([each["b"] for each in rows], pa.string()),
            "c": pa.array([each["c"] for each in rows], pa.float64()),
        }
    )
    context = ReleaseContext(release_of(table).outcome)
    for name in CELLS:
        assert context.alone(name) == alone([(each[name],) for each in rows])
        assert context.column(name).alone == context.alone(name)
    for names in (("a", "b"), ("c", "b"), ("c", "a", "b")):
        share = alone([tuple(each[name] for name in names) for each in rows]) / len(rows)
        # Where few are alone, 0 is all that is said.
        assert share_together(context, names) == (pytest.approx(share) if share >= 0.025 else 0)


def test_a_survey_weight_does_not_go_out_under_a_highest_risk_of_a_third() -> None:
    chance = np.random.default_rng(1)
    weights = chance.random(1000)
    weights[:10] = 1.5
    table = pa.table({"q": ["x", "y"] * 500, "weight": weights, "group": chance.integers(0, 4, 1000)})
    release = release_of(table, 3)
    assert release.risk()[1].highest <= 1 / 3
    (found,) = (each for each in release.concerns if each.kind == "nearly unique")
    assert found.key == "nearly unique: weight"
    assert found.statement.startswith("99 % of the records have a value of 'weight' that no other record has")
    assert "'weight'" in found.step
    assert "quasi-identifier" in found.step


def test_categories_are_no_concern() -> None:
    chance = np.random.default_rng(1)
    table = pa.table(
        {"q": ["x", "y"] * 2000, "a": chance.integers(0, 4, 4000), "b": chance.integers(0, 9, 4000)}
    )
    assert not release_of(table, 3).concerns


def test_two_columns_may_be_unique_together_and_the_worst_set_is_named() -> None:
    at = np.arange(2500)
    table = pa.table({"q": ["x"] * 2500, "day": at // 50, "ward": at % 50, "group": at % 3})
    release = release_of(table, 5)
    (found,) = (each for each in release.concerns if each.kind == "nearly unique")
    assert set(found.columns) == {"day", "ward"}
    assert found.statement.startswith("100 % of the records have a combination of")


def test_three_columns_may_be_unique_together() -> None:
    at = np.arange(8000)
    table = pa.table({"q": ["x"] * 8000, "a": at % 20, "b": at // 20 % 20, "c": at // 400})
    assert kinds(release_of(table, 5))["nearly unique"] == ("a", "b", "c")


def test_what_singles_out_beside_the_quasi_identifiers_is_found() -> None:
    at = np.arange(4000)
    table = pa.table({"q": [f"{each}" for each in at // 10], "room": at % 10, "same": at * 0})
    release = release_of(table, 10)
    (found,) = (each for each in release.concerns if each.kind == "unique with quasi-identifiers")
    assert found.columns == ("room",)
    assert "100 %" in found.statement
    # Somebody sensitive to it says so, and nobody else is supposed to know it.
    again = release_of(table, 10, sensitive="room")
    assert "unique with quasi-identifiers" not in kinds(again)
    assert kinds(again)["no model"] == ("room",)
