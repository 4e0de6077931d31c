"""The draft of a recipe that `veil identify --save-recipe` writes: it can be read, reviewed, and run as it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from support.cli import veil
from veil.recipe import Recipe
from veil.synthetic import patients
from veil.tables import read, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_column_has_a_role_and_the_draft_runs() -> None:
    write(patients(400), "patients.csv")
    assert veil("identify", "patients.csv", "--save-recipe", "draft.yaml").code == 0
    recipe = Recipe.read("draft.yaml")
    named = [*recipe.quasi_identifiers, *recipe.sensitive, *recipe.insensitive, *recipe.identifying]
    assert sorted(named) == sorted(patients(1).column_names)
    assert Path("draft.yaml").read_text(encoding="utf-8").count("#") > len(named)
    ran = veil("anonymize", "draft.yaml", "-q")
    assert ran.code == 0, ran.err
    assert "name" not in read("release.csv").table.column_names


def test_people_with_several_rows_and_odd_names() -> None:
    names = ["patient", "year: of birth", "# ward\nnew", "diagnosis"]
    rows = 60
    columns = [
        [f"P{i // 3}" for i in range(rows)],
        [1950 + i // 3 for i in range(rows)],
        ["a", "b"] * (rows // 2),
        ["flu", "gout", "asthma"] * (rows // 3),
    ]
    Path("data").mkdir()
    write(pa.table(dict(zip(names, columns, strict=True))), "data/visits.parquet")
    assert veil("identify", "data/visits.parquet", "--save-recipe", "draft.yaml").code == 0
    recipe = Recipe.read("draft.yaml")
    assert recipe.person == "patient"
    assert veil("anonymize", "draft.yaml", "-q", "--engine", "memory").code == 0


def test_nothing_is_replaced_without_a_word() -> None:
    write(patients(50), "patients.csv")
    Path("draft.yaml").write_text("mine")
    assert veil("identify", "patients.csv", "--save-recipe", "draft.yaml").code == 2
    assert veil("identify", "patients.csv", "--save-recipe", "patients.csv", "--overwrite").code == 2
    assert Path("draft.yaml").read_text() == "mine"
