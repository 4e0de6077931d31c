"""`veil ask`: questions under a budget from options and from recipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import veil
from veil.dp import steady

RECIPE = """\
input: people.csv
neighbours: one more or less
bounds: {age: [0, 120]}
keys: {sex: [f, m]}
missing: {age: leave out}
questions:
  - {ask: count, where: age >= 65, epsilon: 0.5}
  - {ask: histogram, of: sex, epsilon: 0.5}
  - {ask: quantiles, of: age, shares: [0.5], epsilon: 0.5}
"""


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(steady.time, "sleep", lambda seconds: None)
    rows = "\n".join(f"{'fm'[i % 2]},{20 + i % 60}" for i in range(900))
    Path("people.csv").write_text(f"sex,age\n{rows}\n")
    started = veil("budget", "people.csv", "--epsilon", "2")
    assert started.code == 0, started.err
    assert "neighbours: one more or less" in started.out
    return tmp_path


def entries() -> list[str]:
    return [each["label"] for each in json.loads(Path("people.csv.budget.json").read_text())["spent"]]


def test_questions_from_options() -> None:
    asked = veil("ask", "people.csv", "--count", "--where", "age >= 65", "--epsilon", "0.5", "--json")
    assert asked.code == 0, asked.err
    found = json.loads(asked.out)
    (answer,) = found["answers"]
    assert answer["question"] == "count where age >= 65"
    assert answer["interval"][0] < answer["value"] < answer["interval"][1]
    assert abs(answer["value"] - 225) < 60
    assert found["left"] == "epsilon = 1.5"
    assert found["neighbours"] == "one more or less"
    shown = veil(
        *("ask", "people.csv", "--mean", "age", "--histogram", "sex", "--quantiles", "age=0.25,0.5"),
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
        *("ask", "people.csv", "--budget", "other.json", "--count", "--rho", "0.01", "--noise", "gaussian"),
        "--json",
    )
    assert asked.code == 0, asked.err
    assert json.loads(asked.out)["answers"][0]["spent"] == "rho = 0.01"
    shown = veil("budget", "people.csv", "--file", "other.json").out
    assert "rho = 0.01" in shown
    assert "neighbours: one changed" in shown


def test_a_preview_spends_nothing() -> None:
    asked = veil("ask", "people.csv", "--count", "--epsilon", "0.1", "--preview")
    assert asked.code == 0, asked.err
    assert "with 95 % the answer is within ± 30" in " ".join(asked.out.split())
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
    assert "column 'height' has no bounds" in asked.err
    assert entries() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ask", "people.csv", "--epsilon", "1"), "say what to ask, such as --count"),
        (("ask", "people.csv", "--count"), "`epsilon` is missing"),
        (("ask", "people.csv", "--mean", "age", "--epsilon", "1"), "column 'age' has no bounds"),
        (("ask", "people.csv", "--count", "--epsilon", "1", "--bounds", "age"), "write COLUMN="),
        (
            ("ask", "people.csv", "--count", "--epsilon", "1", "--bounds", "age=3"),
            "the lower and the higher bound",
        ),
        (("ask", "people.csv", "--count", "--epsilon", "1", "--noise", "pink"), "pink"),
        (
            ("ask", "people.csv", "--count", "--epsilon", "1", "--neighbours", "one changed"),
            'the budget is for neighbours="one more or less"',
        ),
        (("budget", "people.csv", "--neighbours", "one changed"), "--neighbours goes with --epsilon"),
    ],
)
def test_mistakes_are_explained(arguments, message) -> None:
    ran = veil(*arguments)
    assert ran.code == 2, ran.out
    assert message in " ".join(ran.err.split())
    assert entries() == []
