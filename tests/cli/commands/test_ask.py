"""`veil ask`: questions under a budget from options and from recipes."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from support.cli import veil
from veil.questions.session import constant_time

RECIPE = """\
input: people.csv
person: null
questions:
  neighbours: one more or less
  bounds: {age: [0, 120]}
  keys: {sex: [f, m]}
  missing: {age: leave out}
  ask:
  - {ask: count, where: age >= 65, epsilon: 0.5}
  - {ask: histogram, of: sex, epsilon: 0.5}
  - {ask: quantiles, of: age, shares: [0.5], epsilon: 0.5}
"""


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constant_time.time, "sleep", lambda seconds: None)
    rows = "\n".join(f"A{i},{'fm'[i % 2]},{20 + i % 60}" for i in range(900))
    Path("people.csv").write_text(f"name,sex,age\n{rows}\n")
    started = veil("budget", "people.csv", "--epsilon", "2")
    assert started.code == 0, started.err
    assert "neighbours: one more or less" in started.out
    return tmp_path


def entries() -> list[str]:
    return [each["label"] for each in json.loads(Path("people.csv.budget.json").read_text())["spent"]]


def test_questions_from_options() -> None:
    asked = veil(
        "ask",
        "people.csv",
        "--person",
        "null",
        "--count",
        "--where",
        "age >= 65",
        "--epsilon",
        "0.5",
        "--json",
    )
    assert asked.code == 0, asked.err
    found = json.loads(asked.out)
    (answer,) = found["answers"]
    assert answer["question"] == "count where age >= 65"
    assert answer["interval"][0] < answer["value"] < answer["interval"][1]
    assert abs(answer["value"] - 225) < 60
    assert found["left"] == "epsilon = 1.5"
    assert found["neighbours"] == "one more or less"
    shown = veil(
        *(
            "ask",
            "people.csv",
            "--person",
            "null",
            "--mean",
            "age",
            "--histogram",
            "sex",
            "--quantiles",
            "age=0.25,0.5",
        ),
        *("--bounds", "age=0:120", "--missing", "age=leave out", "--keys", "sex=f|m", "--epsilon", "0.25"),
    )
    assert shown.code == 0, shown.err
    for words in (
        "mean of age",
        "histogram of sex: f",
        "quantiles 0.25, 0.5 of age: 0.5",
        "left: epsilon = 0.75",
    ):
        assert words in " ".join(shown.out.split())
    assert len(entries()) == 4


def test_gaussian_noise_is_paid_in_rho() -> None:
    started = veil(
        *("budget", "people.csv", "--epsilon", "1", "--delta", "1e-6", "--zcdp-delta", "1e-6"),
        *("--neighbours", "one changed", "--file", "other.json"),
    )
    assert started.code == 0, started.err
    asked = veil(
        *(
            "ask",
            "people.csv",
            "--person",
            "null",
            "--budget",
            "other.json",
            "--count",
            "--rho",
            "0.01",
            "--noise",
            "gaussian",
        ),
        "--json",
    )
    assert asked.code == 0, asked.err
    assert json.loads(asked.out)["answers"][0]["loss"] == "rho = 0.01"
    shown = veil("budget", "people.csv", "--file", "other.json").out
    assert "rho = 0.01" in shown
    assert "neighbours: one changed" in shown


def test_a_preview_spends_nothing() -> None:
    asked = veil("ask", "people.csv", "--person", "null", "--count", "--epsilon", "0.1", "--preview")
    assert asked.code == 0, asked.err
    assert all(fact in " ".join(asked.out.split()) for fact in ("95 %", "± 30"))
    assert entries() == []


def test_questions_from_a_recipe() -> None:
    Path("ask.yaml").write_text(RECIPE)
    asked = veil("ask", "ask.yaml", "--json")
    assert asked.code == 0, asked.err
    counted, by_sex, median = json.loads(asked.out)["answers"]
    assert abs(counted["value"] - 225) < 60
    assert set(by_sex["value"]) == {"f", "m"}
    assert 20 <= median["value"]["0.5"] <= 80
    assert entries() == ["count where age >= 65", "histogram of sex", "quantiles 0.5 of age"]
    again = veil("ask", "ask.yaml")
    assert again.code == 2 or again.code == 1
    assert "would cost epsilon = 0.5" in again.err


def test_a_mistake_in_the_last_question_costs_nothing() -> None:
    Path("ask.yaml").write_text(RECIPE + "  - {ask: sum, of: height, epsilon: 0.1}\n")
    asked = veil("ask", "ask.yaml")
    assert asked.code == 2
    assert "'height'" in asked.err
    assert "no bounds" in asked.err
    assert entries() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ask", "people.csv", "--person", "null", "--epsilon", "1"), "say what to ask, such as --count"),
        (("ask", "people.csv", "--person", "null", "--count"), "`epsilon` is missing"),
        (
            ("ask", "people.csv", "--count", "--epsilon", "1"),
            "--person null if every row is a different person; or name the column that tells people apart in --person",
        ),
        (
            ("ask", "people.csv", "--person", "sex", "--count", "--epsilon", "1"),
            "--rows-per-person should be a whole number from 1 on",
        ),
        (
            ("ask", "people.csv", "--person", "null", "--mean", "age", "--epsilon", "1"),
            "column 'age' has no bounds",
        ),
        (
            ("ask", "people.csv", "--person", "null", "--count", "--epsilon", "1", "--bounds", "age"),
            "write COLUMN=",
        ),
        (
            ("ask", "people.csv", "--person", "null", "--count", "--epsilon", "1", "--bounds", "age=3"),
            "the lower and the higher bound",
        ),
        (("ask", "people.csv", "--person", "null", "--count", "--epsilon", "1", "--noise", "pink"), "pink"),
        (
            (
                "ask",
                "people.csv",
                "--person",
                "null",
                "--count",
                "--epsilon",
                "1",
                "--neighbours",
                "one changed",
            ),
            'the budget is for neighbours="one more or less"',
        ),
        (("budget", "people.csv", "--neighbours", "one changed"), "--neighbours needs --epsilon"),
    ],
)
def test_mistakes_are_explained(arguments, message) -> None:
    ran = veil(*arguments)
    assert ran.code == 2, ran.out
    assert message in " ".join(ran.err.split())
    assert entries() == []


def test_a_table_of_a_database_is_asked_with_a_budget_by_its_place() -> None:
    database = sqlite3.connect("clinic.db")
    database.execute("create table people (sex text, age integer)")
    database.executemany("insert into people values (?, ?)", [("fm"[i % 2], 20 + i % 60) for i in range(900)])
    database.commit()
    database.close()
    url = "sqlite://clinic.db#people"
    without = veil("ask", url, "--person", "null", "--count", "--epsilon", "1")
    assert without.code == 2
    assert "budget file" in without.err
    assert "(--budget of" in without.err
    assert veil("budget", url, "--epsilon", "2", "--file", "clinic.json").code == 0
    asked = veil(
        *(
            "ask",
            url,
            "--person",
            "null",
            "--budget",
            "clinic.json",
            "--count",
            "--where",
            "age >= 65",
            "--epsilon",
            "0.5",
            "--json",
        )
    )
    assert asked.code == 0, asked.err
    assert abs(json.loads(asked.out)["answers"][0]["value"] - 225) < 60
    recipe = RECIPE.replace("input: people.csv", f'input: "{url}"\nbudget: clinic.json')
    Path("ask.yaml").write_text(recipe)
    asked = veil("ask", "ask.yaml", "--json")
    assert asked.code == 0, asked.err
    assert set(json.loads(asked.out)["answers"][1]["value"]) == {"f", "m"}
    assert json.loads(asked.out)["left"] == "epsilon = 0"
    wrong = veil(
        "ask", "people.csv", "--person", "null", "--budget", "clinic.json", "--count", "--epsilon", "0.1"
    )
    assert "another data set" in wrong.err


def test_somebody_is_asked_about_by_name() -> None:
    asked = veil(
        *("ask", "people.csv", "--person", "name", "--rows-per-person", "1", "--record", "a17=sex"),
        *("--keys", "sex=f|m", "--epsilon", "0.5", "--json"),
    )
    assert asked.code == 0, asked.err
    (answer,) = json.loads(asked.out)["answers"]
    assert answer["question"] == "sex of name a17"
    assert answer["value"] in ("f", "m")
    unnamed = veil(
        *(
            "ask",
            "people.csv",
            "--person",
            "null",
            "--record",
            "17=sex",
            "--keys",
            "sex=f|m",
            "--epsilon",
            "0.5",
        )
    )
    assert unnamed.code == 2
    assert "no numbers" in " ".join(unnamed.err.split())
    assert len(entries()) == 1


def test_duckdb_reads_files_if_asked() -> None:
    asked = veil(
        "ask", "people.csv", "--person", "null", "--count", "--epsilon", "0.5", "--engine", "duckdb", "--json"
    )
    assert asked.code == 0, asked.err
    assert abs(json.loads(asked.out)["answers"][0]["value"] - 900) < 60


PRIORS = """\
input: people.csv
person: name
questions:
  neighbours: one more or less
  rows_per_person: 1
  bounds: {age: [0, 120]}
  ask:
  - {ask: record, who: A17, of: sex, epsilon: 0.25, noise: {chances: {f: 0.6, m: 0.4}}}
  - {ask: record, who: A17, of: age, epsilon: 0.25, noise: {range: [0, 120], distribution: norm, parameters: {loc: 40, scale: 15}}}
  - {ask: count, where: age >= 65, epsilon: 0.25, noise: {range: [0, 1000]}}
  - {ask: count, epsilon: 0.25, noise: {chances: [[0, 0.5], [900, 0.5]], distance: absolute}}
  - {ask: record, who: a3, of: sex, epsilon: 0.25, noise: {answers: [f, m]}}
