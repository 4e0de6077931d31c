"""Databases by URL: what is shown of them, what is said when they cannot be opened."""

from __future__ import annotations

import dataclasses
import gc
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pydantic
import pytest

import veil
from support.engines.servers import PASSWORD, Postgres
from support.refusals import refused
from veil.engines import Database, relation_of
from veil.engines.database import connect, explain_errors
from veil.errors import InputError, MissingDependencyError, OutputError, ParameterError

Make = Callable[..., str]


def everything_said(error: BaseException) -> str:
    """What a user or a log can see of an error."""
    return "".join([str(error), repr(error), *traceback.format_exception(error)])


@pytest.mark.parametrize("password", ["data", "a", PASSWORD, "100%+ %41"])
def test_a_password_reaches_the_driver_as_it_is_and_nothing_else(password: str) -> None:
    database = Database(f"postgres://veil:{quote(password, safe='')}@h/clinic#t")
    other = Database("postgres://veil:other@h/clinic#t")
    assert database.secrets() == {"password": password}
    assert database.with_table("other").secrets() == {"password": password}
    # Everything that can be written down is the same for every password.
    adapter = pydantic.TypeAdapter(Database)
    for form in (repr, str, dataclasses.asdict, adapter.dump_json):
        assert form(database) == form(other)
    assert database == other


@pytest.mark.parametrize("password", ["a/b", "a#b", "a?b", "a[b", "12/34", "é/\u2100"])
def test_a_password_that_is_not_encoded_is_not_repeated(password: str) -> None:
    with pytest.raises(ParameterError, match="percent-encoded") as raised:
        Database(f"postgres://veil:{password}@h/clinic#t")
    with pytest.raises(ParameterError, match="percent-encoded") as other:
        Database("postgres://veil:x/y@h/clinic#t")
    assert str(raised.value) == str(other.value)


def test_a_database_is_declared_as_in_a_recipe() -> None:
    adapter = pydantic.TypeAdapter(Database)
    made = adapter.validate_python(
        {"kind": "Database", "url": "postgres://veil@h/clinic", "table": "t", "password_variable": "SECRET"}
    )
    assert made == Database("postgres://veil@h/clinic", "t", password_variable="SECRET")
    assert adapter.validate_json(adapter.dump_json(made)) == made
    assert {"url", "table", "schema", "password_variable"} <= adapter.json_schema()["properties"].keys()


def test_pickled_for_a_worker_it_still_opens() -> None:
    database = Database("postgres://veil:pw@h/clinic#t")
    assert pickle.loads(pickle.dumps(database)).secrets() == {"password": "pw"}


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLINIC_PASSWORD", raising=False)
    with refused(InputError, "CLINIC_PASSWORD", "not set"):
        relation_of(Database("postgres://veil@h/clinic#t", password_variable="CLINIC_PASSWORD"))


def test_a_missing_driver_says_what_to_install() -> None:
    pytest.importorskip("ibis")
    if _installed("MySQLdb"):
        pytest.skip("the driver for MySQL is installed")
    with refused(MissingDependencyError, "veil-anonymizer[mysql]"):
        relation_of("mysql://u@localhost/d#t")


def test_without_ibis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    with refused(MissingDependencyError, "veil-anonymizer[engines]"):
        relation_of("duckdb:///clinic.db#t")


