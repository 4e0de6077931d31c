"""The verb verify: what it asks about a released table whose promises count rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from veil import KAnonymity

ROWS = 40
NUMBERS = [f"p{at // 4}" for at in range(ROWS)]
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": "suppression"},
    "models": KAnonymity(4),
    "others": "keep",
    "person": None,
}


def _asked(verification: veil.Verification) -> list[str]:
    return [each for each in verification.open_questions if "every row is a person" in each]


@pytest.mark.parametrize(
    ("columns", "asks"),
    [
        ({"patient": NUMBERS}, "column 'patient' has 10 different values in 40 rows"),
        ({"patient": ["*", "*", *NUMBERS[2:]]}, "column 'patient' has 10 different values in 38 rows"),
        ({"email": [f"{each}@x.org" for each in NUMBERS]}, "column 'email'"),
        ({"patient": [f"p{at}" for at in range(ROWS)]}, None),
        ({"patient": ["*"] * ROWS}, None),
        ({"ward": ["a", "b"] * (ROWS // 2), "city": ["Bonn", "Ulm"] * (ROWS // 2)}, None),
    ],
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_people_who_repeat_in_a_release_that_counts_rows_are_asked_about(
    columns: dict[str, list[str]], asks: str | None, engine: Any, tmp_path: Path
) -> None:
    table = pa.table({"age": [30] * ROWS, **columns})
    release = veil.anonymize(table, **PLAN)
    file, certificate = tmp_path / "release.csv", tmp_path / "certificate.json"
    release.save(file)
    release.certificate(certificate)
    plan = veil.Plan(**PLAN)
    found = [veil.verify(file, plan, engine=engine)]
    if engine == "memory":
        found += [veil.verify(file, certificate=certificate), veil.verify(release.arrow, plan)]
    for each in found:
        assert each.holds
        assert [asks in one for one in _asked(each)] == [True] if asks else not _asked(each)


def test_where_people_are_counted_nothing_is_asked() -> None:
    table = pa.table({"age": [30] * ROWS, "who": [f"{at // 4:016x}" for at in range(ROWS)]})
    counted = veil.Plan(
        {"age": "suppression"},
        KAnonymity(4),
        person="who",
        identifying={"who": "pseudonym"},
        knows="all rows",
    )
    assert not _asked(veil.verify(table, counted))


def test_a_number_of_people_that_is_judged_as_a_quasi_identifier_is_asked_about() -> None:
    table = pa.table({"patient": NUMBERS, "phone": [f"017{at // 8}*" for at in range(ROWS)]})
    judged = veil.Plan({"patient": "suppression", "phone": "suppression"}, KAnonymity(4), person=None)
    (question,) = _asked(veil.verify(table, judged))
    assert "'patient'" in question
