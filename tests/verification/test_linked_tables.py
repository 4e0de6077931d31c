"""Several tables as released, with planted faults: people are counted as the plan tells them apart."""

from __future__ import annotations

import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.plan.linked_tables import Stacked
from veil.verification.linked_tables import verify_tables

PATIENTS = pa.table({"id": ["A1", "a1 ", "B2", "b2 "], "age": [20, 20, 20, 20]})
VISITS = pa.table({"id": ["A1", "a1 ", "B2", "b2 "], "ward": ["x", "x", "x", "x"]})


@pytest.mark.parametrize(("spelling", "holds"), [("folded", False), ("as written", True)])
@pytest.mark.parametrize("treatment", ["remove", "pseudonym"])
def test_spellings_of_one_person_are_one_person(spelling: str, holds: bool, treatment: str) -> None:
    """Rows of A1 alone show an age of 21: of one person in two spellings, or of two people."""
    release = veil.anonymize(
        {"patients": PATIENTS, "visits": VISITS},
        quasi_identifiers={"age": h.suppression(), "ward": h.suppression()},
        models=KAnonymity(2),
        person=f"id={spelling}",
        identifying={"id": treatment},
        order="input",
    )
    outcome = release.outcome
    stacked = outcome.source
    assert isinstance(stacked, Stacked)
    assert all(each.holds for each in verify_tables(outcome, stacked))
    column = outcome.table["age"]
    ages = [
        "21" if age is not None and who in ("A1", "a1 ") else age
        for age, who in zip(
            column.cast(pa.string()).to_pylist(), stacked.table["id"].to_pylist(), strict=True
        )
    ]
    place = outcome.table.column_names.index("age")
    planted = outcome.changed(table=outcome.table.set_column(place, "age", pa.array(ages).cast(column.type)))
    (finding,) = (each for each in verify_tables(planted, stacked) if "anonymity" in each.promise)
    assert finding.holds == holds
