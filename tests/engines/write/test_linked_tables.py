"""Several tables read from databases and written to one: all of them, or none."""

from __future__ import annotations

import dataclasses
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.engines import servers
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.engines.database import Database, connect
from veil.engines.dialects import collect, dialect_of
from veil.engines.write.linked_tables import write_tables
from veil.engines.write.staging_tables import lock_table
from veil.errors import OutputError

NAMES = ("patients", "visits")


def tables() -> dict[str, pa.Table]:
    rng = np.random.default_rng(3)
    whose = np.repeat(np.arange(40), 2)
    return {
        "patients": pa.table(
            {"id": np.arange(40), "sex": rng.choice(["f", "m"], 40), "ok": rng.random(40) < 0.5}
        ),
        "visits": pa.table(
            {
                "id": whose,
                "ward": rng.choice(["a", "b"], whose.size),
                "cost": rng.integers(0, 99, whose.size) / 4,
            }
        ),
    }


def anonymized(given: Any) -> Any:
    return veil.anonymize(
        given,
        person="id",
        quasi_identifiers={"sex": h.suppression(), "ward": h.suppression()},
        others="keep",
        models=KAnonymity(3),
        suppression_limit=0.2,
    )


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "mysql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Return the URL of a database by name; those of the same name are the same."""
    if request.param == "postgres":
        server = servers.new_database(request.getfixturevalue("_postgres_server"))
        return lambda _: str(server.url())
    if request.param == "mysql":
        mysql = request.getfixturevalue("mysql")
        name = f"several_{secrets.token_hex(4)}"
        mysql.execute(f"CREATE DATABASE {name}", f"GRANT ALL ON {name}.* TO {servers.OWNER}@'127.0.0.1'")
        return lambda _: str(dataclasses.replace(mysql, database=name).url())
    return lambda name: f"{request.param}://{tmp_path / name}.db"


def spelled(table: pa.Table) -> list[str]:
    """Rows as texts, in which truth is a number: MySQL has no other."""
    return sorted(
        str({name: int(cell) if isinstance(cell, bool) else cell for name, cell in row.items()})
        for row in table.to_pylist()
    )


def rows(url: str) -> dict[str, list[Any]]:
    """All tables of a database, and their rows."""
    backend = connect(Database(url))
    try:
        return {
            name: spelled(collect(backend, backend.table(name)))
            for name in dialect_of(backend).tables()
            if "__veil_" not in name  # of a killed run, where nothing takes back the making of tables
        }
    finally:
        backend.disconnect()


def as_rows(made: Any) -> dict[str, list[Any]]:
    return {name: spelled(each) for name, each in made.tables.items()}


def test_a_database_gets_the_tables_that_were_verified(new_url: Callable[[str], str], tmp_path: Path) -> None:
    url, apart = new_url("out"), tmp_path / "apart"
    apart.mkdir()
    made = anonymized(tables())
    file = Database(url).file
    if file is not None:
        with refused(OutputError, "is written there", "pseudonyms"):
            made.save(url, apart=apart)
        assert not file.exists()
        url = f"{url.partition(':')[0]}://{tmp_path / 'shown' / 'out'}.db"
        (tmp_path / "shown").mkdir()
    written = made.save(url, apart=apart)
    assert rows(url) == as_rows(made)
    assert [path.name for path in written.apart] == ["pseudonyms.csv"]
    certificate = made.certificate(tmp_path / "certificate.json")
    assert veil.verify(Database(url), certificate=certificate).holds
    with refused(OutputError, "patients of", "already exists"):
        made.save(url)
    again = anonymized(tables())
    again.save(url, overwrite=True)
    assert rows(url) == as_rows(again)
    with refused(OutputError, "one table", "several"):
        made.save(f"{url}#patients")


