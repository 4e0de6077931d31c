"""Recipes of tables that an engine holds: databases, folders, patterns, and how much of the machine may be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import refusals
from support.recipes import generalize
from veil import KAnonymity, Plan
from veil.engines import Database, Settings
from veil.errors import ParameterError
from veil.recipe import Recipe, schema
from veil.tables import Csv, Parquet

LEAST = generalize("quasi_identifiers: {sex: suppression}\nmodels: [{kind: KAnonymity, k: 2}]\n")
PLAN = Plan({"sex": "suppression"}, KAnonymity(2))
VALIDATOR = jsonschema.Draft202012Validator(schema())


def read(text: str, folder: Path) -> Recipe:
    folder.mkdir(exist_ok=True)
    (folder / "recipe.yaml").write_text(text + LEAST, encoding="utf-8")
    recipe = Recipe.read(folder / "recipe.yaml")
    VALIDATOR.validate(recipe.spell())
    return recipe


@pytest.mark.parametrize(
    ("text", "database"),
    [
        ("postgres://veil@host/db#patients", Database("postgres://veil@host/db", "patients")),
        (
            '"postgres://veil@host:5433/db#clinic.patients"',
            Database("postgres://veil@host:5433/db", "patients", "clinic"),
        ),
        (
            "{url: postgres://veil@host/db, table: patients, schema: public, password_variable: VEIL_PASSWORD}",
            Database("postgres://veil@host/db", "patients", "public", "VEIL_PASSWORD"),
        ),
        ("{url: 'mysql://host/db', table: a.b}", Database("mysql://host/db", "a.b")),
        ("spark:#patients", Database("spark:#patients")),
    ],
)
def test_databases_as_input_and_as_output(text: str, database: Database, tmp_path: Path) -> None:
    recipe = read(f"input: {text}\noutput: {text}\n", tmp_path)
    assert (recipe.source, recipe.target) == (database, database)
    assert recipe.input_format is None
    recipe.save(tmp_path / "again.yaml")
    assert Recipe.read(tmp_path / "again.yaml").input == database


def test_files_of_databases_are_found_from_the_recipe(tmp_path: Path) -> None:
    recipe = read(
        "input: 'duckdb://data/my%20clinic.db#patients'\noutput: 'sqlite:out.db#t'\n", tmp_path / "a"
    )
    assert isinstance(recipe.source, Database)
    assert isinstance(recipe.target, Database)
    assert recipe.source.file == tmp_path / "a" / "data" / "my clinic.db"
    assert recipe.target.file == tmp_path / "a" / "out.db"
    recipe.save(tmp_path / "moved.yaml")
    moved = Recipe.read(tmp_path / "moved.yaml")
    assert moved.source == recipe.source
    assert moved.spell()["input"] == "duckdb://a/data/my%20clinic.db#patients"


@pytest.mark.parametrize(
    ("text", "path", "format"),
    [
        ("data/", "data", None),
        ("data/part-*", "data/part-*", None),
        ("data/**/*.parquet", "data/**/*.parquet", Parquet()),
        ("{path: data/, kind: csv, separator: ;}", "data", Csv(separator=";")),
        ("{path: data/*.csv, separator: ;}", "data/*.csv", Csv(separator=";")),
    ],
)
def test_folders_and_patterns(text: str, path: str, format: Any, tmp_path: Path) -> None:
    recipe = read(f"input: {text}\n", tmp_path / "a")
    assert (recipe.source, recipe.input_format) == (tmp_path / "a" / path, format)
    recipe.save(tmp_path / "moved.yaml")
    moved = Recipe.read(tmp_path / "moved.yaml")
    assert (moved.source, moved.input_format) == (tmp_path / "a" / path, format)


def test_a_folder_as_output_keeps_its_mark(tmp_path: Path) -> None:
    recipe = read("output: releases/v1.2/\n", tmp_path / "a")
    assert recipe.target == f"{tmp_path}/a/releases/v1.2/"
    assert recipe.path("output") == tmp_path / "a" / "releases" / "v1.2"
    assert recipe.spell(tmp_path)["output"] == "a/releases/v1.2/"


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("", "auto"),
        ("engine: auto\n", "auto"),
        ("engine: memory\n", "memory"),
        ("engine: duckdb\n", "duckdb"),
        ("engine: {memory: 2GB, threads: 2}\n", Settings("2GB", 2)),
        ("engine: {kind: duckdb}\n", "duckdb"),
        ("engine: {kind: DuckDB, memory: 2GB}\n", Settings("2GB")),
        ("engine: {kind: memory}\n", "memory"),
    ],
)
def test_who_reads_files(text: str, engine: Any, tmp_path: Path) -> None:
    recipe = read(text, tmp_path)
    assert recipe.reading == engine
    assert ("engine" in recipe.spell()) == (engine != "auto")
    assert Recipe(**recipe.spell()).reading == engine


def test_the_folder_for_temporary_files_is_found_from_the_recipe(tmp_path: Path) -> None:
    recipe = read("engine: {memory: 512MiB, temporary: scratch}\n", tmp_path / "a")
    assert recipe.reading == Settings("512MiB", None, tmp_path / "a" / "scratch")
    assert recipe.spell(tmp_path)["engine"] == {"memory": "512MiB", "temporary": "a/scratch"}


SECRET = "s3cr3t"
WITH_PASSWORD = (
    f"postgres://veil:{SECRET}@host/db#patients",
    f"{{url: 'postgres://veil:{SECRET}@host/db', table: patients}}",
    f"{{kind: Database, url: 'mysql://host/db?password={SECRET}', table: patients}}",
)


@pytest.mark.parametrize("field", ["input", "output"])
@pytest.mark.parametrize("text", WITH_PASSWORD)
def test_passwords_are_refused_and_not_repeated(field: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refused:
        read(f"{field}: {text}\n", tmp_path)
    assert "line 1: `" + field in str(refused.value)
    assert "in a recipe" in str(refused.value)
    assert "password_variable" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("field", ["input", "output"])
@pytest.mark.parametrize("wrong", ["tabel: t", "table: [t]", "schema: {a: b}"])
def test_no_other_mistake_repeats_a_password(field: str, wrong: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refused:
        read(f"{field}: {{url: 'postgres://veil:{SECRET}@host/db', {wrong}}}\n", tmp_path)
    assert f"`{field}.{wrong.partition(':')[0]}`" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input: data\n", "end it with / if it is a folder"),
        ("input: s3://bucket/data.parquet\n", "not with 's3'. Copy the files to this machine first"),
        (
            "input: {url: postgres://host/db, tabel: t}\n",
            "`input.tabel` is not known here. Did you mean 'table'?",
        ),
        ("input: {table: t}\n", "`kind` is required"),
        ("output: {path: a.csv}\n", "`output.url` is required"),
        ("output: ''\n", "`output` should have at least 1 character"),
        (
            "engine: spark\n",
            "`engine`: auto, memory or duckdb is expected, or duckdb with limits, such as {kind: duckdb, ",
        ),
        ("engine: {kind: memory, threads: 2}\n", "`engine`: auto, memory or duckdb is expected"),
        ("engine: [duckdb]\n", "`engine`: auto, memory or duckdb is expected"),
        ("engine: {memory: much}\n", "should be a size such as '2GB' or '512MiB', not 'much'"),
        ("engine: {memry: 2GB}\n", "`engine.memry` is not known here. Did you mean 'memory'?"),
        ("engine: {threads: 0}\n", "`engine.threads` should be greater than or equal to 1, not 0"),
    ],
)
def test_mistakes(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refused:
        read(text, tmp_path)
    assert message in str(refused.value)


def test_no_recipe_holds_a_password() -> None:
    steps = [{"kind": "RankSwapping", "columns": "age", "p": 10}]
    with refusals.refused(ParameterError, "password", "`password_variable`") as refused:
        Recipe(input=f"postgres://veil:{SECRET}@host/db#patients", steps=steps)
    assert SECRET not in str(refused.value)


def test_a_plan_made_in_python(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    recipe = Recipe.of(
        PLAN,
        input=tmp_path / "data",
        output=f"postgres://veil:{SECRET}@host/db#release",
        engine=Settings(memory="1GB"),
    )
    recipe.save(tmp_path / "recipe.yaml")
    assert SECRET not in (tmp_path / "recipe.yaml").read_text()
    again = Recipe.read(tmp_path / "recipe.yaml")
    assert again.source == tmp_path / "data"
    assert again.target == Database("postgres://veil@host/db#release")
    assert again.reading == Settings(memory="1GB")
    assert Recipe.of(PLAN, input="duckdb:///clinic.db#t").source == Database("duckdb:///clinic.db#t")


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@given(
    st.sampled_from(["postgres://veil@host/db", "duckdb:///a/b.db", "sqlite:///x.db"]),
    NAMES,
    NAMES | st.none(),
)
def test_every_name_of_a_table_survives(url: str, table: str, schema: str | None) -> None:
    database = Database(url, table, None if url.startswith("sqlite") else schema)
    spelled = Recipe.of(PLAN, input=database, output=database).spell()
    again = Recipe(**spelled)
    assert (again.input, again.output) == (database, database)
