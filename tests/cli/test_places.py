"""The command line on tables that an engine holds: folders of Parquet files, DuckDB and SQLite, as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from support.cli import Ran, contents, process, python, veil
from support.recipes import generalize
from support.refusals import refused
from veil.errors import InputError
from veil.report import check_certificate
from veil.synthetic import patients
from veil.tables import read, write

duckdb = pytest.importorskip("duckdb", reason="needs DuckDB: pip install 'veil-anonymizer[engines]'")
pytest.importorskip("ibis", reason="needs Ibis: pip install 'veil-anonymizer[engines]'")

COLUMNS = ["name", "age", "sex", "zip", "diagnosis"]
PLAN = shlex.split(
    "--qi age=intervals:5,10,20 --qi sex=suppression --qi zip=redaction --sensitive diagnosis --identifying name "
    "--model k-anonymity:5 --suppression-limit 0.05"
)
ROWS = 600


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one table as CSV, as Parquet files, in DuckDB and in SQLite, in which commands run."""
    monkeypatch.chdir(tmp_path)
    table = patients(ROWS).select(COLUMNS)
    write(table, "patients.csv")
    (tmp_path / "data").mkdir()
    for start in range(0, ROWS, 200):
        pq.write_table(table.slice(start, 200), f"data/{start:03}.parquet")
    with duckdb.connect("clinic.db") as connection:
        connection.execute("CREATE TABLE patients AS SELECT * FROM 'data/*.parquet'")
    connection = sqlite3.connect("clinic.sqlite")
    connection.execute("CREATE TABLE patients (name TEXT, age INTEGER, sex TEXT, zip TEXT, diagnosis TEXT)")
    connection.executemany(
        "INSERT INTO patients VALUES (?, ?, ?, ?, ?)", [tuple(row.values()) for row in table.to_pylist()]
    )
    connection.commit()
    connection.close()
    return tmp_path


def run(*arguments: str | Path) -> Ran:
    """Run a command in a process of its own, as a user does."""
    running = process(*arguments)
    out, err = running.communicate(timeout=300)
    return Ran(running.returncode, out, err)


def records(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(None if cell is None else str(cell) for cell in row.values()) for row in table.to_pylist()
    )


def in_memory(*options: str) -> Counter[tuple[Any, ...]]:
    """The records that the same plan releases in memory."""
    assert (
        veil("anonymize", "patients.csv", *PLAN, *options, "-o", "memory.csv", "-q", "--overwrite").code == 0
    )
    return records(read("memory.csv").table)


def in_duckdb(table: str, file: str = "clinic.db") -> Counter[tuple[Any, ...]]:
    with duckdb.connect(file) as connection:
        return records(connection.sql(f"SELECT * FROM {table}").to_arrow_table())


@pytest.mark.slow
def test_a_folder_of_parquet_files_to_a_folder(folder: Path) -> None:
    ran = run(
        "anonymize", "data", *PLAN, "-o", "release/", "--report", "report.html", "--certificate", "c.json"
    )
    assert (ran.code, ran.err) == (0, "")
    assert records(pq.read_table("release")) == in_memory()
    assert "Written by duckdb" in ran.out
    for told in (str(folder / "release"), f"{ROWS}", "every promise", "report:      report.html"):
        assert told in ran.out
    assert "row by row" in Path("report.html").read_text()
    again = veil("anonymize", "data", *PLAN, "-o", "release")
    assert (again.code, "release: already exists" in again.err, "--overwrite" in again.err) == (2, True, True)
    assert veil("anonymize", "data/*.parquet", *PLAN, "-o", "release", "--overwrite", "-q").code == 0


@pytest.mark.slow
def test_a_duckdb_file_to_a_table_of_it_and_back(folder: Path) -> None:
    ran = run("anonymize", "duckdb://clinic.db#patients", *PLAN, "-o", "duckdb://clinic.db#released")
    assert (ran.code, ran.err) == (0, "")
    assert "duckdb://clinic.db" in ran.out
    assert in_duckdb("released") == in_memory()
    Path("recipe.yaml").write_text(
        generalize(
            "input: duckdb://clinic.db#patients\noutput: release.csv\n"
            "quasi_identifiers: {age: {kind: intervals, widths: [5, 10, 20]}, sex: suppression, zip: redaction}\n"
            "sensitive: diagnosis\nidentifying: name\nmodels: [{kind: KAnonymity, k: 5}]\nsuppression_limit: 0.05\n"
        )
    )
    assert veil("anonymize", "recipe.yaml").code == 0
    assert records(read("release.csv").table) == in_memory()
    kept = veil("verify", "duckdb://clinic.db#released", "--recipe", "recipe.yaml")
    assert (kept.code, "5-anonymity" in kept.out) == (0, True)
    assert veil("verify", "duckdb://clinic.db#patients", "--recipe", "recipe.yaml").code == 1


