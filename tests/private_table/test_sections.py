"""Reports of private tables: they say what holds, tell nothing of the data, and label what is not private."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.refusals import refused
from veil.dp import Accountant
from veil.errors import OutputError
from veil.private_table import Corners, IndividualRanking, MarginalTree, private_table

SECRET = 87.1234567
TABLE = pa.table({"age": [34.0, 71, 68, 25, 47, SECRET], "sex": ["f", "m", "f", "f", "m", "m"]})


def make(method: Any, **options: Any) -> Any:
    given = {"neighbours": "one changed", "person": None, "bounds": {"age": (0, 120)}, **options}
    return private_table(TABLE.select(["age"]), method, 1, **given)


def test_a_report_tells_what_was_declared_promised_and_spent(tmp_path: Path) -> None:
    budget = Accountant(3, neighbours="one changed")
    made = make(IndividualRanking(3), accountant=budget)
    page = made.report(tmp_path / "report.html").read_text()
    for words in (
        "The table is differentially private as a whole: epsilon = 1.",
        "what any one person has in it; the number of people is public",
        "every row was a different person",
        "individual ranking",
        "epsilon = 2",
        "numbers from 0 to 120; what is no number counts as 60",
        "Rows are not records",
        "&lt;" if "<" in made.proof else "shares add up to epsilon",
    ):
        assert words in page
    assert "NOT PRIVATE" not in page
    assert str(SECRET) not in page
    assert "<script" not in page
    told = json.loads(made.report(tmp_path / "report.json").read_text())
    assert (told["loss"], told["left"], told["rows"]) == ("epsilon = 1", "epsilon = 2", 6)
    assert made.report(tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("frame", [TABLE, TABLE.to_pandas()])
def test_every_kind_of_frame_has_a_report(frame: Any, tmp_path: Path) -> None:
    made = private_table(
        frame,
        MarginalTree(),
        rho=1,
        neighbours="one more or less",
        bounds={"age": (0, 120)},
        domains={"sex": ["f", "m"]},
        missing={"sex": "f"},
        person=None,
    )
    told = json.loads(made.report(tmp_path / "report.json").read_text())
    assert told["rows"] == len(made.table)
    assert told["columns"] == {
        "age": "whole numbers from 0 to 120; what is no number counts as 60",
        "sex": "2 values; what is none of them counts as f",
    }
    assert "whether any one person is in the table" in made.report(tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (IndividualRanking(3, as_published=True), {}),
        (Corners(3, as_published=True), {}),
        (IndividualRanking(3), {"for_testing_seed": 4}),
    ],
)
def test_what_is_not_private_says_so_first(method: Any, options: dict[str, Any], tmp_path: Path) -> None:
    made = make(method, **options)
    page = made.report(tmp_path / "report.html").read_text()
    assert page.index("NOT PRIVATE") < page.index("<table>")
    assert "The table is differentially private" not in page
    told = json.loads(made.report(tmp_path / "report.json").read_text())
    assert told["is_private"] is False
    seeded = bool(options)
    assert any("A seed was given" in each for each in told["notes"]) is seeded
    assert ("as published" in told["method"]) is not seeded


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with refused(OutputError, ".html", ".json"):
        make(IndividualRanking(3)).report(tmp_path / "report.txt")
