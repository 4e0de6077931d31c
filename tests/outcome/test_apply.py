"""A node applied to a table: what the cells of people with several rows show."""

from __future__ import annotations

import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h

VISITS = pa.table(
    {
        "patient": ["ann", "ann", "bob", "cy", "di", "ed"],
        "age": [20, 20, 20, 30, 30, 30],
        "income": [100, 300, None, 5, 6, 7],
    }
)


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_the_aggregate_of_one_person_is_not_shown_however_many_rows_it_is_from(knows: str) -> None:
    """Of the two people in their twenties, ann alone has an income: its mean would be a statement about ann."""
    release = veil.anonymize(
        VISITS,
        quasi_identifiers={"age": h.intervals(10)},
        models=KAnonymity(1 if knows == "all rows" else 2),
        microaggregated={"income": "mean"},
        identifying={"patient": "remove"},
        person="patient",
        knows=knows,
    )
    shown = set(zip(release.table["age"].to_pylist(), release.table["income"].to_pylist(), strict=True))
    assert {income for age, income in shown if "2" in str(age)} == {None}
    assert {income for age, income in shown if "3" in str(age)} == {6}
