"""`veil anonymize` where all is well: what it writes, what it prints, what it refuses to write over."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv as arrow_csv

from support.cli import PATIENTS, PLAN, RECIPE, contents, veil
from veil import KAnonymity, Plan, verify
from veil.recipe import Recipe


def test_a_recipe_is_carried_out(folder: Path) -> None:
    ran = veil("anonymize", "recipe.yaml")
    assert (ran.code, ran.err) == (0, "")
    released = (folder / "release.csv").read_text().splitlines()
    assert len(released) == 7
    assert released[0] == "age,sex,zip,diagnosis"
    assert verify(folder / "release.csv", Recipe.read("recipe.yaml").plan()).holds


def test_it_tells_what_was_done(folder: Path) -> None:
    out = veil("anonymize", "recipe.yaml").out
    for told in (
        "Transformation",
        "width 20",
        "unchanged",
        "Result",
        "score (Loss)",
        "proven optimal",
        "of 48 checked",
        "2-anonymity",
        "identifying column 'name' is removed",
        "Re-identification risks",
        "before",
        "after",
        "release.csv",
    ):
        assert told in out


def test_it_claims_no_more_than_was_proven(folder: Path) -> None:
    out = veil("anonymize", "patients.csv", *PLAN, "--output", "r.csv", "--check-limit", "3").out
    assert re.search(r"proven optimal +no; the best score may be up to 100 % lower \(check limit\)", out)


def test_options_say_the_same_as_a_recipe(folder: Path) -> None:
    assert veil("anonymize", "recipe.yaml").code == 0
    ran = veil("anonymize", "patients.csv", *PLAN, "--order", "input", "--output", "other.csv")
    assert ran.code == 0, ran.err
    assert (folder / "other.csv").read_bytes() == (folder / "release.csv").read_bytes()


def test_options_can_be_kept_as_a_recipe(folder: Path) -> None:
    (folder / "sub").mkdir()
    plan = (*PLAN, "--order", "input")
    ran = veil("anonymize", "patients.csv", *plan, "-o", "release.csv", "--save-recipe", "sub/kept.yaml")
    assert ran.code == 0, ran.err
    kept = Recipe.read("sub/kept.yaml")
    assert kept.plan() == Recipe.read("recipe.yaml").plan()
    assert kept.source is not None
    assert kept.source.resolve() == (folder / "patients.csv").resolve()
    assert veil("anonymize", "sub/kept.yaml", "--overwrite").code == 0


def test_all_options_reach_the_plan(folder: Path) -> None:
    ran = veil(
        *("anonymize", "patients.csv", "--qi", "age=intervals:10,20", "--qi", "zip=redaction:start=right"),
        *(
            "--sensitive",
            "diagnosis",
            "--insensitive",
            "sex",
            "--identifying",
            "name=mask",
            "--others",
            "drop",
            "--microaggregate",
            "age=geometric-mean",
        ),
        *("--model", "k-anonymity:2", "--quality", "average-class-size:factor=0.4"),
        *("--suppression-limit", "0.5", "--minimum-level", "age=1", "--maximum-level", "zip=4"),
        *("--suppressed-rows", "drop", "--marker", "#", "-o", "release.csv", "--save-recipe", "kept.yaml"),
        *(
            "--strategy",
            "lightning:minimal=true",
            "--time-limit",
            "7.5",
            "--check-limit",
            "900",
            "--threads",
            "1",
        ),
    )
    assert ran.code == 0, ran.err
    from veil import hierarchies as h
    from veil.lattice import Lightning
    from veil.quality import AverageClassSize

    assert Recipe.read("kept.yaml").plan() == Plan(
        {"age": h.intervals(10, 20), "zip": h.redaction()},
        (KAnonymity(2),),
        sensitive=("diagnosis",),
        insensitive=("sex",),
        identifying={"name": "mask"},
        microaggregated={"age": "geometric mean"},
        others="drop",
        quality=AverageClassSize(0.4),
        suppression_limit=0.5,
        minimum_levels={"age": 1},
        maximum_levels={"zip": 4},
        strategy=Lightning(minimal=True),
        time_limit=7.5,
        check_limit=900,
        suppressed_rows="drop",
        marker="#",
    )


def test_quiet_prints_nothing(folder: Path) -> None:
    ran = veil("anonymize", "recipe.yaml", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (folder / "release.csv").exists()


def test_options_take_the_place_of_the_files_of_a_recipe(folder: Path) -> None:
    (folder / "others.csv").write_text(PATIENTS.replace("flu", "measles"))
    assert veil("anonymize", "recipe.yaml", "--input", "others.csv", "--output", "2.parquet").code == 0
    assert "measles" in pq.read_table(folder / "2.parquet")["diagnosis"].to_pylist()
    assert not (folder / "release.csv").exists()


def test_paths_of_a_recipe_start_at_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sex.csv").write_text("f;*\nm;*\n")
    (folder / "recipe.yaml").write_text(RECIPE.replace("sex: suppression", "sex: sex.csv"))
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert veil("anonymize", "../recipe.yaml").code == 0
    assert (folder / "release.csv").exists()
    assert not list(elsewhere.iterdir())


def test_the_dialect_is_kept(folder: Path) -> None:
    (folder / "patients.csv").write_bytes(PATIENTS.replace(",", ";").replace("Ada", "Zoë").encode("latin-1"))
    ran = veil(
        *("anonymize", "patients.csv", *PLAN, "-o", "release.csv.gz"),
        *("--format", "csv:encoding=latin-1,separator=;"),
    )
    assert ran.code == 0, ran.err
    with gzip.open(folder / "release.csv.gz", "rt") as file:
        assert file.readline() == "age;sex;zip;diagnosis\n"


def test_a_format_in_the_recipe(folder: Path) -> None:
    (folder / "patients.csv").write_text("".join(PATIENTS.splitlines(keepends=True)[1:]))
    columns = "[name, age, sex, zip, diagnosis]"
    (folder / "recipe.yaml").write_text(
        RECIPE.replace(
            "input: patients.csv", f"input: {{path: patients.csv, header: false, columns: {columns}}}"
        )
    )
    assert veil("anonymize", "recipe.yaml").code == 0
    assert len(arrow_csv.read_csv(folder / "release.csv").column_names) == 4
    assert veil("verify", "release.csv", "--recipe", "recipe.yaml").code == 0


@pytest.mark.parametrize("way", ["option", "recipe"])
def test_existing_files_are_replaced_only_if_asked(folder: Path, way: str) -> None:
    (folder / "release.csv").write_text("mine")
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 2
    assert "release.csv: already exists" in ran.err
    assert "--overwrite" in ran.err
    assert contents(folder) == before
    if way == "option":
        assert veil("anonymize", "recipe.yaml", "--overwrite").code == 0
    else:
        (folder / "recipe.yaml").write_text(RECIPE + "overwrite: true\n")
        assert veil("anonymize", "recipe.yaml").code == 0
    assert (folder / "release.csv").read_text() != "mine"


def test_what_the_release_is_made_from_is_never_replaced(folder: Path) -> None:
    before = contents(folder)
    for target, said in (("patients.csv", "patients.csv"), ("recipe.yaml", "recipe.yaml")):
        option = ("--output", target) if target.endswith("csv") else ("--report", target)
        ran = veil("anonymize", "recipe.yaml", "--overwrite", *option)
        assert ran.code == 2
        assert f"{said}: the" in ran.err
        assert "own input" in ran.err
    ran = veil("anonymize", "recipe.yaml", "--report", "release.csv")
    assert ran.code == 2
    assert "same run" in ran.err
    assert contents(folder) == before


def test_what_is_not_verified_is_not_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the verifier would see if the engine merged too little: a class of one.
    monkeypatch.setattr("veil.published.table.Published.sizes", np.array([1, 5]))
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 1
    assert "BROKEN: 2-anonymity" in ran.err
    assert contents(folder) == before


def test_no_solution(folder: Path) -> None:
    (folder / "recipe.yaml").write_text(
        RECIPE.replace("suppression\n", "identity\n").replace("redaction", "identity")
    )
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 4
    assert "no transformation fulfils" in ran.err
    assert "suppression_limit" in ran.err
    assert contents(folder) == before


def test_local_recoding(folder: Path) -> None:
    """What would stay suppressed is transformed again; the recipe of the options says so, too."""
    options = (
        *(
            "anonymize",
            "patients.csv",
            "--qi",
            "age=intervals:10,20",
            "--qi",
            "zip=redaction",
            "--others",
            "keep",
        ),
        *("--model", "k-anonymity:2", "--suppression-limit", "0.9", "--quality", "loss:factor=0"),
    )
    plain = veil(*options, "-o", "plain.csv")
    local = veil(
        *options, "--recoding", "fast-iterative:0.2", "-o", "local.csv", "--save-recipe", "local.yaml"
    )
    assert (plain.code, local.code) == (0, 0), local.err
    assert "Local recoding" in local.out
    stars = [Path(name).read_text().count("*****") for name in ("plain.csv", "local.csv")]
    assert stars[1] < stars[0] or stars == [0, 0]
    Path("local.csv").unlink()
    assert veil("anonymize", "local.yaml").code == 0
    assert "no 'slow'" in veil(*options, "--recoding", "slow", "-o", "x.csv").err
