"""A pipeline relies on it: streams, JSON, rehearsals and logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import PATIENTS, PLAN, RECIPE, contents, process, veil

SECRETS = ["Ada", "02139", "gout", "diagnosis", "zip"]


def piped(text: str, *arguments: str, cwd: Path) -> tuple[int, str, str]:
    started = process(*arguments, stdin=-1, cwd=cwd)
    out, err = started.communicate(text)
    return started.returncode, out, err


@pytest.mark.slow
def test_a_table_comes_and_goes_as_a_stream(folder: Path) -> None:
    assert veil("anonymize", "recipe.yaml").code == 0
    code, out, err = piped(PATIENTS, "anonymize", "recipe.yaml", "--input", "-", "-o", "-", cwd=folder)
    assert (code, out) == (0, (folder / "release.csv").read_text())
    assert "2-anonymity" in err
    code, out, _ = piped(
        PATIENTS, "anonymize", "-", "-o", "-", "--order", "input", *PLAN, "--quiet", cwd=folder
    )
    assert (code, out) == (0, (folder / "release.csv").read_text())


@pytest.mark.slow
def test_nothing_goes_out_that_breaks_a_promise(folder: Path) -> None:
    before = contents(folder)
    impossible = [*PLAN[:-1], "k-anonymity:7"]
    code, out, err = piped(PATIENTS, "anonymize", "-", "-o", "-", *impossible, cwd=folder)
    assert (code != 0, out) == (True, "")
    assert "KAnonymity(k=7)" in err
    code, out, err = piped("", "anonymize", "recipe.yaml", "--input", "-", "-o", "-", cwd=folder)
    assert (code, out) == (2, "")
    assert "input is empty" in err
    assert contents(folder) == before


def test_json_and_a_stream_do_not_share_standard_output(folder: Path) -> None:
    ran = veil("anonymize", "recipe.yaml", "-o", "-", "--json")
    assert ran.code == 2
    assert "both use standard" in ran.err


def test_json_tells_what_was_done(folder: Path) -> None:
    ran = veil("anonymize", "recipe.yaml", "--json", "--certificate", "certificate.json")
    told = json.loads(ran.out)
    assert (told["records"], told["suppressed"], told["rows"]) == (6, 0, 6)
    assert told["transformation"].keys() == {"age", "sex", "zip"}
    assert told["promises"][0] == {"promise": "2-anonymity", "holds": True, "found": "k = 2"}
    assert told["risk"]["before"]["uniques"] == 1.0
    assert told["files"]["release"] == "release.csv"
    assert told["files"]["certificate"] == "certificate.json"
    assert "Ada" not in ran.out


def test_a_rehearsal_writes_nothing_and_finds_what_is_wrong(folder: Path) -> None:
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml", "--dry-run", "--json", "--report", "report.html")
    told = json.loads(ran.out)
    assert (told["records"], told["columns"], told["transformations"]) == (6, 5, 48)
    assert told["targets"] == {"release": "release.csv", "report": "report.html"}
    assert "nothing was written" in veil("anonymize", "recipe.yaml", "--dry-run").out
    assert contents(folder) == before
    (folder / "recipe.yaml").write_text(RECIPE.replace("sex: suppression", "sx: suppression"))
    ran = veil("anonymize", "recipe.yaml", "--dry-run")
    assert ran.code == 2
    assert "'sx'" in ran.err
    (folder / "recipe.yaml").write_text(RECIPE)
    (folder / "release.csv").write_text("mine")
    assert "already exists" in veil("anonymize", "recipe.yaml", "--dry-run").err


def test_a_log_tells_phases_and_the_end_but_no_value_and_no_column(folder: Path) -> None:
    assert veil("anonymize", "recipe.yaml", "--log", "run.jsonl").code == 0
    assert veil("anonymize", "recipe.yaml", "--log", "run.jsonl").code == 2  # release.csv is there
    text = (folder / "run.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [each["event"] for each in lines if each["event"] != "phase"] == [
        "start",
        "released",
        "end",
        "start",
        "end",
    ]
    assert {"reading the table", "searching", "verifying"} <= {each.get("name") for each in lines}
    assert [each["code"] for each in lines if each["event"] == "end"] == [0, 2]
    assert lines[-1]["error"] == "OutputError"
    for secret in SECRETS:
        assert secret not in text


def test_a_log_that_cannot_be_written_is_no_run(folder: Path) -> None:
    ran = veil("anonymize", "recipe.yaml", "--log", "nowhere/run.jsonl")
    assert ran.code == 2
    assert "log cannot be" in ran.err
    assert not (folder / "release.csv").exists()


def test_risks_of_what_a_recipe_names(folder: Path) -> None:
    said = veil("risk", "patients.csv", "--qi", "age,sex,zip", "--untouched", "--json")
    assert veil("risk", "--recipe", "recipe.yaml", "--untouched", "--json") == said
    assert veil("risk", "--recipe", "recipe.yaml", "--qi", "age", "--json").out != said.out
    for arguments, told in ((["patients.csv"], "which columns"), (["--qi", "age"], "which table")):
        ran = veil("risk", *arguments)
        assert (ran.code, told in ran.err) == (2, True)


@pytest.mark.parametrize("kind", ["KAnonymity", "k-anonymity", "k_anonymity"])
def test_models_are_read_in_every_spelling(folder: Path, kind: str) -> None:
    (folder / "recipe.yaml").write_text(RECIPE.replace("KAnonymity", kind))
    assert veil("anonymize", "recipe.yaml", "--overwrite").code == 0
    assert veil("anonymize", "patients.csv", "-o", f"{kind}.csv", *PLAN[:-1], f"{kind}:2").code == 0


def test_what_the_first_page_says_is_an_option(folder: Path) -> None:
    ran = veil(
        "anonymize",
        "recipe.yaml",
        "--report",
        "r.html",
        "--about",
        "purpose=Waiting times",
        "--about",
        "legal-basis=Art. 9",
    )
    assert ran.code == 0
    page = (folder / "r.html").read_text()
    assert "Waiting times" in page
    assert "Art. 9" in page
    ran = veil("anonymize", "recipe.yaml", "--overwrite", "--about", "purpos=x")
    assert (ran.code, "mean 'purpose'?" in ran.err) == (2, True)
