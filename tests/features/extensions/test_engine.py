"""Engines of other packages: one file and an entry point, and sources, targets and the command line know them."""

from __future__ import annotations

import ast
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import veil
from support.cli import SOURCES, process
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.engines import Database, relation_of
from veil.engines import dialects as known
from veil.engines.copy import needs_copy
from veil.engines.database import is_url
from veil.engines.dialects import Dialect, dialect_of
from veil.errors import ParameterError, VeilError

MYDB = '''
"""DuckDB under another name: an engine that is asked where its rows are."""
from ibis.backends.duckdb import Backend
from sqlglot.dialects import duckdb
from veil.engines.dialects.duckdb import DuckDB

class Mydb(duckdb.DuckDB):
    """How sqlglot writes statements for it; it goes by the name of the class."""

class MyBackend(Backend):
    name = "mydb"

class MyDB(DuckDB):
    name, schemes = "mydb", ("mydb",)

    @classmethod
    def driver(cls):
        return MyBackend()
'''
SHELF = '''
"""A server that only stores rows: everything is left to the base class but how to get there."""
from ibis.backends.sqlite import Backend
from veil.engines.dialects import Dialect

class ShelfBackend(Backend):
    name = "shelf"

class Shelf(Dialect):
    name, schemes = "shelf", ("shelf",)

    @classmethod
    def log_in(cls, arguments):
        return ShelfBackend().connect(arguments["file"])
'''
FAULTS = "class Other: pass\n"

