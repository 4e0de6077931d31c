"""`veil.run`: a recipe of either kind, what it writes and what it refuses; all files together, or none."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import veil
from support.cli import PATIENTS, RECIPE, contents
from support.cli import veil as command
from support.refusals import refused
from veil.errors import InputError, OutputError, PlanError, Say, VeilError
from veil.recipe import Recipe
from veil.recoding import FastIterative

ALL = {"report": "report.json", "certificate": "certificate.json", "save_recipe": "saved.yaml"}
STEPS = "input: patients.csv\noutput: out/masked.csv\napart: secret\nsteps:\n  - {kind: RandomPseudonyms, columns: name}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and recipes, in which to work; reports take no time."""
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "steps.yaml").write_text(STEPS)
    (tmp_path / "secret").mkdir()
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)

    def report(made: object, path: Path, **_: object) -> Path:
        path.write_text("the report")
        return path

    monkeypatch.setattr("veil.report.write_report", report)
    return tmp_path


def test_a_recipe_with_table_report_certificate_and_recipe(folder: Path) -> None:
    before = contents(folder)
    release = veil.run("recipe.yaml", **ALL, progress=False)
    assert release.transformation.keys() == {"age", "sex", "zip"}
    made = {name: content for name, content in contents(folder).items() if name not in before}
    assert made.keys() == {"release.csv", *ALL.values()}
    assert made["report.json"] == b"the report"
    assert veil.verify("release.csv", Recipe.read("recipe.yaml").plan()).holds
    saved = Recipe.read("saved.yaml")
    assert saved.plan() == Recipe.read("recipe.yaml").plan()
    assert (saved.report, saved.certificate, saved.output) == (
        "report.json",
        "certificate.json",
        "release.csv",
    )
    veil.run("saved.yaml", overwrite=True, progress=False)
    assert contents(folder) == {**before, **made} | {"certificate.json": contents(folder)["certificate.json"]}


def test_a_recipe_of_cells_keeps_the_prices_of_its_bound_apart(folder: Path) -> None:
    """The release is checked by its certificate, by its recipe, and by the prices; the saved recipe runs again."""
    recipe = RECIPE.replace(
        "    sensitive:", "    recoding: {kind: Cells}\n    time_limit: 0.2\n    sensitive:"
    )
    (folder / "recipe.yaml").write_text(recipe)
    files = {"apart": "secret", "certificate": "certificate.json", "save_recipe": "saved.yaml"}
    veil.run("recipe.yaml", output="out/release.csv", **files, progress=False)
    prices = folder / "secret" / "lower-bound.csv"
    assert stat.S_IMODE(prices.stat().st_mode) == 0o600
    assert command("verify", "out/release.csv", "--certificate", "certificate.json").code == 0
    checked = command(
        "verify", "out/release.csv", "--recipe", "saved.yaml", "--lower-bound", prices, "--json"
    )
    assert checked.code == 0, checked
    assert "loses less than" in checked.out
    assert command("anonymize", "saved.yaml", "--overwrite").code == 0
    with refused(OutputError, "out"):
        veil.run("recipe.yaml", output="out/other.csv", apart="out", progress=False)
    (folder / "recipe.yaml").write_text(recipe.replace("{kind: Cells}", "{kind: Subtree}"))
    with refused(PlanError, Say("apart")):
        veil.run("recipe.yaml", output="out/other.csv", apart="secret", progress=False)


def test_it_does_the_same_as_the_command_line(folder: Path) -> None:
    veil.run("recipe.yaml", output="by_run.csv", save_recipe="by_run.yaml", progress=False)
    assert command("anonymize", "recipe.yaml", "-o", "by_command.csv").code == 0
    assert (folder / "by_run.csv").read_bytes() == (folder / "by_command.csv").read_bytes()
    plan = "--qi age=intervals:10,20 --qi sex=suppression --qi zip=redaction --sensitive diagnosis --identifying name --order input"
    options = [*plan.split(), "--model", "k-anonymity:2", "--save-recipe", "by_command.yaml"]
    assert command("anonymize", "patients.csv", *options, "-o", "by_run.csv", "--overwrite").code == 0
    by_run, by_command = ((folder / name).read_text() for name in ("by_run.yaml", "by_command.yaml"))
    assert by_command == by_run.replace("output: by_run.csv\n", "output: by_run.csv\noverwrite: true\n")


def test_a_recipe_as_an_object_with_other_places(folder: Path) -> None:
    (folder / "others.csv").write_text(PATIENTS.replace("flu", "measles"))
    recipe = Recipe.read("recipe.yaml")
    veil.run(recipe, input="others.csv", output=Path("others.parquet"), progress=False)
    assert "measles" in pq.read_table("others.parquet")["diagnosis"].to_pylist()
    assert not (folder / "release.csv").exists()


