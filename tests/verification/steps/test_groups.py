"""Steps that make groups: what the verifier finds where people have several rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from veil.masking import LocalSuppression, UnivariateMicroaggregation
from veil.outcome.result import Origins
from veil.tables.rows import Owners, Rows
from veil.verification.steps.step import verify_step

BEFORE = pa.table({"age": [20.0, 22.0, 40.0, 42.0]})
AFTER = pa.table({"age": [21.0, 21.0, 41.0, 41.0]})


@pytest.mark.parametrize(
    ("codes", "holds"), [([0, 1, 2, 3], True), ([0, 1, 0, 1], True), ([0, 0, 1, 2], False)]
)
def test_groups_are_counted_in_people(codes: list[int], holds: bool) -> None:
    rows = Rows.of(BEFORE, owners=Owners.coded(np.array(codes, np.int32)))
    verification = verify_step(UnivariateMicroaggregation("age", 2), rows, AFTER)
    assert verification.holds == holds
    assert "counting people" in verification.findings[0].promise


@pytest.mark.parametrize(("codes", "fewest"), [([0, 1, 2], 3), ([0, 0, 1], 2)])
def test_matches_are_counted_in_people(codes: list[int], fewest: int) -> None:
    table = pa.table({"age": ["20", "20", None]})
    rows = Rows.of(table, owners=Owners.coded(np.array(codes, np.int32)))
    for k in (2, 3):
        method = LocalSuppression(["age"], k=k, missing="matches_everything")
        assert verify_step(method, rows, table).holds == (k <= fewest)


def test_rows_in_another_order_keep_their_owners() -> None:
    """The first two rows of the output are both of person 0, wherever they come from."""
    rows = Rows.of(BEFORE, owners=Owners.coded(np.array([0, 1, 0, 1], np.int32)))
    shuffled = Origins.of(np.array([0, 2, 1, 3]), 4)
    after = shuffled.take(AFTER)
    assert verify_step(UnivariateMicroaggregation("age", 2), rows, after, origins=shuffled).holds
    alike = pa.table({"age": [30.0, 30.0, 32.0, 32.0]})
    assert verify_step(UnivariateMicroaggregation("age", 2), rows, alike, origins=shuffled).broken
