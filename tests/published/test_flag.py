"""The flag column of a release, in tables that have columns of that name already."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import veil
from veil import hierarchies as h
from veil import models as m
from veil.local_recoding import FastIterative

ROWS = {"word": ["a", "a", "b", None, None], "age": [1, 1, 2, 3, 3]}


def options() -> dict[str, Any]:
    return {
        "quasi_identifiers": {"word": h.suppression()},
        "models": m.KAnonymity(2),
        "maximum_levels": {"word": 0},
        "suppression_limit": 1.0,
        "others": "keep",
        "marker": None,
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
    table = pa.table(ROWS | {name: [f"{name} {number}" for number in range(5)] for name in columns})
    release = veil.anonymize(table, **options())
    assert release.arrow[expected].to_pylist() == [False, False, True, False, False]
    for name in columns:
        assert release.arrow[name].equals(table[name])
    assert release.verification.holds
    recoded = release.local_recoding(FastIterative(0.05))
    assert recoded.verification.holds
    assert all(recoded.arrow[name].equals(table[name]) for name in columns)


def test_the_flag_is_found_again_among_columns_like_it() -> None:
    rows = ROWS | {"suppressed": [True] * 5, "veil_suppressed": [False] * 5}
    release = veil.anonymize(pa.table(rows), **options())
    assert veil.verify(release.arrow, release.plan).holds
