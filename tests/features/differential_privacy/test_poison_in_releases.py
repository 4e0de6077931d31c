"""SafePub with records that are no records: nothing that a run prints, writes or raises tells of one of them.

With fewer records than a class needs, a release is empty whatever is drawn. So all that can be seen has to be the same,
letter by letter, for tables that differ in one record, or by one person, however strange.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import pyarrow as pa
import pytest

import veil
from support.cli import veil as run
from support.dp.poison import CELLS, LINES, PEOPLE, as_objects, some
from support.recipes import generalize, generalize_data
from support.workbench import Client, workbench
from veil import SafePub
from veil.errors import PlanError, VeilError
from veil.report import collect_facts

ROWS = [(f"A{at}", str(30 + at), "fm"[at % 2]) for at in range(6)]
AGE = [[str(age), f"{age // 10}0s", "*"] for age in range(120)]
SEX = [["f", "*"], ["m", "*"]]
MODEL = SafePub(1, 1e-4, generalization={"age": 1, "sex": 0})
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": veil.hierarchies.table(AGE), "sex": veil.hierarchies.table(SEX)},
    "models": MODEL,
}
UNITS: dict[str, dict[str, Any]] = {
    "rows": {"person": None, "identifying": "patient"},
    "people": {"person": "patient"},
}


def as_csv(*added: tuple[str, bytes]) -> bytes:
    """Return the people as a file, with rows that have a person and an age added."""
    rows = [b",".join(each.encode() for each in row) for row in ROWS]
    rows += [b",".join([person.encode(), age, b"f"]) for person, age in added]
    return b"\n".join([b"patient,age,sex", *rows, b""])


def seen(release: Any, folder: Path) -> Any:
    """All that leaves: the table, its types, files, certificate, report and what Python writes of it."""
    release.save(folder / "release.csv", overwrite=True)
    release.save(folder / "release.parquet", overwrite=True)
    release.certificate(folder / "certificate.json", overwrite=True)
    facts = collect_facts(release)
    told = {"facts": facts, "certificate": json.loads((folder / "certificate.json").read_text())}
    for each in (facts, facts["certificate"], told["certificate"]):
        each.pop("date")
        each.pop("checksum", None)
    table = release.table.to_pyarrow() if hasattr(release.table, "to_pyarrow") else pa.table(release.table)
    files = [(folder / name).read_bytes() for name in ("release.csv", "release.parquet")]
    return repr((told, table.schema, table.num_rows, files, repr(release), release._repr_html_()))


def outcome(make: Callable[[], Any], folder: Path) -> Any:
    """What somebody sees: a release, or an error."""
    try:
        return seen(make(), folder)
    except VeilError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("unit", UNITS)
def test_files(tmp_path: Path, unit: str) -> None:
    found = {}
    file = tmp_path / "people.csv"
    for name, added in some(_added(), list(UNITS).index(unit), 2):
        file.write_bytes(as_csv(*added))
        found[name] = outcome(lambda: veil.anonymize(file, **PLAN, **UNITS[unit]), tmp_path)
    assert_alike(found)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_frames(tmp_path: Path, unit: str) -> None:
    """Also frames whose other cells owe their type to the record that is added."""
    found = {}
    columns = [[row[at] for row in ROWS] for at in range(3)]
    ages = [int(age) for age in columns[1]]
    whole = pd.DataFrame({"patient": columns[0], "age": ages, "sex": columns[2]})
    found["nobody"] = outcome(lambda: veil.anonymize(whole, **PLAN, **UNITS[unit]), tmp_path)
    for name, cell in some(list(as_objects().items()), list(UNITS).index(unit), 2):
        frame = pd.DataFrame(
            {
                "patient": pd.Series([*columns[0], cell], dtype=object),
                "age": pd.Series([*ages, cell], dtype=object),
                "sex": pd.Series([*columns[2], cell], dtype=object),
            }
        )
        found[name] = outcome(lambda frame=frame: veil.anonymize(frame, **PLAN, **UNITS[unit]), tmp_path)
    assert_alike(found)


@pytest.mark.parametrize("where", ["memory", "duckdb", "folder"])
def test_lines(tmp_path: Path, where: str) -> None:
    """Whoever was to read the file: to an engine, a line that is no record is an error of all."""
    found = {}
    folder = tmp_path / "people"
    folder.mkdir()
    for name, line in some(list(LINES.items()), ["memory", "duckdb", "folder"].index(where), 2):
        for part in ("0.csv", "1.csv"):
            (folder / part).write_bytes(as_csv() + line + b'\nC1,"33",f\n')
        source = folder if where == "folder" else folder / "0.csv"
        engine: Any = "auto" if where == "folder" else where
        found[name] = outcome(
            lambda source=source, engine=engine: veil.anonymize(
                source, engine=engine, **PLAN, **UNITS["rows"]
            ),
            tmp_path,
        )
    assert_alike(found)


def test_an_index_that_a_record_left_a_gap_in(tmp_path: Path) -> None:
    columns = {name: [row[at] for row in ROWS] for at, name in enumerate(("patient", "age", "sex"))}
    frame = pd.DataFrame(columns)
    found = {
        name: outcome(lambda each=each: veil.anonymize(each, **PLAN, **UNITS["rows"]), tmp_path)
        for name, each in (
            ("whole", frame),
            ("a gap", frame.drop(2)),
            ("names", frame.set_index(frame["age"])),
        )
    }
    assert_alike(found)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_engines(tmp_path: Path, unit: str) -> None:
    found = {}
    texts = {name: cell for name, cell in as_objects().items() if isinstance(cell, str | None)}
    for name, cell in [*itertools.islice(texts.items(), 0, None, 4), ("half a pair", "x")]:
        rows = [*ROWS, ("B1", cell, cell)]
        held = {name: [row[at] for row in rows] for at, name in enumerate(("patient", "age", "sex"))}
        table = ibis.duckdb.connect().create_table("people", pa.table(held))
        found[name] = outcome(lambda table=table: veil.anonymize(table, **PLAN, **UNITS[unit]), tmp_path)
    empty = pa.table({name: pa.array([], pa.string()) for name in ("patient", "age", "sex")})
    table = ibis.duckdb.connect().create_table("people", empty)
    found["no records"] = outcome(lambda: veil.anonymize(table, **PLAN, **UNITS[unit]), tmp_path)
    assert_alike(found)


RECIPE = generalize("""\
input: people.csv
output: release.csv
report: report.json
certificate: certificate.json
person: {person}
identifying: [patient]
quasi_identifiers: {{age: {{kind: table, rows: {age}}}, sex: {{kind: table, rows: {sex}}}}}
models: [{{kind: SafePub, epsilon: 1, delta: 1.0e-4, generalization: {{age: 1, sex: 0}}}}]
""")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("person", "options", "start"),
    [("null", ["--json"], 0), ("null", [], 1), ("patient", ["--json"], 2), ("patient", [], 3)],
)
def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: str, options: list[str], start: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recipe.yaml").write_text(
        RECIPE.format(person=person, age=json.dumps(AGE), sex=json.dumps(SEX)), encoding="utf-8"
    )
    found = {}
    everything = _added()
    for name, added in some(everything, start, 4):
        Path("people.csv").write_bytes(as_csv(*added))
        Path("run.jsonl").unlink(missing_ok=True)
        reader = ["--engine", "duckdb"] if start % 2 else []
        ran = run("anonymize", "recipe.yaml", "--overwrite", "--log", "run.jsonl", *options, *reader)
        assert ran.code == 0, (name, ran.err)
        files = [Path(each).read_text() for each in ("release.csv", "report.json", "certificate.json")]
        shown = "\n".join([str(ran.code), ran.out, ran.err, *files, Path("run.jsonl").read_text()])
        found[name] = re.sub(
            r'"(date|checksum|seconds|time|sha256)": ("[^"]*"|[0-9.]+)|\d{4}-\d\d-\d\dT[\d:+.]+', "", shown
        )
    assert_alike(found)


def test_the_workbench() -> None:
    """It shows figures to the data holder; what is handed over from it is the same."""
    found = {}
    document = generalize_data(
        quasi_identifiers={"age": {"kind": "table", "rows": AGE}, "sex": {"kind": "table", "rows": SEX}},
        identifying=["patient"],
        person=None,
        models=[{"kind": "SafePub", "epsilon": 1, "delta": 1e-4, "generalization": {"age": 1, "sex": 0}}],
    )
    strange = ("a number of the domain", "a text among numbers", "a decimal", "nothing", "a day", "a truth")
    with workbench() as bench:
        client = Client(bench)
        for name in strange:
            table = client.open(as_csv(("B1", CELLS[name])).decode())
            wish = {"table": table, "recipe": document}
            made = client.result(client.post("/api/v1/releases", json=wish))["release"]
            shown = [
                client.get(f"/api/v1/releases/{made}/{each}").text for each in ("table.csv", "report.json")
            ]
            found[name] = re.sub(r'"(date|checksum|input)": "[^"]*"|input: .*', "", "\n".join(shown))
        undeclared = {key: value for key, value in document.items() if key != "person"}
        refused = client.post("/api/v1/releases", json={"table": table, "recipe": undeclared})
    assert_alike(found)
    assert refused.status_code == 422
    assert "a different person" in refused.text


@pytest.mark.parametrize("plan", [{}, {"person": "ask"}])
def test_without_a_declaration_there_is_no_plan(plan: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="person=None"):
        veil.Plan(PLAN["quasi_identifiers"], MODEL, **plan)


def _added() -> list[tuple[str, list[tuple[str, bytes]]]]:
    """Everything that is added to the table: one record with a strange cell, or all rows of somebody."""
    cells = [(name, [("B1", cell)]) for name, cell in CELLS.items()]
    people = [(name, [(each, b"34") for each in rows]) for name, rows in PEOPLE.items()]
    return [("nobody else", []), *cells, *people]


def assert_alike(found: dict[str, Any]) -> None:
    """See that all neighbours look the same, and none is an error."""
    (first, expected), *others = found.items()
    assert "Error" not in str(expected)[:60], expected
    different = [name for name, each in others if each != expected]
    both = [str(each).splitlines() for each in (expected, found[different[0]])] if different else []
    assert not different, (first, different, *difflib.unified_diff(*both, lineterm="", n=0))
