"""The draft of a recipe that `veil identify --save-recipe` writes: it can be read, reviewed, and run as it is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa
import pytest

from support.cli import veil
from veil.hierarchies._dates import Dates
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
    named = [
        *recipe.generalize.quasi_identifiers,
        *recipe.generalize.sensitive,
        *recipe.generalize.insensitive,
        *recipe.generalize.identifying,
    ]
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


def test_a_german_export_is_understood_at_once(folder: Path) -> None:
    """Title lines, cp1252, decimal commas, several spellings of missing values and of dates, several rows a patient."""
    lines = ["Klinikum Köln, Auszug", "", "PatNr;Geburtsdatum;PLZ;Kosten;Gewicht;Tage;Aufnahme;Bemerkung"]
    for i in range(240):
        born, plz = f"{1 + i % 28:02}.{1 + i % 12:02}.{1940 + i % 50}", ["50667", "50668", "k.A."][i % 3]
        cost = "k.A." if i % 40 == 7 else f"{1 + i % 9}.{100 + i},{i % 90 + 10}"
        stay, weight = 999 if i % 50 == 3 else 1 + i % 20, f"{60 + i % 30},{i % 10}"
        came = f"2024-03-{1 + i % 28:02}" if i % 30 == 5 else f"{1 + i % 28:02}.05.2024"
        lines.append(
            f"{1000 + i // 2};{born};{plz};{cost};{weight};{stay};{came};{'Tel. 0221 123456' if i % 9 == 0 else ''}"
        )
    (folder / "export.csv").write_text("\r\n".join(lines), encoding="cp1252")
    ran = veil("identify", "export.csv", "--save-recipe", "first.yaml")
    assert ran.code == 0
    (note,) = [line for line in ran.err.splitlines() if "This is a guess" in line]
    for reason in ("text is not UTF-8 and seems to be cp1252", "begin in line 3", "look like 16.092,04"):
        assert reason in note
    first = Recipe.read("first.yaml")
    table = read("export.csv", format=first.input_format).table
    assert pa.types.is_decimal(table.schema.field("Gewicht").type)
    assert veil("anonymize", "first.yaml", "-q", "--overwrite").code == 0
    # Codes for missing values are for a person to confirm.
    (way,) = [line for line in ran.err.splitlines() if line.startswith("To read the file that way: ")]
    format = shlex.split(way.partition("--format ")[2])[0]
    ran = veil("identify", "export.csv", "--format", format, "--save-recipe", "draft.yaml")
    assert "note" not in ran.err
    recipe = Recipe.read("draft.yaml")
    assert recipe.person == "PatNr"
    assert isinstance(recipe.generalize.quasi_identifiers["Aufnahme"], Dates)
    assert set(recipe.generalize.quasi_identifiers["Aufnahme"].format or ()) == {"%d.%m.%Y", "%Y-%m-%d"}
    assert "Bemerkung" in recipe.generalize.identifying
    table = read("export.csv", format=recipe.input_format).table
    assert pa.types.is_decimal(table.schema.field("Kosten").type)
    assert table["Tage"].null_count == 5
    assert veil("anonymize", "draft.yaml", "-q", "--overwrite").code == 0


def test_a_release_is_not_made_by_a_guess(folder: Path) -> None:
    """One error says all that it takes to read the file, as a shell takes it."""
    lines = ["Klinikum Köln;;", "", "Name;PLZ;Kosten", *(f"Jörg;5066{i % 3};{i},5" for i in range(30))]
    (folder / "export.csv").write_text("\n".join(lines), encoding="cp1252")
    command = "anonymize export.csv -o out.csv --qi PLZ=suppression --others drop --model k-anonymity:5 --person null"
    ran = veil(*shlex.split(command))
    assert ran.code == 2
    way = ran.err.partition("for example ")[2].partition(", and check")[0]
    assert shlex.split(way) == ["--format", "csv:encoding=cp1252,skip=2"]
    assert veil(*shlex.split(f"{command} {way}")).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "source", ["duckdb://stays.db#stays", "duckdb://stays.db#in%2324", "stays", "stays/*.parquet"]
)
def test_a_table_that_an_engine_holds(source: str, folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    Path("stays").mkdir()
    write(patients(300), "stays/part.parquet")
    with duckdb.connect("stays.db") as connection:
        for name in ("stays", "in#24"):
            connection.execute(f"CREATE TABLE \"{name}\" AS SELECT * FROM 'stays/*.parquet'")
    Path("recipes").mkdir()
    ran = veil("identify", source, "--save-recipe", "recipes/draft.yaml")
    assert ran.code == 0, ran.err
    recipe = Recipe.read("recipes/draft.yaml")
    assert {"age", "sex", "zip"} <= set(recipe.generalize.quasi_identifiers)
    ran = veil("anonymize", "recipes/draft.yaml", "-q")
    assert ran.code == 0, ran.err
    assert read("recipes/release.parquet").table.num_rows == 300


def test_a_password_is_not_passed_on(folder: Path) -> None:
    pytest.importorskip("duckdb")
    ran = veil("identify", "postgres://ann:s3cret@127.0.0.1:1/clinic#stays", "--save-recipe", "draft.yaml")
    assert ran.code == 2
    assert "s3cret" not in ran.out + ran.err
