"""`veil private-table`: from options and from recipes, on files and databases, with budget and report."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from support.cli import veil
from veil.tables import read

RECIPE = """\
input: people.csv
output: private.csv
report: report.html
budget: people.csv.budget.json
person: null
steps:
  - kind: PrivateTable
    neighbours: one changed
    bounds: {age: [0, 120]}
    domains: {sport: sports.csv}
    missing: {age: 40, sport: soccer}
    method: {kind: IndividualRanking, k: 50}
    epsilon: 1
"""
SPORTS = ["sailing;water;sport", "swimming;water;sport", "soccer;field;sport", ""]


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [(20 + i % 60, ("sailing", "soccer", "swimming")[i % 3]) for i in range(300)]
    Path("people.csv").write_text("age,sport\n" + "".join(f"{a},{s}\n" for a, s in rows))
    Path("sports.csv").write_text("\n".join(SPORTS))
    database = sqlite3.connect("clinic.db")
    database.execute("create table people (age integer, sport text)")
    database.executemany("insert into people values (?, ?)", rows)
    database.commit()
    database.close()
    return tmp_path


def start(*more: str) -> None:
    started = veil("budget", "people.csv", "--epsilon", "1.5", "--neighbours", "one changed", *more)
    assert started.code == 0, started.err


def test_from_a_recipe_with_its_budget_and_its_report() -> None:
    start()
    Path("private.yaml").write_text(RECIPE)
    made = veil("private-table", "private.yaml")
    assert made.code == 0, made.err
    told = " ".join(made.out.split())
    assert "Rows are not records" in told
    assert "left of the budget" in told
    table = read(Path("private.csv")).table
    assert table.column_names == ["age", "sport"]
    assert table.num_rows == 300
    assert set(table["sport"].to_pylist()) <= {"sailing", "swimming", "soccer", "water", "field", "sport"}
    assert len(set(table["age"].to_pylist())) <= 6
    page = Path("report.html").read_text()
    assert "differentially private as a whole: epsilon = 1" in page
    assert "numbers from 0 to 120; what is no number counts as 40" in page
    assert "NOT PRIVATE" not in page
    (entry,) = json.loads(Path("people.csv.budget.json").read_text())["spent"]
    assert entry["label"] == "private table by individual ranking"
    again = veil("private-table", "private.yaml", "--overwrite")
    assert again.code != 0
    assert "would cost epsilon = 1" in again.err


def test_nothing_is_paid_where_nothing_can_be_written() -> None:
    start()
    Path("private.yaml").write_text(RECIPE)
    Path("report.html").write_text("mine")
    made = veil("private-table", "private.yaml")
    assert made.code == 2
    assert "report.html: already exists" in made.err
    assert not Path("private.csv").exists()
    assert json.loads(Path("people.csv.budget.json").read_text())["spent"] == []


@pytest.mark.parametrize("source", ["people.csv", "sqlite://clinic.db#people"])
def test_from_options_on_files_and_databases(source: str) -> None:
    made = veil(
        *("private-table", source, "-o", "private.parquet", "--report", "report.json"),
        *("--method", "marginal-tree", "--bounds", "age=0:120", "--domains", "sport=sailing|soccer|swimming"),
        *(
            "--missing",
            "age=40",
            "--missing",
            "sport=soccer",
            "--person",
            "null",
            "--neighbours",
            "one more or less",
            "--rho",
            "0.5",
        ),
    )
    assert made.code == 0, made.err
    table = read(Path("private.parquet")).table
    assert 200 < table.num_rows < 400
    assert set(table["sport"].to_pylist()) <= {"sailing", "soccer", "swimming"}
    told = json.loads(Path("report.json").read_text())
    assert (told["loss"], told["is_private"], told["columns"]["sport"]) == (
        "rho = 0.5",
        True,
        "3 values; what is none of them counts as soccer",
    )


def test_some_columns() -> None:
    options = (
        "--method",
        "corners:k=100",
        "--neighbours",
        "one changed",
        "--epsilon",
        "1",
        "--missing",
        "age=0",
        "--person",
        "null",
    )
    made = veil(
        "private-table", "people.csv", "-o", "p.csv", "--columns", "age", "--bounds", "age=0:120", *options
    )
    assert made.code == 0, made.err
    assert read(Path("p.csv")).table.column_names == ["age"]
    wrong = veil(
        "private-table", "people.csv", "-o", "q.csv", "--columns", "aeg", "--bounds", "age=0:120", *options
    )
    assert "no column 'aeg'" in wrong.err
    assert "mean 'age'" in wrong.err


def test_a_database_has_a_budget_by_its_place() -> None:
    url = "sqlite://clinic.db#people"
    refused = veil("budget", url, "--epsilon", "1")
    assert refused.code == 2
    assert "budget file" in refused.err
    started = veil("budget", url, "--epsilon", "1", "--neighbours", "one changed", "--file", "b.json")
    assert started.code == 0, started.err
    options = ("--method", "individual-ranking:k=50", "--bounds", "age=0:120", "--missing", "age=0")
    options += ("--missing", "sport=soccer", "--person", "null")
    made = veil(
        *("private-table", url, "-o", "p.csv", "--budget", "b.json", "--epsilon", "0.75", *options),
        *("--domains", "sport=sports.csv"),
    )
    assert made.code == 0, made.err
    assert "left: epsilon = 0.25" in " ".join(veil("budget", url, "--file", "b.json").out.split())
    other = veil("budget", "people.csv", "--file", "b.json")
    assert "another data set" in other.err


def test_as_published_says_so_on_the_terminal_and_in_every_report() -> None:
    for ending in ("html", "json", "pdf"):
        made = veil(
            *("private-table", "people.csv", "-o", "p.csv", "--report", f"r.{ending}", "--overwrite"),
            *("--method", "individual-ranking:k=50,as_published=true", "--neighbours", "one changed"),
            *(
                "--bounds",
                "age=0:120",
                "--missing",
                "age=0",
                "--missing",
                "sport=soccer",
                "--person",
                "null",
                "--domains",
                "sport=sports.csv",
                "--epsilon",
                "1",
            ),
        )
        assert made.code == 0, made.err
        assert "NOT PRIVATE" in made.out
        assert "as published" in made.out
    assert "NOT PRIVATE" in Path("r.html").read_text()
    assert "NOT DIFFERENTIALLY PRIVATE" in Path("r.html").read_text()
    told = json.loads(Path("r.json").read_text())
    assert (told["is_private"], told["method"]) == (False, "individual ranking, as published")
    assert Path("r.pdf").read_bytes().startswith(b"%PDF")


BOUNDS = ("--bounds", "age=0:120", "--missing", "age=0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("people.csv", "-o", "p.csv"), "say how to make it private"),
        (("people.csv", "-o", "p.csv", "--method", "rankin"), "there is no 'rankin'"),
        (("people.csv", "-o", "p.csv", "--method", "marginal-tree"), "say what the table should hide"),
        (
            ("people.csv", "--method", "marginal-tree", "--neighbours", "one changed", "--rho", "1"),
            "where to write the release",
        ),
        (
            ("people.csv", "-o", "p.csv", "--method", "corners:k=0", "--neighbours", "one changed"),
            "`k` should be a whole number from 1 on",
        ),
        (
            ("people.csv", "-o", "p.csv", "--method", "marginal-tree", "--neighbours", "one changed", *BOUNDS, "--rho", "1"),
            "column 'sport' has neither bounds nor a domain",
        ),
        (
            (
                *("people.csv", "-o", "people.csv", "--overwrite", "--method", "marginal-tree"),
                *("--neighbours", "one changed", *BOUNDS, "--rho", "1"),
            ),
            "would replace its own input",
        ),
        (
            (
                *("people.csv", "-o", "p.csv", "--method", "marginal-tree", "--neighbours", "one changed"),
                *(*BOUNDS, "--domains", "sport=sailing|soccer", "--rho", "1"),
            ),
            "say which value of its domain a cell of 'sport' counts as",
        ),
        (
            ("people.csv", "-o", "p.csv", "--method", "marginal-tree", "--neighbours", "one changed", *BOUNDS, "--rho", "1"),
            "say whose rows these are",
        ),
    ],
)  # fmt: skip
def test_clear_errors(arguments: tuple[str, ...], message: str) -> None:
    made = veil(
        "private-table", *arguments, *(() if message.startswith("say whose") else ("--person", "null"))
    )
    assert made.code == 2, made.out
    assert message in " ".join(made.err.split())
    assert not Path("p.csv").exists()