"""


def test_priors_stand_in_recipes() -> None:
    Path("ask.yaml").write_text(PRIORS)
    asked = veil("ask", "ask.yaml", "--json")
    assert asked.code == 0, asked.err
    sex, age, old, all_of_them, other = (each["value"] for each in json.loads(asked.out)["answers"])
    assert {sex, other} <= {"f", "m"}
    assert 0 <= age <= 120
    assert 0 <= old <= 1000
    assert all_of_them in (0, 900)
    assert {each["mechanism"] for each in json.loads(asked.out)["answers"]} == {"refinement of a prior"}


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ("{chances: {f: 0.6, m: 0.5}}", "should add up to 1, not 11/10"),
        ("{chances: {f: 1.5, m: -0.5}}", "should be at least 0"),
        ("{answers: []}", "has no answers"),
        ("{range: [5, 1]}", "should be ascending"),
        ("{range: [0, 1], distribution: normal}", "no distribution 'normal'"),
        ("{range: [0, 1], distribution: norm, parameters: {mu: 1}}", "parameters of 'norm' are wrong"),
        ("{}", "exactly one of `chances`, `answers` and `range`, not 0"),
        ("{answers: [f], range: [0, 1]}", "exactly one of `chances`, `answers` and `range`, not 2"),
        ("laplace", "needs a prior as `noise`"),
    ],
)
def test_priors_that_cannot_be_are_refused_and_cost_nothing(noise: str, message: str) -> None:
    recipe = (
        PRIORS.partition("  - ")[0] + f"  - {{ask: record, who: A1, of: sex, epsilon: 0.1, noise: {noise}}}\n"
    )
    Path("ask.yaml").write_text(recipe)
    asked = veil("ask", "ask.yaml")
    assert asked.code == 2
    assert message in " ".join(asked.err.split())
    assert entries() == []
