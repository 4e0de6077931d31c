"""The flag column of a release, in tables that have columns of that name already."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import veil
from veil import hierarchies as h
from veil import models as m
from veil.recoding import FastIterative

ROWS = {"word": ["a", "a", "b", None, None], "age": [1, 1, 2, 3, None]}
"""The third is suppressed, and of the last nothing is known."""


def options() -> dict[str, Any]:
    return {
        "quasi_identifiers": {"word": h.suppression()},
        "models": m.KAnonymity(2),
        "maximum_levels": {"word": 0},
        "suppression_limit": 1.0,
        "others": "keep",
        "marker": None,
        "order": "input",
        "progress": False,
    }


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([], "suppressed"),
        (["suppressed"], "veil_suppressed"),
        (["suppressed", "veil_suppressed"], "veil_veil_suppressed"),
        (["Suppressed", "VEIL_suppressed"], "veil_veil_suppressed"),
        (["veil_suppressed"], "veil_veil_suppressed"),
    ],
)
def test_the_flag_has_a_name_of_its_own(columns: list[str], expected: str) -> None:
    table = pa.table(ROWS | {name: [f"{name} {number}" for number in range(4)] + [None] for name in columns})
    release = veil.anonymize(table, **options())
    assert release.arrow[expected].to_pylist() == [False, False, True, False, False]
    shown = pa.array([True, True, False, True, True])
    for name in columns:
        assert release.arrow[name].filter(shown).equals(table[name].filter(shown))
        assert not release.arrow[name][2].is_valid
    assert release.verification.holds
    recoded = release.local_recoding(FastIterative(0.05))
    assert recoded.verification.holds
    assert all(recoded.arrow[name].filter(shown).equals(table[name].filter(shown)) for name in columns)


def test_the_flag_is_found_again_among_columns_like_it() -> None:
    rows = ROWS | {"suppressed": [True] * 4 + [None], "veil_suppressed": [False] * 4 + [None]}
    release = veil.anonymize(pa.table(rows), **options())
    assert release.outcome.flag == "veil_veil_suppressed"
    assert veil.verify(release.arrow, release.plan).holds


def test_a_column_that_is_called_like_a_flag_is_none() -> None:
    rows = {"word": ["a", "a", "b", "c", "c"], "suppressed": [True] * 5}
    release = veil.anonymize(pa.table(rows), **options())
    assert release.outcome.flag is None
    assert release.arrow["suppressed"].to_pylist() == [True, True, None, True, True]
    assert veil.verify(release.arrow, release.plan).holds