def test_tables_of_a_database_are_read_and_never_written_over(new_url: Callable[[str], str]) -> None:
    url = new_url("in")
    write_tables(Database(url), tables())
    before = rows(url)
    made = anonymized({name: f"{url}#{name}" for name in NAMES})
    assert {name: table.num_rows for name, table in made.tables.items()} == {"patients": 40, "visits": 80}
    with refused(OutputError, "is the input"):
        made.save(url, overwrite=True)
    assert rows(url) == before


def test_what_fails_on_the_way_leaves_nothing_behind(
    new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second table cannot be written, or is not what was written."""
    from veil.engines.write import linked_tables

    url, made = new_url("out"), anonymized(tables())
    old = anonymized(tables())
    old.save(url)
    right = linked_tables.rows_as_texts
    calls: list[int] = []

    def other(table: pa.Table) -> pa.Table:
        calls.append(1)
        return right(table).slice(len(calls) == 3)

    monkeypatch.setattr(linked_tables, "rows_as_texts", other)
    with refused(OutputError, "'visits'", "differ"):
        made.save(url, overwrite=True)
    assert rows(url) == as_rows(old)


def test_what_killed_runs_left_for_the_same_tables_is_removed(new_url: Callable[[str], str]) -> None:
    url, made = new_url("out"), anonymized(tables())
    left = [
        "patients__veil_0123456789ab_pending",
        "visits__veil_0123456789ab",
        "patients__veil_0123456789ab_old",
    ]
    others = ["other__veil_0123456789ab", "patients__veil_notes"]
    write_tables(Database(url), {name: pa.table({"n": [1]}) for name in [*left, *others]})
    made.save(url)
    backend = connect(Database(url))
    assert sorted(dialect_of(backend).tables()) == sorted([*NAMES, *others])
    backend.disconnect()


def test_two_runs_do_not_write_the_same_tables_at_once(new_url: Callable[[str], str]) -> None:
    url, made = new_url("out"), anonymized(tables())
    write_tables(Database(url), {"other": pa.table({"n": [1]})})
    backend = connect(Database(url))
    with (
        lock_table(dialect_of(backend), None, "visits", "visits"),
        refused(OutputError, "table visits of", "another run"),
    ):
        made.save(url)
    backend.disconnect()
    made.save(url)
    assert rows(url).keys() == {*NAMES, "other"}


KILLED = """
import os, signal, sys
import duckdb, ibis, ibis.backends.duckdb, ibis.backends.postgres, ibis.backends.sqlite  # once, not in each child
sys.path.insert(0, {tests!r})
from engines.write.test_linked_tables import anonymized, as_rows, rows, tables
from veil.engines.database import Database

url = {url!r}
old, new = anonymized(tables()), anonymized(tables())
kind = Database(url).dialect

def apart(work):
    # Connections are those of a process.
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def killed(moment):
    left = [moment]
    def counted(call):
        def made(*given, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **options)
        return made
    for name in ("run", "create", "load", "table"):
        setattr(kind, name, counted(getattr(kind, name)))
    new.save(url, overwrite=True)

def told():
    found = rows(url)
    print("old" if found == as_rows(old) else "new" if found == as_rows(new) else "mixed", flush=True)

for moment in {moments}:
    apart(lambda: old.save(url, overwrite=True))
    print(apart(lambda: killed(moment)), flush=True)
    apart(told)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_statement_there_are_all_tables_or_those_from_before(
    new_url: Callable[[str], str],
) -> None:
    moments = [*range(1, 20)] if "VEIL_FUZZ" in os.environ else [6, 9, 12, 99]
    script = KILLED.format(tests=str(Path(__file__).parents[2]), url=new_url("out"), moments=moments)
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True
    )
    lines = ran.stdout.split()
    found = dict(enumerate(zip(lines[::2], lines[1::2], strict=True), 1))
    killed = {state for code, state in found.values() if code == str(-signal.SIGKILL)}
    assert (
        {"old"} <= killed <= {"old", "new"}
    )  # those from before until all take their place, and never some of each
    assert {state for code, state in found.values() if code == "0"} == {"new"}