@pytest.mark.parametrize("place", ["release/", "duckdb://clinic.db#released", "sqlite://new.sqlite#released"])
def test_a_recipient_checks_the_certificate_of_what_an_engine_has_written(folder: Path, place: str) -> None:
    models = ("--model", "distinct-l-diversity:l=2,attribute=diagnosis")
    assert veil("anonymize", "data", *PLAN, *models, "-o", place, "--certificate", "c.json", "-q").code == 0
    kept = veil("verify", place, "--certificate", "c.json")
    assert (kept.code, kept.err) == (0, "")
    for told in ("5-anonymity", "distinct 2-diversity of 'diagnosis'", f"{ROWS} rows", "4 columns"):
        assert told in kept.out
    assert "no fingerprint" in re.sub(r"\s+", " ", kept.out)
    other = veil("verify", "duckdb://clinic.db#patients", "--certificate", "c.json")
    assert (other.code, "also 'name'" in other.out, "k = 1" in other.out) == (1, True, True)
    text = Path("c.json").read_text()
    assert '"k": 5' in text
    Path("forged.json").write_text(text.replace('"k": 5', '"k": 4'))
    assert veil("verify", place, "--certificate", "forged.json").code == 1


def test_a_fingerprint_is_not_passed_over_because_an_engine_holds_the_table(folder: Path) -> None:
    assert veil("anonymize", "patients.csv", *PLAN, "-o", "x.csv", "--certificate", "c.json", "-q").code == 0
    (folder / "files").mkdir()
    shutil.copy("x.csv", "files/x.csv")
    assert veil("verify", "x.csv", "--certificate", "c.json").code == 0
    assert check_certificate("c.json", "x.csv").holds
    with refused(InputError, "fingerprint", "all rows"):
        check_certificate("c.json", "files/")
    ran = veil("verify", "files", "--certificate", "c.json")
    assert (ran.code, all(fact in ran.err for fact in ("files:", "has a fingerprint"))) == (
        2,
        True,
    )


@pytest.mark.slow
def test_an_sqlite_file_to_a_parquet_file(folder: Path) -> None:
    ran = run("anonymize", f"sqlite://{folder}/clinic.sqlite#patients", *PLAN, "-o", "release.parquet")
    assert (ran.code, ran.err) == (0, "")
    assert "Written by sqlite" in ran.out
    assert records(pq.read_table("release.parquet")) == in_memory()


def test_a_small_file_goes_where_only_an_engine_can_write(folder: Path) -> None:
    ran = veil("anonymize", "patients.csv", *PLAN, "-o", "sqlite://new.sqlite#released")
    assert (ran.code, ran.err) == (0, "")
    found = sqlite3.connect("new.sqlite")
    assert len(found.execute("SELECT age, sex, zip, diagnosis FROM released").fetchall()) == ROWS
    found.close()
    assert veil("anonymize", "patients.csv", *PLAN, "-o", "release.v2/", "-q").code == 0
    assert records(pq.read_table("release.v2")) == in_memory()


def test_limits_ask_for_duckdb(folder: Path) -> None:
    Path("scratch").mkdir()
    options = ["--memory", "200MB", "--temporary", "scratch", "--threads", "1"]
    ran = veil(
        "anonymize", "patients.csv", *PLAN, "-o", "release.csv", *options, "--save-recipe", "recipe.yaml"
    )
    assert (ran.code, ran.err) == (0, "")
    assert "Written by duckdb" in ran.out
    assert records(read("release.csv").table) == in_memory()
    assert yaml.safe_load(Path("recipe.yaml").read_text())["engine"] == {
        "memory": "200MB",
        "temporary": "scratch",
    }
    assert veil("anonymize", "recipe.yaml", "--overwrite", "-q").code == 0


def test_the_dialect_of_the_input_is_that_of_the_release(folder: Path) -> None:
    Path("semicolons.csv").write_text(Path("patients.csv").read_text().replace(",", ";"))
    for engine in ("memory", "duckdb"):
        assert (
            veil("anonymize", "semicolons.csv", *PLAN, "-o", f"{engine}.csv", "--engine", engine, "-q").code
            == 0
        )
    lines = {name: sorted(Path(name).read_text().splitlines()) for name in ("memory.csv", "duckdb.csv")}
    assert lines["memory.csv"] == lines["duckdb.csv"]


ROOT = Path(__file__).parents[2]


def test_commands_of_the_documentation_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("stays").mkdir()
    write(patients(2000), "stays/part-1.parquet")
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    veil (.*)$", text, flags=re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        ran = veil(*shlex.split(command))
        assert ran.code == 0, f"{command}: {ran.err}"
    assert records(pq.read_table("release")) == records(pq.read_table("limited"))


