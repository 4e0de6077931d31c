"""SafePub and its budget from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import veil


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{'fm'[i % 2]},{20 + i % 3}" for i in range(900))
    Path("people.csv").write_text(f"sex,age\n{rows}\n")
    Path("sex.csv").write_text("f;*\nm;*\n")
    Path("age.csv").write_text("20;*\n21;*\n22;*\n")
    return tmp_path


RELEASE = (
    *("anonymize", "people.csv", "--qi", "sex=sex.csv", "--qi", "age=age.csv"),
    *("--model", "safe-pub:1,delta=1e-4", "--person", "null", "--budget", "people.csv.budget.json"),
)


def test_a_budget_is_started_spent_and_kept(people: Path) -> None:
    started = veil("budget", "people.csv", "--epsilon", "1.5", "--delta", "1e-3")
    assert started.code == 0, started.err
    assert "left: epsilon = 1.5, delta = 0.001" in started.out
    first = veil(*RELEASE, "-o", "first.csv", "--report", "first.html")
    assert first.code == 0, first.err
    assert "your record is not in the data at all" in " ".join(first.out.split())
    assert "suppressed" not in first.out
    assert "before" not in first.out
    assert "your record is not in the data at all" in Path("first.html").read_text()
    assert len(Path("first.csv").read_text().splitlines()) < 901
    assert "left: epsilon = 0.5" in veil("budget", "people.csv").out
    second = veil(*RELEASE, "-o", "second.csv")
    assert second.code != 0
    assert "would cost epsilon = 1" in second.err
    assert not Path("second.csv").exists()
    assert len(json.loads(Path("people.csv.budget.json").read_text())["spent"]) == 1


def test_mistakes_are_explained(people: Path) -> None:
    assert "no budget" in veil("budget", "people.csv").err
    assert "--delta needs --epsilon" in veil("budget", "people.csv", "--delta", "1e-4").err
    assert "cannot be read" in veil("budget", "nobody.csv", "--epsilon", "1").err
    assert veil("budget", "people.csv", "--epsilon", "1", "--delta", "1e-4").code == 0
    again = veil("budget", "people.csv", "--epsilon", "9", "--delta", "1e-4")
    assert again.code == 2
    assert "already exists" in again.err
    plain = veil(
        *(
            "anonymize",
            "people.csv",
            "--qi",
            "sex=suppression",
            "--model",
            "k-anonymity:2",
            "--others",
            "drop",
        ),
        *("-o", "x.csv", "--budget", "people.csv.budget.json"),
    )
    assert plain.code == 2
    assert "only for SafePub" in plain.err
    Path("people.csv").write_text("sex,age\nf,20\n")
    changed = veil(*RELEASE, "-o", "x.csv")
    assert "another data set" in changed.err
