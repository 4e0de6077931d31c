"""`veil risk`, `identify`, `utility` and `frontier`: figures for people and for programs, and kind refusals."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.cli import PATIENTS, RECIPE, contents, process, veil
from veil import risk as risks
from veil.api.frontier import frontier
from veil.recipe import Recipe
from veil.synthetic import patients
from veil.tables import write
from veil.utility import compare

LATIN = (
    "Name;Größe;PLZ;Geschlecht;Diagnose\nMüller;180;02139;w;flu\nJäger;;02138;m;\nKöhler;175;02139;w;cold\n"
)
AS_LATIN = ("--format", "csv:encoding=latin-1")


def figures(*arguments: str | Path) -> Any:
    """Run a command with --json and return what it prints."""
    ran = veil(*arguments, *(("--queries", "20") if arguments[0] == "utility" else ()), "--json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def flowing(text: str) -> str:
    return " ".join(text.split())


# --- risk -----------------------------------------------------------------------------------------


def test_risk_for_people(folder: Path) -> None:
    ran = veil("risk", "patients.csv", "--qi", "sex")
    assert (ran.code, ran.err) == (0, "")
    told = flowing(ran.out)
    # Four women and two men: risks 1/4 and 1/2, two classes among six records.
    assert "prosecutor: knows who is in it 50.00% 33.33% 100.00% 33.33%" in told
    assert "2 of 2 to 4 records" in told
    assert "unique records 0 (0.00%)" in told
    assert "--untouched" not in told
    assert "records above 30%" in veil("risk", "patients.csv", "--qi", "sex", "--threshold", "0.3").out


def test_risk_for_programs_is_what_the_library_says(folder: Path) -> None:
    (folder / "drawn.csv").write_text(
        PATIENTS.replace("name", "home,name,weight", 1).replace("\n", "\nh,", 6)
    )
    text = (folder / "drawn.csv").read_text().splitlines()
    rows = [text[0], *(each.replace(",", f",{number},", 1) for number, each in enumerate(text[1:], 2))]
    (folder / "drawn.csv").write_text("\n".join(rows).replace("home,name,weight", "home,weight,name") + "\n")
    found = figures(
        "risk", "drawn.csv", "--qi", "age,sex", "--qi", "zip", "--population", "USA", "--weights", "weight",
        "--household", "home", "--threshold", "0.5", "--untouched",
    )  # fmt: skip
    expected = risks.analyze(
        "drawn.csv", ["age", "sex", "zip"], population="USA", weights="weight", household="home", threshold=0.5,
        untouched=True,
    )  # fmt: skip
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert found["population_uniques"]["population"] > 300_000_000
    assert found["individual"]["household"]["households"] > 0


def test_the_population_of_a_risk_in_three_ways(folder: Path) -> None:
    (folder / "town.csv").write_text("sex\n" + "f\n" * 8 + "m\n" * 4)
    of_town = figures("risk", "patients.csv", "--qi", "sex", "--population", "town.csv")
    assert of_town["attackers"]["journalist"]["highest"] == 1 / 4
    assert of_town["attackers"]["prosecutor"]["highest"] == 1 / 2
    of_size = figures("risk", "patients.csv", "--qi", "sex", "--population", "80,000")
    assert of_size["population_uniques"]["population"] == 80_000
    of_rows = figures("risk", "patients.csv", "--qi", "sex", "--subset", "age < 40")
    assert of_rows["attackers"]["journalist"]["highest"] == 1 / 2  # two men of two
    assert of_rows["class_sizes"]["records"] == 4


def test_a_missing_value_is_taken_for_suppressed_and_that_is_said(folder: Path) -> None:
    (folder / "t.csv").write_text('age\n30\n30\n""\n""\n')
    ran = veil("risk", "t.csv", "--qi", "age")
    assert all(fact in flowing(ran.out) for fact in ("2 records", "as suppressed"))
    assert "say --untouched" in flowing(ran.out)
    ran = veil("risk", "t.csv", "--qi", "age", "--untouched")
    assert "say --untouched" not in flowing(ran.out)
    assert "0 suppressed" in ran.out
    (folder / "t.csv").write_text("sex\nf\nf\n?\n")
    assert figures("risk", "t.csv", "--qi", "sex", "--marker", "?")["class_sizes"]["suppressed"] == 1


def test_figures_go_into_a_file_whole_or_not_at_all(folder: Path) -> None:
    ran = veil("risk", "patients.csv", "--qi", "sex", "-o", "risk.json")
    assert ran.code == 0, ran.err
    assert "Risks by attacker" in ran.out
    assert "risk.json" in ran.out
    printed = figures("risk", "patients.csv", "--qi", "sex")
    assert json.loads((folder / "risk.json").read_text()) == printed
    before = contents(folder)
    assert veil("risk", "patients.csv", "--qi", "sex", "-o", "risk.json").code == 2
    assert contents(folder) == before
    both = veil("risk", "patients.csv", "--qi", "age", "-o", "risk.json", "--overwrite", "--json")
    assert json.loads((folder / "risk.json").read_text()) == json.loads(both.out) != printed


# --- identify -------------------------------------------------------------------------------------


def test_identify_shows_roles_and_a_command_that_runs(folder: Path) -> None:
    write(patients(300), folder / "stays.csv")
    ran = veil("identify", "stays.csv")
    assert (ran.code, ran.err) == (0, "")
    told = flowing(ran.out)
    assert "matches 'name'" in told
    assert "matches 'diagnosis'" in told
    command = shlex.split(next(line for line in ran.out.splitlines() if line.startswith("veil anonymize")))
    assert "age=auto" in command
    assert "zip=redaction" in command
    ran = veil(*command[1:])
    assert ran.code == 0, ran.err
    header = (folder / "release.csv").read_text().splitlines()[0].split(",")
    assert "name" not in header
    assert "diagnosis" in header


def test_identify_for_programs_is_what_the_library_says(folder: Path) -> None:
    found = figures("identify", "patients.csv", "--threshold", "0.7")
    assert [each["role"] for each in found["roles"]] == [
        each.role for each in risks.propose_roles("patients.csv", threshold=0.7)
    ]
    assert {each["column"] for each in found["identifiers"]} >= {"name", "age", "zip"}


def test_identify_a_table_from_elsewhere(folder: Path) -> None:
    (folder / "latin, really.csv").write_bytes(LATIN.encode("latin-1"))
    ran = veil("identify", "latin, really.csv")
    assert ran.code == 0, ran.err
    assert ran.err.startswith(
        "note: latin, really.csv is read as with --format csv:encoding=cp1252: its text"
    )
    assert figures("identify", "latin, really.csv", *AS_LATIN)["format"] is None
    line = next(line for line in ran.out.splitlines() if line.startswith("veil anonymize"))
    command = shlex.split(line)[1:]
    command[command.index("k-anonymity:5")] = "k-anonymity:2"
    command[command.index("0.05")] = "1"
    ran = veil(*command)
    assert ran.code == 0, ran.err
    assert "Größe".encode("latin-1") in (folder / "release.csv").read_bytes()


def test_names_with_commas_are_read_again() -> None:
    from veil.cli.figures import next_command
    from veil.cli.grammar import names
    from veil.risk.identify.roles import Proposal

    proposed = [Proposal('a, "b"', "identifying", 1.0, ()), Proposal("c", "identifying", 1.0, ())]
    command = shlex.split(next_command(proposed, Path("t.csv.gz"), None))
    assert names([command[command.index("--identifying") + 1]]) == ['a, "b"', "c"]
    assert "release.csv.gz" in command


def test_a_table_about_nobody(folder: Path) -> None:
    (folder / "t.csv").write_text("x,y\n1,2\n1,2\n")
    assert "--qi COLUMN=auto" in veil("identify", "t.csv").out


# --- utility --------------------------------------------------------------------------------------


def test_utility_by_the_recipe_and_by_options(folder: Path) -> None:
    assert veil("anonymize", "recipe.yaml", "-q").code == 0
    ran = veil("utility", "patients.csv", "release.csv", "--recipe", "recipe.yaml", "--queries", "20")
    assert (ran.code, ran.err) == (0, "")
    for told in ("Information left", "granularity", "together", "Numbers"):
        assert told in ran.out
    by_recipe = figures("utility", "patients.csv", "release.csv", "--recipe", "recipe.yaml")
    options = ("--qi", "age=intervals:10,20", "--qi", "sex=suppression", "--qi", "zip=redaction")
    assert figures("utility", "patients.csv", "release.csv", *options) == by_recipe
    plan = Recipe.read("recipe.yaml").plan()
    expected = compare("patients.csv", "release.csv", plan.quasi_identifiers, queries=20)
    assert by_recipe == json.loads(json.dumps(expected.without_original_values().to_dict()))
    without = figures("utility", "patients.csv", "release.csv", "--qi", "age,sex,zip")
    assert without["quality"] != by_recipe["quality"]  # nobody said what the labels stand for


def test_utility_needs_the_key_of_a_release_in_random_order(
    tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> None:
    kept = tmp_path_factory.mktemp("kept") / "key.csv"
    write(patients(300).drop_columns(["name"]), folder / "many.csv")
    plan = shlex.split(
        "--qi age=intervals:10,20 --qi sex=suppression --others keep --model k-anonymity:5 --order random"
    )
    made = veil(
        "anonymize",
        "many.csv",
        "-o",
        "out.csv",
        *plan,
        "--suppression-limit",
        "0.1",
        "--origins",
        str(kept),
        "-q",
    )
    assert made.code == 0, made.err
    changed = ("--qi", "age=intervals:10,20", "--qi", "sex=suppression")
    refused = veil("utility", "many.csv", "out.csv", *changed)
    assert refused.code == 2
    assert "order of the" in refused.err
    assert "the original" in refused.err
    found = figures("utility", "many.csv", "out.csv", *changed, "--origins", str(kept))
    cost = next(each for each in found["preservation"]["columns"] if each["column"] == "cost")
    assert cost["sse_sst"] == 0  # which is published as it is
    kept.write_text("release row,input row\n0,1\n")
    assert "not the origins" in veil("utility", "many.csv", "out.csv", *changed, "--origins", str(kept)).err


def test_utility_tells_no_original_value_unless_asked(folder: Path) -> None:
    (folder / "patients.csv").write_text(PATIENTS.replace("gout", "leprosy"))
    (folder / "release.csv").write_text(PATIENTS.replace("gout", "*").replace("23,", "2*,"))
    command = ("utility", "patients.csv", "release.csv", "--qi", "age,diagnosis", "--queries", "0")
    kept = veil(*command, "--json")
    assert kept.code == 0, kept.err
    assert "leprosy" not in kept.out
    assert "leprosy" in veil(*command, "--json", "--with-original-values").out
    assert "leprosy" not in veil(*command).out


@pytest.mark.slow
def test_utility_of_predictions_in_a_process_of_its_own(folder: Path) -> None:
    write(patients(60).select(["age", "sex", "stay"]), folder / "stays.csv")
    running = process(
        *shlex.split("utility stays.csv stays.csv --qi age,sex --target stay,sex --queries 9 -o u.json"),
        cwd=folder,
    )
    out, err = running.communicate(timeout=300)
    assert (running.returncode, err) == (0, "")
    assert "sex, random forest" in out
    assert "stay, ridge" in out
    assert len(json.loads((folder / "u.json").read_text())["regression"]) == 3


def test_utility_reads_the_release_as_the_original(folder: Path) -> None:
    (folder / "latin.csv").write_bytes(LATIN.encode("latin-1"))
    plan = shlex.split(
        "--qi PLZ=redaction --qi Geschlecht=suppression --others keep --model k-anonymity:2 --suppression-limit 0.5 "
        "--order input"
    )
    made = veil(
        "anonymize", "latin.csv", *AS_LATIN, *plan, "-o", "release.csv", "--save-recipe", "saved.yaml"
    )
    assert made.code == 0, made.err
    by_recipe = figures("utility", "latin.csv", "release.csv", "--recipe", "saved.yaml")
    by_options = figures("utility", "latin.csv", "release.csv", *plan[:4], *AS_LATIN)
    assert by_recipe == by_options
    assert by_recipe["suppressed"] == 1
    assert {"Größe", "Name"} <= {each["column"] for each in by_recipe["statistics"]}
    (folder / "utf.csv").write_text((folder / "release.csv").read_text("latin-1"))
    utf = ("--released-format", "csv:encoding=utf-8")
    assert figures("utility", "latin.csv", "utf.csv", *plan[:4], *AS_LATIN, *utf) == by_recipe


# --- frontier -------------------------------------------------------------------------------------


def test_frontier_for_people_and_programs(folder: Path) -> None:
    over = ("--over", "k=2,3,7", "--over", "suppression-limit=0,0.5")
    ran = veil("frontier", "recipe.yaml", *over)
    assert (ran.code, ran.err) == (0, "")
    told = flowing(ran.out)
    assert "best" in told
    assert "KAnonymity(k=7)" in told
    assert "classes of 7" in told
    found = figures("frontier", "recipe.yaml", *over, "--risk", "highest", "--utility", "released")
    expected = frontier(
        "patients.csv", Recipe.read("recipe.yaml").plan(), over={"k": [2, 3, 7], "suppression_limit": [0, 0.5]},
        risk="highest", utility="released",
    ).to_dict()  # fmt: skip
    for each in (*found["points"], *expected["points"]):
        del each["seconds"]
    assert found == json.loads(json.dumps(expected))
    assert contents(folder).keys() == {"patients.csv", "recipe.yaml"}  # no release is written


def test_all_of_equally_good_releases_are_best(folder: Path) -> None:
    ran = veil(
        "frontier", "recipe.yaml", "--over", "suppression_limit=0,0.001,0.002"
    )  # of six records all the same
    assert (ran.code, ran.err) == (0, "")
    assert sum(line.split()[:1] == ["best"] for line in ran.out.splitlines()) == 3


def test_frontier_of_another_table(folder: Path) -> None:
    (folder / "other.csv").write_text(PATIENTS * 2)
    (folder / "other.csv").write_text(PATIENTS + PATIENTS.split("\n", 1)[1])
    ran = veil("frontier", "recipe.yaml", "--over", "k-anonymity.k=2", "--input", "other.csv")
    assert "person: null" in ran.err
    (folder / "recipe.yaml").write_text(RECIPE + "person: null\n")
    found = figures("frontier", "recipe.yaml", "--over", "k-anonymity.k=2", "--input", "other.csv")
    assert found["points"][0]["transformation"] == {"age": 0, "sex": 0, "zip": 0}
    (folder / "recipe.yaml").write_text(RECIPE + "    recoding: {kind: FastIterative}\n")
    ran = veil("frontier", "recipe.yaml", "--over", "k=2")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_frontier_as_a_picture(folder: Path, ending: str, start: bytes) -> None:
    pytest.importorskip("matplotlib")
    ran = veil("frontier", "recipe.yaml", "--over", "k=2,3", "--plot", f"front.{ending}")
    assert (ran.code, ran.err) == (0, "")
    assert (folder / f"front.{ending}").read_bytes().startswith(start)
    assert f"front.{ending}" in ran.out
    assert contents(folder).keys() == {"patients.csv", "recipe.yaml", f"front.{ending}"}


def test_picture_and_figures_are_written_both_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    before = contents(folder)
    command = shlex.split("frontier recipe.yaml --over k=2,3 --plot front.svg -o front.json")

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        ran = veil(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "front.json:" in ran.err
    assert "disk is full" in ran.err
    assert contents(folder) == before
    ran = veil(*command)
    assert ran.code == 0, ran.err
    assert contents(folder).keys() - before.keys() == {"front.svg", "front.json"}


# --- what all of them refuse, and how they end ------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("risk nowhere.csv --qi age", "nowhere.csv: no such file"),
        ("risk patients.csv --qi age,sxe", "no column 'sxe'. Did you mean 'sex'?"),
        ("risk patients.csv --qi age --threshold 3", "--threshold"),
        ("risk patients.csv --qi age --population Germny", "Did you mean 'Germany'?"),
        ("risk patients.csv --qi age --population town.csv", "town.csv: no such file"),
        ("risk patients.csv --qi age --population 2", "`population` should be at least 6"),
        ("risk patients.csv --qi age --weights zap", "no column 'zap'"),
        ("risk patients.csv --qi age --subset 'aeg > 3'", "Did you mean 'age'?"),
        ("risk patients.csv --qi age -o nowhere/risk.json", "the directory does not exist"),
        ("risk patients.csv --qi age -o patients.csv --overwrite", "would replace its own input"),
        ("risk patients.csv --qi age --format csv:enc=x", "`enc` is not a parameter"),
        ("identify nowhere.csv", "nowhere.csv: no such file"),
        ("identify patients.csv -o nowhere/roles.json", "the directory does not exist"),
        ("identify patients.csv --threshold 1", "`threshold` should be at least 0 and below 1"),
        ("utility patients.csv patients.csv", "--qi age,sex, or --recipe"),
        ("utility patients.csv patients.csv --qi age --recipe recipe.yaml", "one of the two"),
        ("utility patients.csv patients.csv --qi aeg", "the original table has no column 'aeg'"),
        ("utility patients.csv patients.csv --qi age=interval:5", "Did you mean 'intervals'?"),
        ("utility patients.csv patients.csv --qi age --target zap", "no column 'zap'"),
        ("utility patients.csv short.csv --qi age", "--origins FILE"),
        ("utility patients.csv patients.csv --qi age -o recipe.yaml", "already exists"),
        ("frontier recipe.yaml --over k", "such as --over k=2,5,10"),
        ("frontier recipe.yaml --over k=0,5", "`k` of KAnonymity should be greater than or equal to 1, not 0"),
        ("frontier recipe.yaml --over kk=5", "Did you mean 'k'?"),
        ("frontier recipe.yaml --over k=5 --over k=6", "twice"),
        ("frontier recipe.yaml --over k=5 --risk hihgest", "Did you mean 'highest'?"),
        ("frontier recipe.yaml --over k=5 --utility granluarity", "Did you mean 'granularity'?"),
        ("frontier recipe.yaml --over k=5 --plot front.gif", "should end in .png or .svg or .pdf, not '.gif'"),
        ("frontier recipe.yaml --over k=5 --plot nowhere/front.png", "the directory does not exist"),
        ("frontier recipe.yaml --over k=5 --plot x.svg -o x.svg", "another file of the same run"),
        ("frontier patients.csv --over k=5", "a recipe (.yaml) with the plan to vary is needed"),
        ("frontier nowhere.yaml --over k=5", "nowhere.yaml: no such file"),
        ("frontier recipe.yaml --over k=5 --input nowhere.csv", "nowhere.csv: no such file"),
    ],
)  # fmt: skip
def test_refusals_are_kind_and_change_nothing(folder: Path, command: str, told: str) -> None:
    (folder / "short.csv").write_text("\n".join(PATIENTS.splitlines()[:4]) + "\n")
    before = contents(folder)
    ran = veil(*shlex.split(command))
    said = flowing(ran.err.replace("│", " "))
    assert (ran.code, ran.out) == (2, ""), said
    assert told in said
    assert contents(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "risk patients.csv --qi age,sex --person null --json",
        "identify patients.csv --json",
        "frontier recipe.yaml --over k=2 --json",
    ],
)
def test_in_a_process_of_their_own_nothing_but_json_is_printed(folder: Path, command: str) -> None:
    (folder / "patients.csv").write_text(PATIENTS + PATIENTS.split("\n", 1)[1] * 3)
    (folder / "recipe.yaml").write_text(RECIPE + "person: null\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        "PYTHONIOENCODING": "ascii",
    }
    running = process(*shlex.split(command), cwd=folder, env=environment)
    out, err = running.communicate(timeout=300)
    assert (running.returncode, err) == (0, "")
    assert json.loads(out)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="tells what a process has read on Linux alone")
@pytest.mark.parametrize(
    "command",
    ["risk large.csv --qi age", "frontier recipe.yaml --over k=2 --input large.csv -o f.json"],
)
def test_ctrl_c_while_a_table_is_read(folder: Path, command: str) -> None:
    """The file is larger than all that is read to start, so that whoever has read so much has begun with it."""
    large = b"age,sex,zip,diagnosis\n" + b"34,f,02139,flu\n" * 8_000_000
    (folder / "large.csv").write_bytes(large)
    running = process(*shlex.split(command), cwd=folder)
    while running.poll() is None and _bytes_read(running.pid) < len(large):
        time.sleep(0.01)
    for _ in range(20):  # Python may swallow a signal that arrives in a callback; then one presses again
        running.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(timeout=30)
            break
    _, err = running.communicate(timeout=300)
    assert (running.returncode, err) == (130, "stopped; nothing was written\n")
    assert not (folder / "f.json").exists()


def _bytes_read(process: int) -> int:
    """Count what a process and its children have read: the one that is started only waits."""
    with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        own = int(Path(f"/proc/{process}/io").read_text().split()[1])
        return own + sum(_bytes_read(int(child)) for child in children)
    return 0