def test_veil_does_not_import_ibis() -> None:
    code = (
        "import sys, veil, veil.engines, veil.engines.relation; veil.KAnonymity; print('ibis' in sys.modules)"
    )
    paths = {**os.environ, "PYTHONPATH": str(Path(veil.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=paths)
    assert done.stdout.strip() == "False"


def test_a_database_file_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("duckdb", "sqlite"):
        with refused(InputError, "no such file"):
            relation_of(f"{scheme}://{tmp_path}/none.db#t")
    assert not list(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    Path("clinic.db").write_bytes(b"x")
    with refused(InputError, "duckdb://clinic.db", "two slashes"):
        relation_of("duckdb:///clinic.db#t")


@pytest.mark.filterwarnings("error::ResourceWarning")
@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_another_file_is_not_taken_for_a_database(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("not a database at all\n" * 1000)
    with refused(InputError, f"not a {scheme} file"):
        relation_of(f"{scheme}://{tmp_path}/notes.db#t")
    gc.collect()  # since Python 3.13, a connection that nobody closed is warned of here


@pytest.mark.parametrize("make", ["duckdb", "sqlite"])
def test_tables_that_are_not_there(make: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(make)("CREATE TABLE patients (age INT)", "CREATE TABLE visits (day INT)")
    with refused(InputError, "mean 'patients'", "no table 'patient'"):
        relation_of(f"{url}#patient")
    with refused(InputError, "no table", "'patients', 'visits'"):
        relation_of(url)
    with refused(InputError, "table patients of", "no rows"):
        relation_of(f"{url}#patients")


def test_a_missing_schema_of_duckdb(duckdb: Make) -> None:
    url = duckdb("CREATE SCHEMA ward", "CREATE TABLE ward.patients AS SELECT 1 AS age")
    with refused(InputError, "mean 'ward'", "no schema 'wart'"):
        relation_of(f"{url}#wart.patients")
    assert relation_of(f"{url}#ward.patients") is not None


def test_a_duckdb_file_that_another_process_has_open(duckdb: Make) -> None:
    url = duckdb("CREATE TABLE t AS SELECT 1 AS age")
    code = f"import duckdb; c = duckdb.connect({url.removeprefix('duckdb://')!r}); print('open', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        other.stdout.readline()
        with refused(InputError, "another process"):
            relation_of(f"{url}#t")
        other.communicate("\n")


def test_a_duckdb_file_that_may_only_be_read(duckdb: Make) -> None:
    import duckdb as library

    url = duckdb("CREATE TABLE t AS SELECT 1 AS age")
    with library.connect(url.removeprefix("duckdb://"), read_only=True):
        assert relation_of(f"{url}#t") is not None


def test_what_an_engine_says_names_the_place() -> None:
    import duckdb as library

    with (
        refused(OutputError, "table t of", "duckdb:///x.db", "nowhere"),
        explain_errors("table t of duckdb:///x.db", OutputError),
    ):
        library.connect().execute("SELECT * FROM nowhere")
    with pytest.raises(ZeroDivisionError), explain_errors("somewhere"):
        _ = 1 / 0


def test_what_an_engine_says_is_not_repeated_where_it_holds_the_password() -> None:
    import duckdb as library

    password = "now" + "here"
    with pytest.raises(InputError) as raised, explain_errors("t", secrets={"password": password}):
        library.connect().execute(f"SELECT * FROM {password}")
    assert str(raised.value) == "t: the engine says: CatalogException"
    assert password not in everything_said(raised.value)


@pytest.mark.parametrize("password", ["data", "word", "no", "we/ird #?@:%&=+ é"])
def test_a_wrong_password_is_not_shown(postgres: Postgres, password: str) -> None:
    said = []
    for each in (password, "zq7"):
        with refused(InputError, "user and password") as raised:
            relation_of(postgres.url("t", password=each))
        said.append(everything_said(raised.value))
    # A word such as "data" is part of any message: what matters is that the password makes no difference.
    assert said[0] == said[1]


def test_the_right_password_opens_from_url_variable_and_query(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute("CREATE TABLE opened AS SELECT 1 AS age", "GRANT SELECT ON opened TO veil")
    monkeypatch.setenv("CLINIC_PASSWORD", PASSWORD)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    bare = postgres.url(password=None)
    ways = [
        Database(postgres.url("opened")),
        Database(bare, "opened", password_variable="CLINIC_PASSWORD"),
        Database(f"{bare}?password={quote(PASSWORD, safe='')}", "opened", "public"),
    ]
    for database in ways:
        relation = relation_of(database)
        assert relation is not None
        assert relation.kind == "postgres"
        assert relation.batches(relation.table).read_all().to_pydict() == {"age": [1]}
        assert PASSWORD not in repr(relation) + str(relation.location) + relation.name
    with refused(InputError, "does not accept"):
        relation_of(Database(bare, "opened"))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert relation_of(Database(bare, "opened")) is not None


def test_a_server_that_cannot_be_reached(postgres: Postgres) -> None:
    for wrong in (
        dataclasses.replace(postgres, port=1),
        dataclasses.replace(postgres, host="no-such-host.invalid"),
    ):
        with refused(InputError, "cannot be reached") as raised:
            relation_of(wrong.url("t"))
        assert quote(PASSWORD, safe="") not in everything_said(raised.value)
        assert PASSWORD not in everything_said(raised.value)


def test_a_missing_database(postgres: Postgres) -> None:
    with refused(InputError, "/no_such", "no such database"):
        relation_of(dataclasses.replace(postgres, database="no_such").url("t"))


def test_tables_and_schemas_of_a_server(postgres: Postgres) -> None:
    postgres.execute(
        "CREATE SCHEMA ward",
        "CREATE TABLE ward.patients (age int)",
        "CREATE TABLE ward.secret AS SELECT 1 AS age",
        'CREATE TABLE ward."Odd.Name" AS SELECT 1 AS age',
        "CREATE MATERIALIZED VIEW ward.seen AS SELECT 2 AS age",
        "GRANT USAGE ON SCHEMA ward TO veil",
        'GRANT SELECT ON ward.patients, ward.seen, ward."Odd.Name" TO veil',
    )
    with refused(InputError, "mean 'ward'", "no schema 'warb'"):
        relation_of(postgres.url("warb.patients"))
    with refused(InputError, "no table 'patient'", "'ward'", "mean 'patients'"):
        relation_of(postgres.url("ward.patient"))
    with refused(InputError, "ward.secret of", "no right"):
        relation_of(postgres.url("ward.secret"))
    with refused(InputError, "ward.patients of", "no rows"):
        relation_of(postgres.url("ward.patients"))
    assert relation_of(postgres.url("ward.seen")) is not None
    assert relation_of(Database(postgres.url(), "Odd.Name", "ward")) is not None


def test_a_connection_that_breaks(postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE broken AS SELECT 1 AS age", "GRANT SELECT ON broken TO veil")
    relation = relation_of(postgres.url("broken"))
    assert relation is not None
    postgres.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE usename = 'veil' AND datname = '{postgres.database}'"
    )
    with (
        refused(InputError, "connection", "lost") as raised,
        relation.explain_errors(),
    ):
        relation.batches(relation.table).read_all()
    assert PASSWORD not in everything_said(raised.value)


def test_a_connection_is_closed_when_nobody_needs_it(postgres: Postgres) -> None:
    backend = connect(Database(postgres.url()))
    connection = backend.con
    assert not connection.closed
    del backend
    import gc

    gc.collect()
    assert connection.closed


def _installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None
