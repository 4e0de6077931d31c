"""The other commands: assess, verify, hierarchy, the lists, schema, demo, and how quickly help comes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import PATIENTS, RECIPE, SOURCES, contents, python, veil
from veil import __version__
from veil.cli.demo import check_folder
from veil.hierarchies import Hierarchy
from veil.recipe import Recipe, schema

HEAVY = ("numba", "numpy", "pandas", "polars", "pyarrow", "pydantic", "rich", "scipy", "yaml")


def test_assess(folder: Path) -> None:
    ran = veil("assess", "patients.csv", "--qi", "sex", "--sensitive", "diagnosis")
    assert ran.code == 0, ran.err
    assert "k = 2" in ran.out
    assert "50.00%" in ran.out
    ran = veil("assess", "patients.csv", "--qi", "age,sex,zap")
    assert (ran.code, ran.out) == (2, "")
    assert "no column 'zap'" in ran.err
    assert veil("assess", "nowhere.csv", "--qi", "age").code == 2
    assert veil("assess", "patients.csv").code == 2


def test_assess_leaves_suppressed_records_out(folder: Path) -> None:
    (folder / "t.csv").write_text("age,sex\n1,f\n1,f\n*,*\n")
    ran = veil("assess", "t.csv", "--qi", "age,sex")
    assert "1 suppressed" in ran.out
    assert "k = 2" in ran.out


def test_verify(folder: Path) -> None:
    assert veil("anonymize", "recipe.yaml", "-q").code == 0
    before = contents(folder)
    ran = veil("verify", "release.csv", "--recipe", "recipe.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "2-anonymity" in ran.out
    assert ran.out.endswith("Every promise holds\n")
    ran = veil("verify", "release.csv", "--recipe", "recipe.yaml", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = veil("verify", "patients.csv", "--recipe", "recipe.yaml")
    assert ran.code == 1
    assert "BROKEN" in ran.out
    assert "identifying column 'name'" in ran.out
    for arguments in (
        ("nowhere.csv", "--recipe", "recipe.yaml"),
        ("release.csv", "--recipe", "nowhere.yaml"),
        ("release.csv",),
    ):
        ran = veil("verify", *arguments)
        assert ran.code == 2
        assert ran.err
    assert contents(folder) == before


def test_verify_reads_the_release_as_the_recipe_reads_the_table(folder: Path) -> None:
    (folder / "patients.csv").write_text(PATIENTS.replace(",", "|"))
    (folder / "recipe.yaml").write_text(
        RECIPE.replace(
            "input: patients.csv",
            "input: {path: patients.csv, separator: '|', types: {name: string, age: integer}}",
        )
    )
    assert veil("anonymize", "recipe.yaml").code == 0
    ran = veil("verify", "release.csv", "--recipe", "recipe.yaml")
    assert ran.code == 0, ran.err


def test_a_hierarchy_to_edit(folder: Path) -> None:
    ran = veil("hierarchy", "patients.csv", "zip", "--using", "redaction", "-o", "zip.csv")
    assert ran.code == 0, ran.err
    assert Hierarchy.read("zip.csv").to_rows()[0] == ("02138", "0213*", "021**", "02***", "0****", "*****")
    assert "zip: {kind: redaction}" in ran.out
    assert "0213*" in ran.out
    ran = veil("hierarchy", "patients.csv", "age")
    assert ran.code == 0, ran.err
    assert "age: {kind: intervals" in ran.out  # what auto proposes

    before = contents(folder)
    ran = veil("hierarchy", "patients.csv", "zip", "-o", "zip.csv")
    assert (ran.code, "already exists" in ran.err) == (2, True)
    ran = veil("hierarchy", "patients.csv", "zap")
    assert (ran.code, "mean 'zip'?" in ran.err) == (2, True)
    assert contents(folder) == before


def test_models_are_listed_with_range_and_advice() -> None:
    ran = veil("list", "models")
    assert ran.code == 0, ran.err
    for told in (
        "k-anonymity",
        "record linkage",
        "integer, 1 or more",
        "5 to 20 is usual",
        "kind: KAnonymity",
        "monotone under generalization: yes; suppression: yes",
        "monotone under generalization: if estimator is shannon; suppression: no",
        "number, more than 0 and less than 1",  # a significance
        "number, more than 0 and at most 1",  # an alpha
    ):
        assert told in ran.out
    assert "Samarati" not in ran.out
    assert "Samarati" in veil("list", "models", "KAnonymity").out
    ran = veil("list", "models", "k-anonimity")
    assert (ran.code, "mean 'k-anonymity'?" in ran.err) == (2, True)


def test_every_quality_model_and_hierarchy_is_listed() -> None:
    from veil.cli.grammar import kebab
    from veil.hierarchies import BUILDERS
    from veil.quality import QUALITIES

    listed = veil("list", "quality-models").out
    assert all(kebab(kind) in listed for kind in QUALITIES)
    listed = veil("list", "hierarchies").out
    assert all(kebab(kind) in listed for kind in BUILDERS)
    assert "0 to 1" in veil("list", "quality-models", "loss").out


def test_schema(folder: Path) -> None:
    ran = veil("schema")
    assert json.loads(ran.out) == schema()
    assert veil("schema", "--output", "schema.json").code == 0
    assert json.loads((folder / "schema.json").read_text()) == schema()
    ran = veil("schema", "--output", "nowhere/schema.json")
    assert (ran.code, "nowhere/schema.json" in ran.err) == (2, True)


def test_version_and_help() -> None:
    assert veil("--version").out == f"veil {__version__}\n"
    ran = veil("--help")
    assert ran.code == 0
    assert "demo" in ran.out
    helped = " ".join(veil("anonymize", "--help").out.replace("│", " ").split())
    assert "--qi age=intervals:5,10,20" in helped
    assert veil("nonsense").code == 2


def test_help_imports_nothing_heavy() -> None:
    # Only what `veil.cli` imports is of interest here, so the package is entered without its `__init__`.
    script = f"""