ENTRIES = """\
[veil.engines]
mydb = veil_mydb:MyDB
shelf = veil_shelf:Shelf
absent = veil_absent:Absent
broken = veil_faults:Missing
other = veil_faults:Other
misnamed = veil_mydb:MyDB
"""
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(10, 20), "sex": h.suppression()},
    "identifying": {"name": "remove"},
    "models": m.KAnonymity(3),
    "suppression_limit": 0.2,
}
OPTIONS = shlex.split(
    "--qi age=intervals:10,20 --qi sex=suppression --identifying name --model k-anonymity:3 --suppression-limit 0.2"
)
PEOPLE = [(f"person {n}", 20 + n % 40, "fm"[n % 2]) for n in range(200)]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with packages and what an installer notes about them; forgotten afterwards."""
    folder = tmp_path / "site"
    info = folder / "veil_friends-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: veil-friends\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    for name, text in {"mydb": MYDB, "shelf": SHELF, "faults": FAULTS}.items():
        (folder / f"veil_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    before = dict(known.ENGINES)
    known._find_installed.cache_clear()
    yield folder
    known._find_installed.cache_clear()
    known.ENGINES.clear()
    known.ENGINES.update(before)
    for name in ("mydb", "shelf", "faults"):
        sys.modules.pop(f"veil_{name}", None)


def in_duckdb(folder: Path) -> str:
    import duckdb

    with duckdb.connect(str(folder / "clinic.db")) as connection:
        connection.execute("CREATE TABLE people (name TEXT, age INT, sex TEXT)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
    return f"mydb://{folder}/clinic.db#"


def in_sqlite(folder: Path) -> str:
    connection = sqlite3.connect(folder / "clinic.sqlite")
    connection.execute("CREATE TABLE people (name TEXT, age INT, sex TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
    connection.commit()
    connection.close()
    return f"shelf:///?file={folder}/clinic.sqlite#"


@pytest.mark.parametrize(("make", "brought"), [(in_duckdb, False), (in_sqlite, True)], ids=["mydb", "shelf"])
def test_a_new_engine_is_one_file(
    make: Callable[[Path], str], brought: bool, installed: Path, tmp_path: Path
) -> None:
    place = make(tmp_path)
    source = relation_of(f"{place}people")
    assert source is not None
    assert source.kind == type(source.dialect).name == Database(place).engine == place.partition(":")[0]
    assert needs_copy(source) is brought
    memory = pa.Table.from_pylist([dict(zip(("name", "age", "sex"), row, strict=True)) for row in PEOPLE])
    expected = veil.anonymize(memory, **PLAN)
    release = veil.anonymize(f"{place}people", **PLAN)
    assert release.transformation == expected.transformation
    release.save(f"{place}shown")
    assert veil.verify(f"{place}shown", release.plan).holds
    shown = relation_of(f"{place}shown")
    assert shown is not None
    found = shown.batches(shown.table).read_all()
    assert sorted(found.to_pylist(), key=repr) == sorted(expected.arrow.to_pylist(), key=repr)
    with pytest.raises(VeilError, match="already exists"):
        release.save(f"{place}shown")
    release.save(f"{place}shown", overwrite=True)


@pytest.mark.slow
@pytest.mark.parametrize("make", [in_duckdb, in_sqlite], ids=["mydb", "shelf"])
def test_the_command_line_knows_it(make: Callable[[Path], str], installed: Path, tmp_path: Path) -> None:
    place = make(tmp_path)
    paths = os.pathsep.join([str(SOURCES), str(installed)])
    running = process(
        "anonymize",
        f"{place}people",
        *OPTIONS,
        "-o",
        f"{place}shown",
        env={**os.environ, "PYTHONPATH": paths},
    )
    out, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (0, "")
    assert "table shown of" in out
    shown = relation_of(f"{place}shown")
    assert shown is not None
    assert shown.table.columns == ("age", "sex")
    assert shown.batches(shown.table).read_all().num_rows == 200


def test_nothing_is_loaded_that_is_not_asked_for(installed: Path) -> None:
    assert relation_of("duckdb-is-no-url.csv", engine="memory") is None
    assert [is_url(each) for each in ("mydb:clinic.db#people", "shelf:a", "nobody:a")] == [True, False, False]
    assert "veil_mydb" in sys.modules
    assert "veil_faults" not in sys.modules


def test_engines_that_nobody_has_are_still_told_from_those_that_are_installed(installed: Path) -> None:
    with refused(ParameterError, "duckdb://", "mydb://", "shelf://", "mean 'mydb'"):
        Database("mydbb://clinic#people")
    assert type(dialect_of(ibis.polars.connect())) is Dialect


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("absent", r"the engine 'absent' of the package veil-friends \(entry point veil_absent:Absent\) cannot be loaded: ModuleNotFoundError"),
        ("broken", r"'broken' of .*veil_faults:Missing\) cannot be loaded: AttributeError"),
        ("other", r"'other' of .* should be a subclass of veil.engines.dialects.Dialect, not <class"),
        ("misnamed", r"'misnamed' of .*veil_mydb:MyDB\) has neither this `name` nor this among its `schemes`"),
    ],
)  # fmt: skip
def test_an_entry_point_that_cannot_be_used_is_named(installed: Path, scheme: str, message: str) -> None:
    with pytest.raises(VeilError, match=message):
        veil.anonymize(f"{scheme}://host/clinic#people", **PLAN)


def test_engines_are_told_apart_in_dialects_only() -> None:
    """Nothing else compares a name with that of an engine, or looks something up by it."""
    names = known.ENGINES.keys() | {"polars"}
    found = []
    for file in sorted((SOURCES / "veil").rglob("*.py")):
        if file.parent.name == "dialects":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            asked = (
                [node.left, *node.comparators]
                if isinstance(node, ast.Compare)
                else [key for key in node.keys if key is not None]
                if isinstance(node, ast.Dict)
                else []
            )
            said = {each.value for part in asked for each in ast.walk(part) if isinstance(each, ast.Constant)}
            found += [(file.name, node.lineno, each) for each in said & names]
    assert found == []


def test_what_is_known_stays_what_it_is(installed: Path) -> None:
    """An engine of another package that calls itself as one of Veil's does not take its place."""

    class Impostor(Dialect):
        name, schemes = "duckdb", ("duckdb", "impostor")

    before = dict(known.ENGINES)
    known.register(Impostor)
    assert {**before, "impostor": Impostor} == known.ENGINES
    assert type(dialect_of(ibis.duckdb.connect())).__name__ == "DuckDB"


def test_engines_cost_nothing_at_the_start() -> None:
    """Neither Ibis nor a driver is imported, and no package is looked for, before it is needed."""
    code = (
        "import sys, importlib.metadata as metadata\n"
        "find = metadata.entry_points\n"
        "def watched(**wanted):\n"
        "    assert wanted.get('group') != 'veil.engines', 'looked for engines'\n"
        "    return find(**wanted)\n"
        "metadata.entry_points = watched\n"
        "import veil.engines.dialects\n"
        "from veil.engines import Database\n"
        "Database('postgres://host/clinic#people'), Database('spark:#people')\n"
        "print(sorted({'ibis', 'duckdb', 'psycopg', 'pyspark', 'MySQLdb', 'pyodbc'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
