"""What is odd about a table is told, with a way out that works; an orderly table is not talked about."""

from __future__ import annotations

import shlex
from pathlib import Path

from support.cli import PLAN, veil


def test_the_way_out_works_and_keeps_what_else_is_missing(folder: Path) -> None:
    rows = [f"{age},{sex}" for age in [*range(20, 40), "unknown", ""] for sex in "fm"]
    (folder / "people.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    command = ["anonymize", "people.csv", "--qi", "age=auto", "--qi", "sex=auto", "--model", "k-anonymity:2"]
    ran = veil(*command, "-o", "release.csv")
    assert ran.code == 0
    assert "note:" in ran.err
    assert "'age'" in ran.err
    assert "'unknown'" in ran.err
    way = shlex.split(ran.err.partition("missing: ")[2])
    assert way == ["--format", "csv:missing=|unknown"]
    ran = veil(*command, "-o", "better.csv", *way)
    assert (ran.code, ran.err) == (0, "")
    assert "unknown" not in (folder / "better.csv").read_text()
    ran = veil(*command, "-o", "quiet.csv", "--quiet")
    assert (ran.code, ran.err) == (0, "")


def test_an_orderly_table_is_no_reason_for_a_note(folder: Path) -> None:
    ran = veil("anonymize", "patients.csv", *PLAN, "-o", "release.csv")
    assert (ran.code, ran.err) == (0, "")
