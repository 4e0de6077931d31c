"""Locally recoded tables with planted faults."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import veil
from support.refusals import refused
from support.samples import E1
from veil import hierarchies as h
from veil import models as m
from veil.api.release import Release
from veil.errors import VerificationError
from veil.quality import Loss
from veil.recoding import SinglePass
from veil.verification.recoded import verify_recoded

E1_TABLE = pa.table(
    {name: [row[j] for row in E1.rows] for j, name in enumerate("AGZ")} | {"S": E1.sensitive["S"]}
)


E1_HIERARCHIES = {name: h.table(E1.hierarchies[j]) for j, name in enumerate("AGZ")}


def e1(**changes: Any) -> Release:
    plan: dict[str, Any] = {
        "quasi_identifiers": E1_HIERARCHIES,
        "insensitive": ["S"],
        "models": m.KAnonymity(2),
        "quality": Loss(factor=0),
        "suppression_limit": 0.8,
    }
    return veil.anonymize(E1_TABLE, **(plan | changes), order="input")


def tampered(recoded: Release, column: str, row: int, value: str) -> list[str]:
    """Put another value in one cell, and return the promises that are broken then."""
    cells = recoded.arrow[column].to_pylist()
    cells[row] = value
    place = recoded.arrow.column_names.index(column)
    made = recoded.outcome.changed(table=recoded.arrow.set_column(place, column, pa.array(cells)))
    found = verify_recoded(made, 8)
    return [finding.promise for finding in found.findings if not finding.holds]


def test_the_verifier_looks_at_every_cell() -> None:
    recoded = e1().local_recoding(SinglePass())
    assert tampered(recoded, "S", 0, "flu") == []
    (promise,) = tampered(recoded, "S", 0, "cold")
    assert promise.startswith("2 records are generalized to A 0, G 0, Z 0, and")
    assert len(tampered(recoded, "A", 4, "40-49")) == 2  # a cell of its pass, and a class of one
    gone = "2 records are suppressed, and otherwise unchanged"
    assert tampered(recoded, "A", 1, "20-29") == ["2-anonymity", gone]
    assert tampered(recoded, "S", 1, "gout") == ["2-anonymity", gone]


def test_the_verifier_looks_at_the_columns() -> None:
    table = pa.table({"who": list("abcdef"), "A": [21, 22, 23, 34, 35, 51], "S": list("xyxyxy")})
    options: dict[str, Any] = {"sensitive": "S", "identifying": "who", "quality": Loss(factor=0)}
    plan = {
        "quasi_identifiers": {"A": h.intervals(10, 20)},
        "models": m.KAnonymity(2),
        "suppression_limit": 1,
    }
    recoded = veil.anonymize(table, **plan, **options, progress=False, order="input").local_recoding(
        SinglePass()
    )
    roles, shape = (
        "identifying column 'who' is removed",
        "the table has the columns of the plan and no others",
    )
    kept = {finding.promise: finding for finding in recoded.verification.findings}
    assert (kept[roles].holds, kept[roles].measured) == (True, "gone")
    assert (kept[shape].holds, kept[shape].measured) == (True, f"{recoded.arrow.num_columns} columns")

    def broken(released: pa.Table) -> dict[str, str]:
        found = verify_recoded(recoded.outcome.changed(table=released), 6)
        return {finding.promise: finding.measured for finding in found.findings if not finding.holds}

    assert broken(recoded.arrow) == {}
    assert broken(recoded.arrow.append_column("who", table["who"])) == {roles: "there", shape: "also 'who'"}
    assert broken(recoded.arrow.drop_columns("S")) == {shape: "without 'S'"}


def test_the_verifier_counts_rows_and_suppressed_records() -> None:
    recoded = e1().local_recoding(SinglePass())
    short = verify_recoded(recoded.outcome.changed(parts=recoded.outcome.parts[:-1]), 8)
    assert "is there once" in str([finding.promise for finding in short.findings if not finding.holds])
    strict = verify_recoded(recoded.outcome, 1)
    with refused(VerificationError, "at most 1", "suppressed"):
        strict.require()
