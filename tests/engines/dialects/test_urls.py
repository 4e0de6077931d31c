"""URLs of databases: shown without password, and explained if they are none."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from support.refusals import refused
from veil.engines import Database, relation_of
from veil.engines.database import database_of
from veil.errors import ParameterError

Make = Callable[..., str]


def everything_said(error: BaseException) -> str:
    """What a user or a log can see of an error."""
    return "".join([str(error), repr(error), *traceback.format_exception(error)])


@pytest.mark.parametrize(
    ("url", "shown", "table", "schema"),
    [
        ("postgres://u:pw@h:5433/db#s.t", "postgres://u@h:5433/db", "t", "s"),
        ("postgresql://u@h/db#t", "postgresql://u@h/db", "t", None),
        ("postgres://u:pw@[::1]:5433/db#t", "postgres://u@[::1]:5433/db", "t", None),
        ("postgres://u@/db?host=%2Ftmp&password=pw#t", "postgres://u@/db?host=%2Ftmp", "t", None),
        ("mysql://u:pw@h/db#t", "mysql://u@h/db", "t", None),
        ("mssql://u:pw@h/db#dbo.t", "mssql://u@h/db", "t", "dbo"),
        ("duckdb:///data/clinic.db#main.t", "duckdb:///data/clinic.db", "t", "main"),
        ("sqlite://clinic@home.db#a.b", "sqlite://clinic@home.db", "a.b", None),
        ("spark:#sales.t", "spark:", "t", "sales"),
        ("POSTGRES://u:pw@h/db#my%20table", "postgres://u@h/db", "my table", None),
    ],
)
def test_a_url_is_shown_without_password_and_table(
    url: str, shown: str, table: str, schema: str | None
) -> None:
    database = Database(url)
    assert (database.url, database.table, database.schema) == (shown, table, schema)
    assert "pw" not in repr(database) + str(database)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgers://u:pw@h/d#t", "not with 'postgers'. Did you mean 'postgres'"),
        ("s3://bucket/key", "not with 's3'. Copy the files to this machine first"),
        ("duckdb://", "should name a file"),
        ("duckdb://:memory:#t", "should name a file"),
        ("spark://host:7077#t", "spark:#table, a table of the running session"),
    ],
)
def test_a_url_that_is_none_is_explained(url: str, message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        relation_of(url)
    assert message in str(raised.value)
    assert "pw" not in everything_said(raised.value)


def test_the_table_is_named_once() -> None:
    with refused(ParameterError, "leave one out"):
        Database("duckdb:///clinic.db#t", table="u")


@pytest.mark.parametrize("path", ["patients.csv", "C:/x.csv", "a:b", "C:\\x.csv", "folder/*.parquet"])
def test_paths_are_no_urls(path: str) -> None:
    assert database_of(path) is None


def test_a_relative_path_has_two_slashes(
    duckdb: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb("CREATE TABLE t AS SELECT 1 AS age")
    monkeypatch.chdir(tmp_path)
    relation = relation_of("duckdb://clinic.db#t")
    assert relation is not None
    assert relation.batches(relation.table).read_all().to_pydict() == {"age": [1]}