def nearly(value: Any) -> Any:
    """Figures without their last digits: sums over classes are taken in another order."""
    if isinstance(value, dict):
        return {key: nearly(each) for key, each in value.items()}
    if isinstance(value, list):
        return [nearly(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.mark.parametrize("place", ["data", "data/*.parquet", "duckdb://clinic.db#patients"])
def test_looking_at_what_an_engine_holds_is_looking_at_the_same(place: str, folder: Path) -> None:
    held, memory = (veil("assess", each, "--qi", "age,sex,zip") for each in (place, "patients.csv"))
    assert (held.code, held.err) == (0, "")
    assert held.out == memory.out
    for option in ("--untouched", "--population=80000"):
        held, memory = (
            veil("risk", each, "--qi", "age,sex,zip", "--json", option) for each in (place, "patients.csv")
        )
        assert (held.code, held.err) == (0, "")
        assert nearly(json.loads(held.out)) == nearly(json.loads(memory.out))


def test_risk_against_a_table_of_all_people(folder: Path) -> None:
    write(read("patients.csv").table.slice(0, 100), "some.csv")
    options = ["--qi", "age,sex", "--untouched", "--json", "--population", "patients.csv"]
    held = veil("risk", "some.csv", "--engine", "duckdb", *options)
    assert (held.code, held.err) == (0, "")
    assert nearly(json.loads(held.out)) == nearly(json.loads(veil("risk", "some.csv", *options).out))


REFUSED = {
    "anonymize data -o release.xlsx": "an engine writes CSV and Parquet",
    "anonymize data -o data/release.parquet": "is inside the input folder",
    "anonymize data -o nowhere/release/": "does not exist",
    "anonymize data -o duckdb://nowhere/new.db#t": "the directory does not exist",
    "anonymize data -o duckdb://clinic.db": "no table is named",
    "anonymize data -o duckdb://new.db": "no table is named",
    "anonymize data -o r.csv --engine memory": "folders and file patterns are read by DuckDB",
    "anonymize data -o patients.csv": "already exists",
    "anonymize duckdb://clinic.db#patients -o duckdb://clinic.db#patients --overwrite": "is the input",
    "anonymize duckdb://clinic.db#patient -o r/": "Did you mean 'patients'?",
    "anonymize duckdb://nowhere.db#patients -o r/": "no such file",
    "anonymize data/*.csv -o r/": "no file matches",
    "anonymize patients.csv -o release/ --engine memory": "Leave --engine out, or write a file",
    "anonymize patients.csv -o r.csv --engine memory --memory 1GB": "settings of DuckDB",
    "anonymize patients.csv -o r.csv --memory much": "should be a size such as '2GB'",
    "anonymize patients.csv -o release": "or end it with / for a folder of Parquet files",
    "anonymize book.xlsx -o release/": "can only be read into memory",
    "anonymize s3://bucket/patients.parquet -o r.csv": "Copy the files to this machine first",
    "anonymize data -o r/ --microaggregate age=mean": "microaggregated, which engines do not support",
    "anonymize data -o r/ --model k-map:3,subset=patients.csv": "is not a query",
    "anonymize data -o r/ --budget budget.json": "a budget belongs to a single file",
    "anonymize data -o r.csv --report r.csv": "should end in",
    "anonymize data -o r.json --report report.json": "the ending '.json' is unknown",
    "anonymize data -o old --report old/report.html --overwrite": "would be in the folder of the release",
    "risk data --qi age --weights age": "--weights needs single records",
    "risk data --qi age --household zip": "--household needs single records",
    "risk data --qi age --subset age>30": "--subset needs single records",
    "hierarchy duckdb://clinic.db#patients age": "works on files, not on databases",
    "mask duckdb://clinic.db#patients -o m.csv --step rank-swapping:age,p=5": "works on files, not on databases",
    "mask patients.csv -o duckdb://clinic.db#m --step rank-swapping:age,p=5": "works on files, not on databases",
    "utility patients.csv duckdb://clinic.db#patients --qi age": "works on files, not on databases",
    "budget duckdb://clinic.db#patients": "say where the budget file is",
    "frontier recipe.yaml --over k=2,3": "Try parameters on a sample",
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_done_is_refused_before_anything_is_done(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("book.xlsx").write_bytes(b"")
    Path("old").mkdir()
    Path("recipe.yaml").write_text(
        generalize(
            "input: data/\nquasi_identifiers: {age: suppression}\nmodels: [{kind: KAnonymity, k: 2}]\n"
        )
    )
    before = contents(folder)
    name, *arguments = shlex.split(command)
    for step in ("veil.engines.source.condense", "veil.api.anonymize.prepare", "veil.tables.source.read_csv"):
        monkeypatch.setattr(step, lambda *_, **__: pytest.fail("work was done"))
    ran = veil(name, *arguments, *(PLAN if name == "anonymize" else ()))
    assert ran.code == 2, ran
    assert REFUSED[command] in ran.err
    assert "Traceback" not in ran.err
    assert contents(folder) == before


SECRET = "s3cr3t"
UNREACHABLE = f"postgres://veil:{SECRET}@127.0.0.1:1/clinic#patients"


@pytest.mark.parametrize(
    "command",
    [
        f"anonymize {UNREACHABLE} -o r.csv",
        f"anonymize data -o {UNREACHABLE}",
        f"assess {UNREACHABLE} --qi age",
        f"risk {UNREACHABLE} --qi age",
        f"verify {UNREACHABLE} --recipe recipe.yaml",
        f"anonymize postgres://veil:{SECRET}#@127.0.0.1/clinic -o r.csv",
        f"identify {UNREACHABLE}",
        f"risk patients.csv --qi age --population {UNREACHABLE}",
        f"utility patients.csv {UNREACHABLE} --qi age",
        f"mask patients.csv -o {UNREACHABLE} --step rank-swapping:age,p=5",
        "anonymize secret.yaml -o r.csv",
    ],
)
def test_no_message_holds_a_password(command: str, folder: Path) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'veil-anonymizer[postgres]'")
    least = generalize("quasi_identifiers: {age: suppression}\nmodels: [{kind: KAnonymity, k: 2}]\n")
    Path("recipe.yaml").write_text(least)
    Path("secret.yaml").write_text(f"input: {UNREACHABLE}\n{least}")
    before = contents(folder)
    name, *arguments = shlex.split(command)
    plan = PLAN if name == "anonymize" and "yaml" not in command else ()
    ran = (run if command.startswith("anonymize data") else veil)(name, *arguments, *plan)
    assert ran.code == 2
    assert "error: " in ran.err
    assert SECRET not in ran.out + ran.err
    assert "Traceback" not in ran.err
    assert contents(folder) == before


def test_a_password_on_the_command_line_is_not_written_down(folder: Path) -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'veil-anonymizer[postgres]'")
    ran = veil("anonymize", UNREACHABLE, *PLAN, "-o", "r.csv", "--save-recipe", "saved.yaml")
    assert "see a password" in ran.err
    assert "cannot be reached" in ran.err
    assert not Path("saved.yaml").exists()


# Pieces of 200 rows, and a long pause in the middle of the second.
STOPPED = """
import sys, time
from veil.engines.write import writing
from veil.engines.write.files import FolderTarget
writing.write.__kwdefaults__["chunk_rows"] = 200
append = FolderTarget.append
def slow(self, label, piece):
    if SLOW and self.state["done"]:
        print("writing", flush=True)
        time.sleep(3600)
    append(self, label, piece)
FolderTarget.append = slow
from veil.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_was_stopped_goes_on_with_the_same_command(folder: Path, number: int, code: int) -> None:
    before = contents(folder)
    command = ["anonymize", "data", *PLAN, "-o", "release/"]
    running = python("-c", STOPPED.replace("SLOW", "True"), *command)
    assert running.stdout is not None
    assert running.stdout.readline() == "writing\n"
    running.send_signal(number)
    _, err = running.communicate(timeout=300)
    assert running.returncode == code
    assert err.startswith("stopped; 1 of 3 pieces are done and kept in ")
    assert err.endswith("; doing the same again goes on from there\n")
    assert "Traceback" not in err
    assert not Path("release").exists()
    again = python("-c", STOPPED.replace("SLOW", "False"), *command)
    out, err = again.communicate(timeout=300)
    assert (again.returncode, err) == (0, "")
    assert "1 of them" in out
    assert records(pq.read_table("release")) == in_memory()
    Path("memory.csv").unlink()
    assert {name for name in contents(folder) if not name.startswith("release")} == set(before)


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pty = pytest.importorskip("pty")
    monkeypatch.setenv("TERM", "xterm")  # one that is called dumb is shown no progress
    ours, theirs = pty.openpty()
    script = STOPPED.replace("SLOW", "False").replace(
        "import sys, time", "import sys, time, veil.base.progress\nveil.base.progress.PATIENCE = 0"
    )
    running = python(
        "-c", script, "anonymize", "data", *PLAN, "-o", "release/", stderr=theirs, stdout=subprocess.DEVNULL
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux ends a terminal without a process with an error
        pass
    os.close(ours)
    assert running.wait(timeout=300) == 0
    assert b"writing" in shown
