"""Counts of an engine are those of memory."""

from __future__ import annotations

import pyarrow as pa
import pytest

from support.engines.answers import Holder
from veil.engines import relation_of
from veil.engines.tally import EngineTally
from veil.risk import find_repeats
from veil.tables.tally import MemoryTally


@pytest.fixture(params=["in_duckdb", "in_a_folder", "in_sqlite"])
def holder(request: pytest.FixtureRequest) -> Holder:
    found: Holder = request.getfixturevalue(request.param)
    return found


def test_counts_are_those_of_memory(holder: Holder) -> None:
    names = ["Ada Jones", "Bob Jones", "Ada Jones", None, "unknown", " N/A ", "Ada"]
    table = pa.table({"patient": [1, 2, 1, None, 2, 2, 7], "name": names})
    held, here = EngineTally(relation_of(holder(table))), MemoryTally(table)
    assert list(held.columns) == list(here.columns)
    for columns in (["patient"], ["name"], ["patient", "name"]):
        assert held.tally(columns) == here.tally(columns)
    assert held.words("name") == here.words("name")
    assert sorted(held.some("name").to_pylist()) == sorted(here.some("name").to_pylist())
    assert find_repeats(held, ["name"]) == find_repeats(here, ["name"])