def test_local_recoding_of_a_recipe(folder: Path) -> None:
    text = RECIPE + "    suppression_limit: 0.9\n    quality: {kind: Loss, factor: 0}\n"
    (folder / "recipe.yaml").write_text(text + "    recoding: {kind: FastIterative, share: 0.2}\n")
    recoded = veil.run("recipe.yaml", save_recipe="saved.yaml", progress=False)
    assert recoded.passes
    assert Recipe.read("saved.yaml").plan().recoding == FastIterative(0.2)


def test_masking_methods(folder: Path) -> None:
    (folder / "steps.yaml").write_text(STEPS + "report: report.html\ncertificate: certificate.json\n")
    masked = veil.run("steps.yaml", progress=False)
    assert (folder / "report.html").read_text() == "the report"
    assert not veil.report.check_certificate("certificate.json", "out/masked.csv").broken
    assert "Ada" not in (folder / "out" / "masked.csv").read_text()
    mapping = folder / "secret" / "pseudonyms.csv"
    assert mapping.read_text().startswith("value,pseudonym\nAda,")
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    assert [type(step.method).__name__ for step in masked.steps] == ["RandomPseudonyms"]
    with refused(OutputError, Say("overwrite", True), "already exists"):
        veil.run("steps.yaml", progress=False)


