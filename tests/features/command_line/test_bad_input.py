"""Everything that can be wrong with what a command is given: a message that names the culprit, exit code 2
(4 where plan and data are fine but cannot be reconciled), and not one byte written.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.cli import PATIENTS, PLAN, RECIPE, SOURCES, contents, process, veil

TABLES: dict[str, tuple[bytes, list[str]]] = {
    "empty file": (b"", ["patients.csv", "the file is empty"]),
    "blank file": (b"\n\n", ["patients.csv", "the file is empty"]),
    "header only": (b"name,age,sex,zip,diagnosis\n", ["patients.csv", "header but no rows"]),
    "ragged row": (PATIENTS.encode() + b"Gus,50,m\n", ["patients.csv, line 8", "3 fields", "header has 5"]),
    "duplicate column": (
        PATIENTS.replace("diagnosis", "age", 1).encode(),
        ["patients.csv", "more than one column is named 'age'"],
    ),
    "absent column": (PATIENTS.replace("zip", "zap", 1).encode(), ["no column 'zip'", "Did you mean 'zap'?"]),
    "column without a role": (
        PATIENTS.replace("diagnosis", "diagnosis,income", 1)
        .replace("\n", ",1\n")
        .replace("income,1", "income")
        .encode(),
        ["column 'income' has no role", "others: keep or others: drop"],
    ),
    "NUL byte": (PATIENTS.replace("cold", "co\0ld", 1).encode(), ["patients.csv, line 3", "NUL byte"]),
    "wrong encoding": (
        PATIENTS.replace("Bob", "Zoë").encode("latin-1"),
        ["patients.csv, line 3", "not UTF-8", "--format csv:encoding=cp1252"],
    ),
    "open quote": (PATIENTS.replace("Cem", '"Cem', 1).encode(), ["patients.csv, line 4", "never closed"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_cannot_be_used(folder: Path, name: str) -> None:
    content, told = TABLES[name]
    (folder / "patients.csv").write_bytes(content)
    _refused(folder, ("anonymize", "recipe.yaml"), *told)


def test_one_row(folder: Path) -> None:
    (folder / "patients.csv").write_text("".join(PATIENTS.splitlines(keepends=True)[:2]))
    _refused(folder, ("anonymize", "recipe.yaml"), "KAnonymity(k=2)", "only 1", code=4)
    (folder / "recipe.yaml").write_text(RECIPE.replace("k: 2", "k: 1"))
    assert veil("anonymize", "recipe.yaml").code == 0
    assert (folder / "release.csv").read_text().splitlines()[1:] == ["23,f,02139,flu"]


RECIPES: dict[str, tuple[Callable[[str], str], list[str]]] = {
    "k = 0": (
        lambda text: text.replace("k: 2", "k: 0"),
        ["recipe.yaml, line 13", "`steps[0].models[0].k`", "not 0"],
    ),
    "k without a number": (
        lambda text: text.replace("k: 2", "k: two"),
        ["`steps[0].models[0].k`", "integer", "'two'"],
    ),
    "k = true": (
        lambda text: text.replace("k: 2", "k: true"),
        ["`steps[0].models[0].k`", "integer", "'true'"],
    ),
    "limit above 1": (
        lambda text: text + "    suppression_limit: 1.5\n",
        ["recipe.yaml, line 14", "`steps[0].suppression_limit`", "from 0 to 1", "1.5"],
    ),
    "limit below 0": (
        lambda text: text + "    suppression_limit: -0.1\n",
        ["`steps[0].suppression_limit`", "from 0 to 1", "-0.1"],
    ),
    "limit not a number": (
        lambda text: text + "    suppression_limit: .nan\n",
        ["`steps[0].suppression_limit`"],
    ),
    "limit = yes": (
        lambda text: text + "    suppression_limit: yes\n",
        ["`steps[0].suppression_limit`", "'yes'"],
    ),
    "no quasi-identifier": (
        lambda text: text[: text.index("quasi")] + "quasi_identifiers: {}\n    " + text[text.index("sens") :],
        ["recipe.yaml", "no quasi-identifier"],
    ),
    "quasi-identifiers absent": (
        lambda text: text[: text.index("quasi")] + text[text.index("sens") :],
        ["recipe.yaml", "`steps[0].quasi_identifiers` is required"],
    ),
    "no model": (lambda text: text[: text.index("models")], ["recipe.yaml", "`steps[0].models` is required"]),
    "hierarchy file missing": (
        lambda text: text.replace("suppression", "nowhere/sex.csv"),
        ["nowhere/sex.csv", "does not exist"],
    ),
    "table missing": (
        lambda text: text.replace("patients.csv", "patient.csv"),
        ["patient.csv: no such file", "'patients.csv'"],
    ),
    "unknown field": (
        lambda text: text.replace("sensitive", "sensitve"),
        ["recipe.yaml, line 10", "'sensitive'"],
    ),
    "two roles": (lambda text: text.replace("[name]", "[name, age]"), ["'age' cannot be both"]),
    "no output": (
        lambda text: text.replace("output: release.csv\n", ""),
        ["recipe.yaml", "`output`", "--output"],
    ),
    "no input": (
        lambda text: text.replace("input: patients.csv\n", ""),
        ["recipe.yaml", "`input`", "--input"],
    ),
    "not YAML": (lambda text: text + "    others: [\n", ["recipe.yaml, line 15", "not YAML"]),
    "level too high": (lambda text: text + "    maximum_levels: {sex: 9}\n", ["level 9", "'sex'", "0 to 1"]),
}


BOMB = "".join(f"x{at}: &x{at} [{', '.join([f'*x{at - 1}'] * 10) if at else 'a'}]\n" for at in range(12))

HOSTILE: dict[str, tuple[Callable[[str], str], list[str]]] = {
    "an alias bomb": (
        lambda text: BOMB + text,
        ["recipe.yaml, line 5", "aliases expand to more than 10,000"],
    ),
    "deep lists": (
        lambda text: f"{text}    marker: {'[' * 9_000}",
        ["recipe.yaml: is nested more than 100 deep"],
    ),
    "deep mappings": (lambda text: f"{text}    marker: {'{a: ' * 9_000}", ["nested more than 100 deep"]),
    "deep dashes": (lambda text: f"{text}    marker:\n      {'- ' * 9_000}1", ["nested more than 100 deep"]),
    "kind is a mapping": (
        lambda text: text.replace("kind: KAnonymity", "kind: {a: 1}"),
        ["recipe.yaml, line 13", "`steps[0].models[0]`", "`kind` should be a word, one of", "not {'a': 1}"],
    ),
    "kind of a hierarchy is a list": (
        lambda text: text.replace("kind: intervals", "kind: [1]"),
        ["recipe.yaml, line 7", "`kind` should be a word"],
    ),
    "kind of the input is a list": (
        lambda text: text.replace("input: patients.csv", "input: {path: patients.csv, kind: []}"),
        ["recipe.yaml, line 1", "`kind` should be a word"],
    ),
    "kind of the quality is a mapping": (
        lambda text: text + "    quality: {kind: {a: 1}}\n",
        ["recipe.yaml, line 14", "`kind` should be a word"],
    ),
    "NUL in the output": (
        lambda text: text.replace("output: release.csv", 'output: "release\\0.csv"'),
        ["recipe.yaml, line 2", "NUL character"],
    ),
    "NUL in a hierarchy": (lambda text: text.replace("redaction", '"z\\0.csv"'), ["line 9", "NUL character"]),
    "a codec that is none of text": (
        lambda text: text.replace("input: patients.csv", "input: {path: patients.csv, encoding: hex}"),
        ["`encoding` of Csv should be a known encoding", "'hex'"],
    ),
    "5,000 digits": (lambda text: text.replace("k: 2", f"k: {'9' * 5_000}"), ["more than 1,000 digits"]),
    "a very large number of lines": (
        lambda text: text.replace("input: patients.csv", f"input: {{path: patients.csv, skip: {'9' * 30}}}"),
        ["recipe.yaml, line 1", "skip"],
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_recipe_of_a_stranger(folder: Path, name: str) -> None:
    change, told = HOSTILE[name]
    (folder / "recipe.yaml").write_text(change(RECIPE))
    _refused(folder, ("anonymize", "recipe.yaml"), *told)
    assert veil("check", "recipe.yaml").code in (0, 1, 2)


def test_a_limit_no_search_reaches_is_no_limit(folder: Path) -> None:
    (folder / "recipe.yaml").write_text(f"{RECIPE}    check_limit: {'9' * 400}\n")
    assert veil("anonymize", "recipe.yaml", "-o", "limited.csv").code == 0
    (folder / "recipe.yaml").write_text(RECIPE)
    assert veil("anonymize", "recipe.yaml", "-o", "release.csv").code == 0
    assert (folder / "limited.csv").read_text() == (folder / "release.csv").read_text()


@pytest.mark.parametrize("k", [7, int("9" * 400)])
def test_a_k_above_the_number_of_records_has_no_solution(folder: Path, k: int) -> None:
    (folder / "recipe.yaml").write_text(RECIPE.replace("k: 2", f"k: {k}"))
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 4
    assert f"needs classes of {k:,} records, but the table has only 6" in ran.err
    assert contents(folder) == before


def test_a_k_no_table_reaches_has_no_solution(folder: Path) -> None:
    (folder / "recipe.yaml").write_text(
        RECIPE.replace("KAnonymity, k: 2", f"SubsetKAnonymity, m: 1, k: {'9' * 400}")
    )
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 4
    assert "no transformation fulfils" in ran.err
    assert contents(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--model", f"k-anonymity:{'9' * 5_000}"),
        ("--qi", f"age=intervals:{'9' * 5_000}"),
        ("--suppression-limit", "9" * 5_000),
        ("--check-limit", "9" * 5_000),
        ("--model", f"k-map:5,population={'9' * 5_000}"),
    ],
)
def test_numbers_without_end_on_the_command_line(folder: Path, words: tuple[str, ...]) -> None:
    _refused(folder, ("anonymize", "patients.csv", "-o", "release.csv", *PLAN, *words))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 5_000, '{"veil_certificate": ' + "9" * 5_000 + "}", "[]", "null", "\0"]
)
def test_a_certificate_or_budget_of_a_stranger(folder: Path, text: str) -> None:
    (folder / "stranger.json").write_text(text)
    _refused(folder, ("verify", "patients.csv", "--certificate", "stranger.json"), "stranger.json")
    _refused(folder, ("budget", "show", "patients.csv", "--budget", "stranger.json"))


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_that_cannot_be_carried_out(folder: Path, name: str) -> None:
    change, told = RECIPES[name]
    (folder / "recipe.yaml").write_text(change(RECIPE))
    _refused(folder, ("anonymize", "recipe.yaml"), *told)


OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "k = 0": (["--model", "k-anonymity:0"], ["--model 'k-anonymity:0'", "`k`", "not 0"]),
    "unknown model": (["--model", "k-anonimity:2"], ["--model", "Did you mean 'k-anonymity'?"]),
    "unknown parameter": (["--model", "k-anonymity:kk=2"], ["`kk` is not a parameter", "'k'"]),
    "parameters without a name": (["--model", "k=5"], ["follow the name and a colon", "k-anonymity:k=5"]),
    "parameters that are missing": (
        ["--model", "t-closeness"],
        ["`t` of TCloseness", "t-closeness:ATTRIBUTE,T"],
    ),
    "not sensitive": (
        ["--model", "distinct-l-diversity:x,2"],
        ["'x', which is not sensitive", "--sensitive"],
    ),
    "too many values": (["--model", "k-anonymity:2,3"], ["at most 1 value, not 2"]),
    "limit above 1": (["--suppression-limit", "1.5"], ["`suppression_limit`", "1.5"]),
    "unknown quality": (["--quality", "los"], ["'los'", "Did you mean 'loss'?"]),
    "no hierarchy": (["--qi", "diagnosis"], ["--qi 'diagnosis'", "--qi diagnosis=auto"]),
    "unknown hierarchy": (["--qi", "x=interval:5"], ["'interval'", "Did you mean 'intervals'?"]),
    "column twice": (["--qi", "age=auto"], ["'age' twice"]),
    "absent column": (["--sensitive", "diagnoses"], ["no column 'diagnoses'", "'diagnosis'"]),
    "bad treatment": (["--identifying", "zip=hide"], ["zip=hide", "mask"]),
    "bad level": (["--minimum-level", "age"], ["--minimum-level 'age'", "age=1"]),
    "unknown option": (["--modell", "x"], ["--modell"]),
    "bad choice": (["--others", "maybe"], ["maybe", "keep"]),
    "no threads": (["--threads", "0"], ["--threads", "1"]),
    "bad format": (["--format", "csv:separator=;;"], ["--format", "`separator` of Csv"]),
    "input twice": (["--input", "patients.csv"], ["--input is only for recipes"]),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_make_no_plan(folder: Path, name: str) -> None:
    extra, told = OPTIONS[name]
    plan = PLAN[:-2] if "--model" in extra else PLAN
    _refused(folder, ("anonymize", "patients.csv", *plan, "-o", "release.csv", *extra), *told)


def test_a_hierarchy_file_that_is_missing(folder: Path) -> None:
    plan = [each.replace("sex=suppression", "sex=nowhere.csv") for each in PLAN]
    _refused(
        folder, ("anonymize", "patients.csv", *plan, "-o", "release.csv"), "nowhere.csv", "does not exist"
    )


def test_options_that_are_missing(folder: Path) -> None:
    _refused(folder, ("anonymize", "patients.csv", *PLAN), "--output release.csv")
    _refused(
        folder,
        ("anonymize", "patients.csv", *PLAN[6:], "-o", "release.csv"),
        "no quasi-identifier",
        "`veil identify`",
    )
    _refused(folder, ("anonymize", "patients.csv", *PLAN[:-2], "-o", "release.csv"), "--model k-anonymity:5")
    _refused(folder, ("anonymize",), "RECIPE|TABLE")
    _refused(folder, ("anonymize", "recipe.yaml", "--qi", "age=auto"), "--qi is only for a table")


def test_columns_without_a_role_get_one_by_options_or_in_the_recipe(folder: Path) -> None:
    options = ["anonymize", "patients.csv", *PLAN, "-o", "release.csv"]
    without = [each for each in options if each not in ("--identifying", "name")]
    told = "column 'name' has no role. Name it with --qi, --sensitive, --insensitive or --identifying, or say --others keep"
    _refused(folder, without, told)
    less = [each for each in without if each not in ("--sensitive", "diagnosis")]
    _refused(folder, less, "columns 'name', 'diagnosis' have no role. Name each with --qi,", "--others drop")
    (folder / "recipe.yaml").write_text(RECIPE.replace("    identifying: [name]\n", ""))
    _refused(folder, ("anonymize", "recipe.yaml"), "Name it with `quasi_identifiers`", "others: keep")


def test_a_text_among_numbers(folder: Path) -> None:
    (folder / "patients.csv").write_text(PATIENTS.replace("Ada,23", "Ada,?"))
    told = ["'?' of column 'age' is not a number", "--format csv:missing=..."]
    _refused(folder, ("anonymize", "patients.csv", *PLAN, "-o", "release.csv"), *told)


@pytest.mark.parametrize(("written", "form"), [("31.{}.2020", "%d.%m.%Y"), ("{}/31/2020", "%m/%d/%Y")])
def test_dates_of_another_form(folder: Path, written: str, form: str) -> None:
    days = [written.format(month) for month in (1, 3, 5, 7, 8, 10)]
    (folder / "stays.csv").write_text("\n".join(["seen", *days]) + "\n")
    options = ("--model", "k-anonymity:2", "-o", "release.csv")
    told = [f"{days[0]!r} of column 'seen' is not a date", f"--qi 'COLUMN=dates:…,format={form}'"]
    _refused(folder, ("anonymize", "stays.csv", "--qi", "seen=dates:month,year", *options), *told)
    ran = veil("anonymize", "stays.csv", "--qi", f"seen=dates:month,year,format={form}", *options)
    assert ran.code == 0, ran.err
    assert (folder / "release.csv").read_text().split() == ["seen"] + ["2020"] * 6
    ran = veil(
        "anonymize", "stays.csv", "--qi", "seen=auto", *options, "--overwrite", "--maximum-level", "seen=2"
    )
    assert ran.code == 0, ran.err
    assert (folder / "release.csv").read_text().split() == ["seen"] + ["2020"] * 6


TARGETS: dict[str, tuple[str, list[str]]] = {
    "no such directory": ("nowhere/release.csv", ["nowhere/release.csv", "directory does not exist"]),
    "a directory": ("folder.csv", ["folder.csv: is a directory"]),
    "below a file": ("patients.csv/release.csv", ["patients.csv/release.csv", "directory does not exist"]),
    "no ending": ("release", ["release: the name has no ending"]),
    "unknown ending": ("release.doc", ["release.doc", "'.doc'", ".csv"]),
    "a device": ("/dev/null", ["/dev/null"]),
}


@pytest.mark.parametrize(
    ("option", "name"),
    [("--output", name) for name in TARGETS]
    + [("--report", name) for name in TARGETS if "ending" not in name],
)
def test_a_target_that_cannot_be_written(folder: Path, option: str, name: str) -> None:
    target, told = TARGETS[name]
    (folder / "folder.csv").mkdir()
    _refused(folder, ("anonymize", "recipe.yaml", option, target), *told)


def test_a_target_is_looked_at_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.api.open.read", None)  # not called, so it may be anything
    _refused(folder, ("anonymize", "recipe.yaml", "--output", "nowhere/release.csv"), "nowhere/release.csv")


def test_a_directory_without_permission(folder: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    locked = folder / "locked"
    locked.mkdir(mode=0o500)
    _refused(folder, ("anonymize", "recipe.yaml", "--output", "locked/release.csv"), "locked/release.csv")


def test_a_read_only_file_system(folder: Path) -> None:
    code, printed = _on_mount(folder, "ro,size=1m")
    assert code == 2
    assert "mounted/release.csv" in printed
    assert "cannot be written" in printed or "read-only" in printed


@pytest.mark.slow
@pytest.mark.parametrize("report", [False, True])
def test_a_full_disk(folder: Path, report: bool) -> None:
    rows = PATIENTS.splitlines(keepends=True)
    (folder / "patients.csv").write_text(rows[0] + "".join(rows[1:]) * 2000)
    (folder / "recipe.yaml").write_text(RECIPE + "person: null\n")
    if report:
        pytest.importorskip("veil.report")
    code, printed = _on_mount(folder, "size=64k", *(["--report", "mounted/report.html"] if report else []))
    assert code == 2
    assert "disk is full" in printed
    assert "left behind: nothing" in printed


def test_a_file_that_may_not_grow(folder: Path) -> None:
    rows = PATIENTS.splitlines(keepends=True)
    (folder / "patients.csv").write_text(rows[0] + "".join(rows[1:]) * 2000)
    (folder / "recipe.yaml").write_text(RECIPE + "person: null\n")
    assert veil("anonymize", "recipe.yaml", "-o", "warm.csv").code == 0  # kernels are compiled and kept
    before = contents(folder)
    resource = pytest.importorskip("resource")
    limit = (20_000, 20_000)
    running = process(
        "anonymize", "recipe.yaml", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    )
    out, err = running.communicate(timeout=300)
    assert (running.returncode, out) == (2, "")
    assert "release.csv:" in err
    assert "larger" in err
    assert contents(folder) == before


def test_unexpected_errors_are_apologized_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("Quasimodo has HIV")

    monkeypatch.setattr("veil.api.run.make_release", broken)
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 70
    assert "sorry" in ran.err
    assert "Quasimodo" not in ran.err  # it may be a value of the table
    assert re.search(r"ZeroDivisionError in veil/api/run\.py:\d+, id [0-9a-f]{8}", ran.err)
    assert "--debug" in ran.err
    assert "Traceback" not in ran.err
    assert veil("anonymize", "recipe.yaml").err == ran.err  # the same mistake has the same id
    ran = veil("--debug", "anonymize", "recipe.yaml")
    assert ran.code == 70
    assert "Traceback" in ran.err
    assert "pass them on" in ran.err
    assert contents(folder) == before


def test_names_cannot_command_the_terminal(folder: Path) -> None:
    (folder / "patients.csv").write_text(PATIENTS.replace("zip", "zip,\x1b[31mred", 1).replace("\n", ",1\n"))
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 2
    assert "\x1b" not in ran.err


def _refused(folder: Path, arguments: tuple[str, ...], *told: str, code: int = 2) -> None:
    """Run a command that must fail with an exit code, tell all of this, and change nothing."""
    before = contents(folder)
    ran = veil(*arguments)
    said = " ".join(ran.err.replace("│", " ").split())
    assert ran.code == code, said
    assert ran.out == ""
    for each in told:
        assert each in said
    assert "Traceback" not in said
    assert contents(folder) == before


def _on_mount(folder: Path, options: str, *more: str) -> tuple[int, str]:
    """Run the recipe with its output on a small file system of its own; also say what is left on it."""
    (folder / "mounted").mkdir()
    mount = f"mount -t tmpfs -o {options} tmpfs mounted"
    shell = ["unshare", "-Urm", "sh", "-c"]
    if shutil.which("unshare") is None or subprocess.run([*shell, mount], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a file system")
    command = (
        f"{sys.executable} -m veil.cli anonymize recipe.yaml --output mounted/release.csv {' '.join(more)}"
    )
    script = f"{mount} && {command}; code=$?; echo left behind: $(ls -A mounted | grep . || echo nothing); exit $code"
    done = subprocess.run(
        [*shell, script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr
