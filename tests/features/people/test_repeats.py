"""The command line notices rows about the same people, and says both ways out in its own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import veil
from support.recipes import generalize

VISITS = "patient,age,diagnosis\n" + "".join(
    f"P{i:02},{30 + i},{'flu' if i % 3 else 'gout'}\n" for i in range(20) for _ in range(6)
)
PLAN = [
    "--qi",
    "age=intervals:5,10,20",
    "--sensitive",
    "diagnosis",
    "--model",
    "k-anonymity:5",
    "--others",
    "drop",
]


@pytest.fixture(autouse=True)
def visits(folder: Path) -> None:
    (folder / "visits.csv").write_text(VISITS)


def test_anonymize_refuses_and_names_both_ways_out(folder: Path) -> None:
    ran = veil("anonymize", "visits.csv", "-o", "out.csv", *PLAN)
    assert ran.code == 2
    assert "'patient'" in ran.err
    assert "20 different" in ran.err
    assert "120 rows" in ran.err
    assert "--person patient" in ran.err
    assert "--person null" in ran.err
    assert not (folder / "out.csv").exists()


def test_both_ways_out_work(folder: Path) -> None:
    ran = veil("anonymize", "visits.csv", "-o", "out.csv", *PLAN, "--person", "patient")
    assert ran.code == 0
    ages = [line.rpartition(",")[0] for line in (folder / "out.csv").read_text().splitlines()[1:]]
    assert min(ages.count(each) for each in ages) >= 5 * 6
    ran = veil("anonymize", "visits.csv", "-o", "rows.csv", *PLAN, "--person", "null")
    assert ran.code == 0
    assert len(set((folder / "rows.csv").read_text().splitlines())) > 20


def test_recipes_say_it_in_their_words(folder: Path) -> None:
    (folder / "people.yaml").write_text(
        generalize(
            "input: visits.csv\noutput: out.csv\nquasi_identifiers: {age: {kind: intervals, widths: [5]}}\n"
            "identifying: [patient]\nothers: drop\nmodels: [{kind: KAnonymity, k: 5}]\n"
        )
    )
    ran = veil("anonymize", "people.yaml")
    assert "(person: patient)" in ran.err
    assert "(person: null)" in ran.err


def test_identify_says_so_and_proposes_the_column(folder: Path) -> None:
    ran = veil("identify", "visits.csv")
    assert all(fact in " ".join(ran.out.split()) for fact in ("same people", "'patient'"))
    assert "--person patient" in " ".join(ran.out.split())
    found = json.loads(veil("identify", "visits.csv", "--json").out)
    assert found["repeated"] == [{"columns": ["patient"], "people": 20, "rows": 120, "most": 6, "alike": []}]


def test_assess_says_so(folder: Path) -> None:
    ran = veil("assess", "visits.csv", "--qi", "age")
    assert all(fact in " ".join(ran.out.split()) for fact in ("'patient'", "20 different"))
    found = json.loads(veil("assess", "visits.csv", "--qi", "age", "--json").out)
    assert found["repeated"][0]["people"] == 20
