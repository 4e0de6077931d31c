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
    assert "2-anonymity, in people" in done.out
    shown = " ".join(done.out.split())
    assert "people 5" in shown
    assert "people who lose a row 1 (20.00%; limit 20.00%)" in shown
    assert "patient" not in (tmp_path / "out.csv").read_text().splitlines()[0]
    assert "person: patient" in (tmp_path / "recipe.yaml").read_text()
    checked = veil("verify", str(tmp_path / "out.csv"), "--recipe", str(tmp_path / "recipe.yaml"))
    assert checked.code == 3
    assert "NOT CHECKED: 2-anonymity, in people" in checked.out
    found = veil("assess", str(tmp_path / "visits.csv"), "--qi", "age", "--person", "patient")
    assert "k = 1" in found.out
