"""People on the command line: the option, the recipe that is saved, and what is shown."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from support.cli import veil


def test_people_are_counted_and_shown(tmp_path: Path) -> None:
    rows = [(f"P{i}", age, ward) for i, age in enumerate([23, 27, 31, 38, 61]) for ward in ("A", "B")]
    columns = dict(zip(("patient", "age", "ward"), map(list, zip(*rows, strict=True)), strict=True))
    csv.write_csv(pa.table(columns), tmp_path / "visits.csv")
    asked = [
        "--qi",
        "age=intervals:10,40",
        "--qi",
        "ward=suppression",
        "--model",
        "k-anonymity:2",
        "--person",
        "patient",
    ]
    places = ["--output", str(tmp_path / "out.csv"), "--save-recipe", str(tmp_path / "recipe.yaml")]
    done = veil("anonymize", str(tmp_path / "visits.csv"), *asked, "--suppression-limit", "0.2", *places)
    assert done.code == 0, done.err
    assert "2-anonymity, counting people" in done.out
    shown = " ".join(done.out.split())
    assert "people 5" in shown
    assert "1 (20.00%;" in shown
    assert "limit 20.00%" in shown
    assert "patient" not in (tmp_path / "out.csv").read_text().splitlines()[0]
    assert "person: patient" in (tmp_path / "recipe.yaml").read_text()
    checked = veil("verify", str(tmp_path / "out.csv"), "--recipe", str(tmp_path / "recipe.yaml"))
    assert "1 promise" in " ".join(checked.out.split())
    assert checked.code == 3
    assert "NOT CHECKED: 2-anonymity" in checked.out
    assert "counting people" in checked.out
    found = veil("assess", str(tmp_path / "visits.csv"), "--qi", "age", "--person", "patient")
    assert "k = 1" in found.out


def test_what_turns_pseudonyms_back_is_kept_apart(tmp_path: Path) -> None:
    table = pa.table({"patient": ["P1", "P1", "P2", "P2"], "age": [23, 23, 27, 27]})
    csv.write_csv(table, tmp_path / "visits.csv")
    (tmp_path / "secret").mkdir()
    (tmp_path / "open").mkdir()
    done = veil(
        "anonymize", str(tmp_path / "visits.csv"), "--qi", "age=intervals:10", "--model", "k-anonymity:2", "--person",
        "patient", "--knows", "all rows", "--identifying", "patient=pseudonym", "--output",
        str(tmp_path / "open" / "out.csv"), "--apart", str(tmp_path / "secret"),
    )  # fmt: skip
    assert done.code == 0, done.err
    key = csv.read_csv(tmp_path / "secret" / "pseudonyms.csv")
    assert sorted(key["value"].to_pylist()) == ["P1", "P2"]
    released = (tmp_path / "open" / "out.csv").read_text()
    assert all(pseudonym in released for pseudonym in key["pseudonym"].to_pylist())
    assert "P1" not in released


def test_masks_are_told_who_is_who(tmp_path: Path) -> None:
    table = pa.table({"patient": [f"P{i // 2}" for i in range(16)], "age": [23, 24, 27, 28] * 4})
    csv.write_csv(table, tmp_path / "visits.csv")
    asked = [
        "mask",
        str(tmp_path / "visits.csv"),
        "-o",
        str(tmp_path / "out.csv"),
        "--step",
        "k-ward:age,k=2",
    ]
    refused = veil(*asked)
    assert refused.code != 0
    assert "--person patient" in " ".join(refused.err.split())
    done = veil(*asked, "--person", "patient")
    assert done.code == 0, done.err
    assert "counting people" in " ".join(done.out.split())
    assert csv.read_csv(tmp_path / "out.csv").column_names == ["age"]
