"""Concerns as people get them: on the terminal, in reports, notebooks and certificates; and acknowledged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import veil
from support import realdata
from support.cli import veil as command
from support.realdata import needs_data
from support.refusals import refused
from support.report import FORMATS, everything_in, squeezed
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.dp import SafePub
from veil.errors import ParameterError
from veil.recipe import Recipe
from veil.report import check_certificate

WEIGHT, INCOME = "nearly unique: weight", "no model: income"


def people() -> pa.Table:
    chance = np.random.default_rng(8)
    return pa.table(
        {
            "age": chance.integers(20, 80, 600),
            "income": [f"{each}000" for each in chance.integers(20, 40, 600)],
            "weight": 1 + chance.random(600).round(6),
        }
    )


def released() -> Release:
    return veil.anonymize(
        people(),
        quasi_identifiers={"age": h.intervals(10, 20)},
        sensitive="income",
        insensitive="weight",
        models=KAnonymity(5),
    )


OPTIONS = (
    "--qi",
    "age=intervals:10,20",
    "--sensitive",
    "income",
    "--insensitive",
    "weight",
    "--model",
    "k-anonymity:5",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_concerns_come_by_gravity_and_what_is_acknowledged_comes_last() -> None:
    release = released()
    assert [each.key for each in release.concerns] == [WEIGHT, INCOME]
    again = release.acknowledge(release.concerns[0])
    assert [(each.key, each.acknowledged) for each in again.concerns] == [(INCOME, False), (WEIGHT, True)]
    both = again.acknowledge(INCOME)
    assert both.outcome.acknowledged == (WEIGHT, INCOME)
    assert not any(each.acknowledged for each in release.concerns)


def test_an_unknown_acknowledgement_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError) as error:
        released().acknowledge("nearly unique: wait")
    assert str(error.value) == (
        "`acknowledge` should name concerns about this release, and 'nearly unique: wait' is not one. There are: "
        f"{WEIGHT!r}; {INCOME!r}"
    )


def test_what_chance_has_left_out_is_no_reason_to_spend_a_budget_again() -> None:
    table = pa.table({"sex": ["f", "m"] * 500})
    hierarchy = h.table([["f", "*"], ["m", "*"], ["NULL", "*"]])
    made = veil.anonymize(
        table, quasi_identifiers={"sex": hierarchy}, models=SafePub(1, 1e-4), for_testing_seed=1, person=None
    )
    assert not made.concerns
    assert not made.acknowledge("emptied: sex").outcome.acknowledged
    with refused(ParameterError, "There is none"):
        made.acknowledge("empty: sex")


@pytest.mark.parametrize("kind", FORMATS)
def test_reports_say_it_before_anything_else(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"report.{kind}"
    release = released().acknowledge(INCOME)
    release.report(path)
    text = squeezed(everything_in(path))
    for each in release.concerns:
        assert squeezed(each.statement) in text
        assert squeezed(each.step) in text
    if kind != "json":
        assert text.index("Beforeyousign") < text.index("Summary")
        assert text.index(squeezed(release.concerns[0].statement)) < text.index(
            squeezed(release.concerns[1].statement)
        )
    else:
        concerns = json.loads(path.read_text())["concerns"]
        assert [(each["key"], each["acknowledged"]) for each in concerns] == [(WEIGHT, False), (INCOME, True)]


def test_a_report_without_a_concern_says_so(tmp_path: Path) -> None:
    table = pa.table({"age": np.arange(300) % 60})
    made = veil.anonymize(table, quasi_identifiers={"age": h.intervals(10)}, models=KAnonymity(5))
    assert not made.concerns
    made.report(tmp_path / "report.html")
    assert "nothing was found" in everything_in(tmp_path / "report.html")


def test_the_certificate_names_what_was_acknowledged_and_still_holds(tmp_path: Path) -> None:
    release = released().acknowledge(WEIGHT)
    release.save(tmp_path / "release.parquet")
    release.certificate(tmp_path / "certificate.json")
    assert json.loads((tmp_path / "certificate.json").read_text())["acknowledged"] == [WEIGHT]
    assert check_certificate(tmp_path / "certificate.json", tmp_path / "release.parquet").holds
    released().certificate(tmp_path / "other.json")
    assert json.loads((tmp_path / "other.json").read_text())["acknowledged"] == []


def test_the_terminal_shows_it_with_the_words_to_acknowledge_it(folder: Path) -> None:
    done = command("anonymize", "people.csv", "-o", "release.csv", *OPTIONS)
    assert done.code == 0
    assert "Before you sign" in done.out
    assert f"--acknowledge '{WEIGHT}' --acknowledge '{INCOME}'" in done.out
    assert command("anonymize", "people.csv", "-o", "other.csv", "--quiet", *OPTIONS).out == ""


def test_the_command_line_acknowledges_and_writes_it_down(folder: Path) -> None:
    given = [
        "--acknowledge",
        WEIGHT,
        "--acknowledge",
        INCOME,
        "--certificate",
        "c.json",
        "--save-recipe",
        "r.yaml",
    ]
    done = command("anonymize", "people.csv", "-o", "release.csv", *OPTIONS, *given)
    assert done.code == 0, done.err
    assert "Before you sign" not in done.out
    assert f"Acknowledged: {WEIGHT}; {INCOME}" in done.out
    assert json.loads(Path("c.json").read_text())["acknowledged"] == [WEIGHT, INCOME]
    assert Recipe.read("r.yaml").acknowledge == (WEIGHT, INCOME)
    again = veil.run("r.yaml", overwrite=True)
    assert again.outcome.acknowledged == (WEIGHT, INCOME)


def test_an_unknown_acknowledgement_writes_nothing(folder: Path) -> None:
    done = command("anonymize", "people.csv", "-o", "release.csv", *OPTIONS, "--acknowledge", "nothing")
    assert done.code != 0
    assert "--acknowledge" in done.err.replace("\n", " ")
    assert WEIGHT in done.err.replace("\n", " ")
    assert not Path("release.csv").exists()


def test_masks_say_it_as_well(folder: Path) -> None:
    step = ["--step", "rank-swapping:age,p=10"]
    done = command("mask", "people.csv", "-o", "masked.csv", *step)
    assert done.code == 0
    assert f"--acknowledge '{WEIGHT}'" in done.out
    done = command(
        "mask", "people.csv", "-o", "other.csv", *step, "--acknowledge", WEIGHT, "--certificate", "c.json"
    )
    assert done.code == 0, done.err
    assert json.loads(Path("c.json").read_text())["acknowledged"] == [WEIGHT]
    Path("steps.yaml").write_text(
        "input: people.csv\noutput: third.csv\nsteps: [{kind: RankSwapping, columns: age, p: 10}]\n"
        f"acknowledge: '{WEIGHT}'\n"
    )
    assert veil.run("steps.yaml").outcome.acknowledged == (WEIGHT,)


def test_no_cell_is_in_what_is_said() -> None:
    values = {str(value) for column in people().columns for value in column.to_pylist()}
    said = " ".join(str(each) for each in released().concerns)
    assert not any(value in said.split() or f"'{value}'" in said for value in values - {"5", "2"})


@needs_data
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_of_a_usual_plan_for_adult_little_is_said(limit: float) -> None:
    """What is said often is not read: a sensitive column without a model, and columns that were generalized to nothing."""
    table = realdata.source("adult").table
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    options: dict[str, Any] = {
        "quasi_identifiers": realdata.hierarchies("adult", names),
        "suppression_limit": limit,
    }
    release = veil.anonymize(
        table, sensitive="salary-class", insensitive="occupation", models=KAnonymity(5), **options
    )
    kinds = [each.kind for each in release.concerns]
    assert kinds == (["no model"] if limit else ["no model", "emptied"])


@needs_data
def test_education_in_years_beside_education_is_told() -> None:
    table = realdata.source("adult").table
    years = {each: str(at) for at, each in enumerate(sorted(set(table["education"].to_pylist())))}
    table = table.append_column("years", pa.array([years[each] for each in table["education"].to_pylist()]))
    names = ["sex", "age", "education"]
    release = veil.anonymize(
        table.select([*names, "years", "salary-class"]),
        quasi_identifiers=realdata.hierarchies("adult", names),
        minimum_levels={"education": 1},
        insensitive=["years", "salary-class"],
        models=KAnonymity(5),
        suppression_limit=0.05,
    )
    assert [each.key for each in release.concerns] == ["reveals another column: years, education"]