import sys, types
package = types.ModuleType("veil")
package.__path__ = [{str(SOURCES / "veil")!r}]
sys.modules["veil"] = package
import veil.cli
print(*(name for name in {HEAVY} if name in sys.modules))
"""
    out, err = python("-c", script).communicate(timeout=300)
    assert (out.strip(), err) == ("", "")


def test_dataframe_libraries_are_not_imported(folder: Path) -> None:
    script = """
import sys
from veil.cli import main
sys.argv = ["veil", "anonymize", "recipe.yaml", "--quiet"]
try:
    main()
except SystemExit as stop:
    print(stop.code, *(name for name in ("pandas", "polars", "scipy.linalg", "narwhals") if name in sys.modules))
"""
    out, err = python("-c", script, cwd=folder).communicate(timeout=300)
    assert (out.strip(), err) == ("0", "")


def test_libraries_are_hidden_only_for_the_moment_in_which_they_are_looked_for() -> None:
    script = """
from veil.cli import startup
startup.own_process = True
startup.quick()
import numpy, pandas, pyarrow
print(numpy.eye(2).sum(), pandas.DataFrame({"a": [1]})["a"][0])
"""
    out, err = python("-c", script).communicate(timeout=300)
    assert (out.split(), err) == (["2.0", "1"], "")


def test_demo(folder: Path) -> None:
    pytest.importorskip("veil.report")
    ran = veil("demo", "shown", "--rows", "400")
    assert ran.code == 0, ran.err
    for told in (
        "hospital stays",
        "as released",
        "5-anonymity",
        "Re-identification risks",
        "shown/report.html",
    ):
        assert told in ran.out
    made = folder / "shown"
    assert sorted(each.name for each in made.iterdir()) == [
        "patients.csv",
        "recipe.yaml",
        "release.csv",
        "report.html",
    ]
    assert veil("verify", made / "release.csv", "--recipe", made / "recipe.yaml").code == 0
    check_folder(made)  # its own files may be replaced


def test_the_demo_spares_files_that_are_not_its_own(folder: Path) -> None:
    before = contents(folder)
    ran = veil("demo", ".")
    assert ran.code == 2
    assert "patients.csv" in ran.err
    assert contents(folder) == before
    ran = veil("demo", "patients.csv")
    assert (ran.code, "is a file" in ran.err) == (2, True)
    ran = veil("demo", "patients.csv/demo")
    assert (ran.code, all(fact in ran.err for fact in ("patients.csv/demo:", "cannot be created"))) == (
        2,
        True,
    )
    assert contents(folder) == before


def test_the_recipe_of_the_demo_leaves_nothing_to_guess() -> None:
    from veil.cli.demo import RECIPE as DEMO
    from veil.recipe.document import parse
    from veil.synthetic import patients

    plan = Recipe.model_validate(parse(DEMO, "demo").data).plan()
    plan.check_columns(patients(10).column_names)