class Renames:
    """Counts the renamings of finished files onto their targets, and lets one of them fail."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, fail_at: int | None, error: Callable[[], BaseException]
    ) -> None:
        self.targets: list[str] = []
        rename = os.replace

        def replace(made: Any, target: Any) -> None:
            # In a folder of its own, a file is still being made; what was set aside comes back.
            is_making = Path(target).parent.name.endswith(".tmp") or Path(made).parent == Path(target).parent
            if not is_making and Path(made).parent.name != "before":
                if len(self.targets) == fail_at:
                    raise error()
                self.targets.append(Path(target).name)
            rename(made, target)

        monkeypatch.setattr("os.replace", replace)


def disk_full() -> BaseException:
    return OSError(28, "No space left on device")


def test_the_release_appears_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Renames(monkeypatch, None, disk_full)
    veil.run("recipe.yaml", **ALL, progress=False)
    assert seen.targets == [*ALL.values(), "release.csv"]
    seen.targets.clear()
    veil.run("steps.yaml", progress=False)
    assert seen.targets == ["pseudonyms.csv", "masked.csv"]  # what turns pseudonyms back is safe first


@pytest.mark.parametrize("there", [False, True], ids=["new", "replacing"])
@pytest.mark.parametrize("error", [disk_full, KeyboardInterrupt])
@pytest.mark.parametrize("fail_at", range(4))
def test_a_failure_at_any_renaming_leaves_none(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    fail_at: int,
    error: Callable[[], BaseException],
    there: bool,
) -> None:
    if there:
        for name in ("release.csv", *ALL.values()):
            (folder / name).write_text(f"the old {name}")
    before = contents(folder)
    seen = Renames(monkeypatch, fail_at, error)
    with pytest.raises(OutputError if error is disk_full else KeyboardInterrupt):
        veil.run("recipe.yaml", **ALL, overwrite=there, progress=False)
    assert len(seen.targets) == fail_at
    assert contents(folder) == before


@pytest.mark.parametrize("fail_at", range(2))
def test_masking_leaves_all_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch, fail_at: int) -> None:
    before = contents(folder)
    Renames(monkeypatch, fail_at, disk_full)
    with refused(OutputError, "disk is full"):
        veil.run("steps.yaml", progress=False)
    assert contents(folder) == before


@pytest.mark.parametrize("fail_at", range(3))
def test_what_an_engine_writes_comes_with_the_rest_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fail_at: int
) -> None:
    pytest.importorskip("duckdb")
    before = contents(folder)
    with monkeypatch.context() as patched:
        Renames(patched, fail_at, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            veil.run("recipe.yaml", output="release/", engine="duckdb", **ALL, progress=False)
    # The pieces that are done stay, for a run that goes on with them.
    left = {name: each for name, each in contents(folder).items() if not name.startswith(".release.veil-")}
    assert left == before
    veil.run("recipe.yaml", output="release/", engine="duckdb", **ALL, progress=False)
    assert {"release", *ALL.values()} < contents(folder).keys()


def test_a_release_that_an_engine_cannot_put_in_place_takes_the_rest_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    before = contents(folder)
    seen: list[set[str]] = []

    def commit(_: object) -> None:
        seen.append(contents(folder).keys() - before.keys())
        raise OutputError("the folder is gone")

    monkeypatch.setattr("veil.engines.write.files.FolderTarget.commit", commit)
    with refused(OutputError, "folder is gone"):
        veil.run("recipe.yaml", output="release/", engine="duckdb", **ALL, progress=False)
    assert set(ALL.values()) <= seen[0]  # they were there already
    assert not set(ALL.values()) & contents(folder).keys()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "over the input": (
        {"output": "patients.csv", "overwrite": True},
        "the release would replace its own input",
    ),
    "over the recipe": (
        {"report": "recipe.yaml", "overwrite": True},
        "the report would replace its own input",
    ),
    "over each other": (
        {"report": "a.json", "certificate": "a.json"},
        "would replace another file of the same run",
    ),
    "no such directory": ({"certificate": "nowhere/a.json"}, "the directory does not exist"),
    "a directory": ({"report": "secret"}, "is a directory"),
    "unknown ending": ({"output": "release.doc"}, "'.doc'"),
    "no ending": ({"output": "release"}, "or end it with / for a folder of Parquet files"),
    "no report": ({"report": "report.txt"}, "the name of a report should end in"),
    "a device": ({"output": "/dev/null", "overwrite": True}, "/dev/null"),
    "over the input by an engine": (
        {"output": "patients.csv", "engine": "duckdb", "overwrite": True},
        "patients.csv",
    ),
    "the place of the release": (
        {"output": "r.json/", "report": "r.json", "engine": "duckdb"},
        "the report would replace another file of the same run",
    ),
    "there already": ({"output": "there.csv"}, "there.csv: already exists. Choose another path, or say "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_python_and_the_command_line_refuse_the_same_targets(folder: Path, name: str) -> None:
    given, message = REFUSED[name]
    (folder / "there.csv").write_text("mine")
    before = contents(folder)
    with pytest.raises(VeilError, match=re.escape(message)):
        veil.run("recipe.yaml", **given, progress=False)
    options = [each for key, value in given.items() for each in ("--" + key, value) if each is not True]
    ran = command("anonymize", "recipe.yaml", *options)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert contents(folder) == before


def test_each_names_the_way_out_in_its_own_words(folder: Path) -> None:
    (folder / "release.csv").write_text("mine")
    with refused(OutputError, Say("overwrite", True)):
        veil.run("recipe.yaml", progress=False)
    assert command("anonymize", "recipe.yaml").err.endswith("or say --overwrite\n")
    (folder / "recipe.yaml").write_text(RECIPE.replace("    identifying: [name]\n", ""))
    with refused(PlanError, "`quasi_identifiers`", "others: keep", "others: drop"):
        veil.run("recipe.yaml", output="other.csv", progress=False)
    (folder / "patients.csv").write_bytes(PATIENTS.replace("Ada", "Zoë").encode("latin-1"))
    with refused(InputError, 'format=Csv(encoding="cp1252")'):
        veil.run("recipe.yaml", output="other.csv", progress=False)
    assert "--format csv:encoding=cp1252" in command("anonymize", "recipe.yaml", "-o", "x.csv").err


@pytest.mark.parametrize("recode", [False, True])
def test_a_recipe_of_masks_a_search_and_local_recoding(folder: Path, recode: bool) -> None:
    steps = STEPS.replace("out/masked.csv", "out/mixed.csv") + "  - {kind: RandomSampling, fraction: 0.9}\n"
    steps += "".join(f"{line}\n" for line in RECIPE[RECIPE.index("steps:") :].splitlines()[1:])
    (folder / "mixed.yaml").write_text(steps + ("    recoding: {kind: SinglePass}\n" if recode else ""))
    release = veil.run("mixed.yaml", certificate="certificate.json", save_recipe="saved.yaml", progress=False)
    kinds = [type(each.step).__name__ for each in release.outcome.steps]
    assert kinds[:3] == ["RandomPseudonyms", "RandomSampling", "Plan"]
    assert veil.verify("out/mixed.csv", certificate="certificate.json").holds
    saved = Recipe.read("saved.yaml")
    assert [step.kind for step in saved.steps] == [step.kind for step in Recipe.read("mixed.yaml").steps]
    assert (saved.apart, saved.certificate) == ("secret", "certificate.json")
    assert veil.run("saved.yaml", overwrite=True, progress=False).outcome.plan == release.outcome.plan


def test_recipes_of_masks_are_saved_with_what_they_say_of_people(folder: Path) -> None:
    (folder / "people.yaml").write_text(STEPS + "person: name\norder: input\n")
    masked = veil.run("people.yaml", save_recipe="saved.yaml", progress=False)
    saved = Recipe.read("saved.yaml")
    assert (saved.person, saved.order) == ("name", "input")
    assert (
        veil.run("saved.yaml", overwrite=True, progress=False)
        .table.drop_columns("name")
        .equals(masked.table.drop_columns("name"))
    )


def test_what_is_missing_is_said(folder: Path) -> None:
    (folder / "least.yaml").write_text(RECIPE.replace("input: patients.csv\noutput: release.csv\n", ""))
    with refused(PlanError, "least.yaml", "no table", Say("input")):
        veil.run("least.yaml")
    with refused(PlanError, "where to write", Say("output")):
        veil.run("least.yaml", input="patients.csv")
    with refused(PlanError, Say("apart"), "masking methods"):
        veil.run("recipe.yaml", apart="secret")
    recipe = Recipe(steps=[{"kind": "RandomPseudonyms", "columns": "name"}])
    with refused(OutputError, "reversed", Say("apart", "FOLDER")):
        veil.run(recipe, input="patients.csv", output="masked.csv")
