"""The verifier on tables of people: what is planted into an outcome is found, and recipients are told what they cannot tell."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.longitudinal import anonymized, draw
from support.outcomes import with_prepared
from support.refusals import refused
from veil import AlphaKAnonymity, DistinctLDiversity, EntropyLDiversity, KAnonymity, TCloseness
from veil import hierarchies as h
from veil.errors import VerificationError
from veil.outcome.outcome import Outcome
from veil.outcome.result import Origins, SuppressedRows
from veil.tables.rows import Owners, Rows
from veil.verification.outcome import verified, verify_outcome
from veil.verification.release import verify_lost_rows

VISITS = pa.table(
    {
        "who": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "sex": ["f", "f", "f", "f", "m", "m", "m", "m"],
        "dx": ["flu", "cold", "flu", "flu", "flu", "cold", "cold", "flu"],
    }
)


def release_of(**options: Any) -> Any:
    plan = {
        "quasi_identifiers": {"sex": h.suppression()},
        "models": KAnonymity(2),
        "person": "who",
        "sensitive": "dx",
    }
    return veil.anonymize(VISITS, **plan | options)


def broken(outcome: Outcome) -> list[str]:
    return [f"{each.promise}: {each.measured}" for each in verify_outcome(outcome).findings if not each.holds]


def test_an_engine_that_counted_rows_would_be_found_out() -> None:
    outcome = release_of().outcome
    assert broken(outcome) == []
    # The same table, had it been one person's.
    table = VISITS.set_column(0, "who", [["a", "a", "a", "a", "c", "c", "d", "d"]])
    prepared = dataclasses.replace(outcome.prepared, rows=outcome.prepared.rows.showing(table))
    found = broken(with_prepared(outcome, prepared))
    assert found == ["2-anonymity, counting people: k = 1"]
    with refused(VerificationError, "2-anonymity", "counting people"):
        verified(with_prepared(outcome, prepared))


def test_whoever_loses_all_rows_does_not_lose_some() -> None:
    owners = Owners.coded(np.array([0, 0, 1, 2, 2], np.int32), "all rows")
    rows = Rows.of(pa.table({"ward": list("abcde")}), owners=owners)
    for gone, partly in (("11000", 0), ("00000", 0), ("11111", 0), ("10000", 1), ("10110", 2), ("11110", 1)):
        (found,) = verify_lost_rows(rows, np.array([each == "1" for each in gone]), None)
        assert (found.holds, found.measured) == (partly == 0, f"{partly} lose only some")


def test_somebody_who_is_suppressed_in_part_is_found() -> None:
    outcome = release_of(knows="all rows", order="input", suppression_limit=1.0).outcome
    hidden = np.zeros(8, np.bool_)
    hidden[0] = True
    table = outcome.table
    columns = {
        name: pa.array(
            ["*" if gone else cell for cell, gone in zip(table[name].to_pylist(), hidden, strict=True)]
        )
        for name in table.column_names
    }
    found = broken(outcome.changed(table=pa.table(columns), suppression=SuppressedRows(hidden, 1)))
    assert "people who lose a row lose all their rows: 1 lose only some" in found
    assert "2-anonymity, counting people with the same rows: k = 1" in found


def test_people_who_lose_a_row_are_counted() -> None:
    outcome = release_of(knows="all rows", order="input").outcome
    plan = dataclasses.replace(outcome.plan, suppressed_rows="drop")
    prepared = dataclasses.replace(outcome.prepared, plan=plan)
    gone = np.array([True, True, False, False, True, False, False, False])
    rows = np.flatnonzero(~gone)
    found = broken(
        with_prepared(
            outcome.changed(
                step=plan,
                rows=outcome.after.take(rows),
                origins=Origins(rows.size, rows),
                suppression=SuppressedRows(gone, 3),
            ),
            prepared,
        )
    )
    assert "at most 0 people lose a row: 2" in found


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (
            DistinctLDiversity("dx", 2),
            "distinct 2-diversity of 'dx', counting people: l = 1",
        ),  # all of them show flu
        (AlphaKAnonymity("dx", 0.9, 1), "(0.9, 1)-anonymity of 'dx', counting people: alpha = 1, k = 2"),
        (TCloseness("dx", 0.5), "0.5-closeness of 'dx' (equal distance), counting people: t = 1"),
        (
            TCloseness("dx", 0.5, "ordered"),
            "0.5-closeness of 'dx' (ordered distance), counting people: t = 0.57",
        ),
        (EntropyLDiversity("dx", 1.1, "grassberger"), "somebody shows two values of 'dx'"),
    ],
)
def test_several_values_of_a_person_are_looked_at(model: Any, why: str) -> None:
    outcome = release_of().outcome
    asked = dataclasses.replace(outcome.plan, models=(model,))
    prepared = dataclasses.replace(outcome.prepared, plan=asked)
    (found,) = broken(with_prepared(outcome.changed(step=asked), prepared))
    assert why in found


def test_recipients_are_told_that_they_cannot_tell(tmp_path: Path) -> None:
    release = release_of()
    release.certificate(tmp_path / "certificate.json")
    for found in (
        veil.verify(release.table, release.plan),
        veil.verify(release.table, certificate=tmp_path / "certificate.json"),
    ):
        (model,) = [each for each in found.findings if "2-anonymity" in each.promise]
        assert (model.checked, model.holds) == (False, False)
        assert model.measured == "that takes whose row each row is, which the table does not tell"
    # That there are fewer rows than there should be people, anybody sees.
    (few,) = [
        each
        for each in veil.verify(release.table.slice(0, 1), release.plan).findings
        if "2-anonymity" in each.promise
    ]
    assert (few.checked, few.holds, few.measured) == (True, False, "k = 1, even in rows")


def test_an_assessment_in_people_is_what_a_plan_in_people_keeps() -> None:
    """What is found of a table without a change is fulfilled by it, model by model, and not by it if it were stronger."""
    seen = 0
    for seed in range(40):
        case = draw(seed)
        knows = case.options["knows"]
        names = list(case.options["quasi_identifiers"])
        found = veil.assess(
            case.table, quasi_identifiers=names, sensitive="dx", person="who", knows=knows, marker=None
        )
        strength = {
            each.model: each.value for each in found if each.model in ("KAnonymity", "DistinctLDiversity")
        }
        for model, harder in (
            (KAnonymity(strength["KAnonymity"]), KAnonymity(strength["KAnonymity"] + 1)),
            (DistinctLDiversity("dx", strength["DistinctLDiversity"]), None),
        ):
            as_it_is = {
                "maximum_levels": dict.fromkeys(names, 0),
                "suppression_limit": 0.0,
                "recoding": "full-domain",
            }
            case.options |= {**as_it_is, "models": model}
            release = anonymized(case)
            assert release is not None
            assert release.suppressed == 0
            if harder is not None:
                case.options["models"] = harder
                assert anonymized(case) is None
                seen += 1
    assert seen > 20
