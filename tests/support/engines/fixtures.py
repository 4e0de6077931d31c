"""Engines to test with: DuckDB and SQLite in files, PostgreSQL, MariaDB and Spark where they are installed.

A server is started at most once a process, and with several workers in one of them only: all tests that use it
come first, `--dist worksteal` hands each worker one stretch of the tests, and what is stolen is taken from the end.
"""

from __future__ import annotations

import datetime as dt
import gc
import importlib.util
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.engines import servers
from support.engines.answers import Holder
from support.engines.people import without_nan
from veil.engines.database import Database, connect
from veil.engines.dialects import dialect_of

# What pyspark leaves open or does with pandas is not ours to correct.
_SPARK_NOISE = ("unclosed:ResourceWarning", "The copy keyword is deprecated")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of servers first; a test asks for one by a fixture or by a parameter of its name."""
    rank = {item: _rank(item) for item in items}
    items.sort(key=rank.__getitem__)
    for item in items:
        if rank[item] == 0:
            for noise in _SPARK_NOISE:
                item.add_marker(pytest.mark.filterwarnings(f"ignore:{noise}"))


def _rank(item: pytest.Item) -> int:
    parameters = getattr(item, "callspec", None)
    asked = [*getattr(item, "fixturenames", ()), *(parameters.params.values() if parameters else ())]
    names = {each.rpartition("_")[2] for each in asked if isinstance(each, str)}
    return next((rank for rank, each in enumerate(("spark", "postgres", "mysql")) if each in names), 3)


@pytest.fixture(scope="session")
def _postgres_server() -> Iterator[servers.Postgres]:
    programs = servers.postgres_programs()
    if programs is None:
        pytest.skip("needs PostgreSQL's server: make servers, or apt install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("needs psycopg: pip install 'veil-anonymizer[postgres]'")
    with servers.postgres_server(programs) as server:
        yield server


@pytest.fixture(scope="session")
def postgres(_postgres_server: servers.Postgres) -> servers.Postgres:
    """A database of a real PostgreSQL server; this worker's own."""
    return servers.new_database(_postgres_server)


@pytest.fixture(scope="session")
def mysql() -> Iterator[servers.MySQL]:
    """A database of a real MariaDB server."""
    programs = servers.mysql_programs()
    if programs is None:
        pytest.skip("needs MariaDB's server: make servers, or apt install mariadb-server")
    if importlib.util.find_spec("MySQLdb") is None:
        pytest.skip("needs mysqlclient: make servers, or pip install 'veil-anonymizer[mysql]'")
    with servers.mysql_server(programs) as server:
        yield server


@pytest.fixture(scope="session")
def _spark_session() -> Iterator[Any]:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("needs pyspark: make servers, or pip install 'veil-anonymizer[spark]'")
    if not servers.has_java():
        pytest.skip("needs Java: make servers, or apt install default-jre-headless")
    with warnings.catch_warnings(action="ignore"):
        session = servers.spark_session()
    yield session
    with warnings.catch_warnings(action="ignore"):
        session.stop()
        gc.collect()


@pytest.fixture
def spark(_spark_session: Any) -> Iterator[Any]:
    """A Spark session in this process."""
    yield _spark_session
    gc.collect()  # while its warnings are still filtered


@pytest.fixture
def duckdb(tmp_path: Path) -> Callable[..., str]:
    """Make a DuckDB file by statements; return its URL."""

    def make(*statements: str, name: str = "clinic.db") -> str:
        import duckdb

        with duckdb.connect(str(tmp_path / name)) as connection:
            for statement in statements:
                connection.execute(statement)
        return f"duckdb://{tmp_path / name}"

    return make


@pytest.fixture
def sqlite(tmp_path: Path) -> Callable[..., str]:
    """Make an SQLite file by statements; return its URL."""

    def make(*statements: str, name: str = "clinic.sqlite") -> str:
        connection = sqlite3.connect(tmp_path / name)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return f"sqlite://{tmp_path / name}"

    return make


# --- where a table can be ---------------------------------------------------------------------------


@pytest.fixture
def in_duckdb() -> Holder:
    import ibis

    connection = ibis.duckdb.connect()
    return lambda table: connection.create_table("people", table, overwrite=True)


@pytest.fixture
def in_a_folder(tmp_path: Path) -> Holder:
    def hold(table: pa.Table) -> str:
        folder = tmp_path / "people"
        folder.mkdir(exist_ok=True)
        for number, start in enumerate(range(0, table.num_rows, 7)):
            pq.write_table(table.slice(start, 7), folder / f"{number}.parquet")
        return str(folder)

    return hold


_SQLITE_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "REAL",
    pa.string(): "TEXT",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.decimal128(8, 2): "DECIMAL(8, 2)",
}


@pytest.fixture
def in_sqlite(tmp_path: Path) -> Holder:
    def hold(table: pa.Table) -> str:
        columns = ", ".join(f'"{each.name}" {_SQLITE_TYPES[each.type]}' for each in table.schema)
        cells = [
            [str(cell) if isinstance(cell, dt.date | Decimal) else cell for cell in column.to_pylist()]
            for column in table.columns
        ]
        connection = sqlite3.connect(tmp_path / "people.sqlite")
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute(f"CREATE TABLE people ({columns})")
        slots = ", ".join("?" * table.num_columns)
        connection.executemany(f"INSERT INTO people VALUES ({slots})", zip(*cells, strict=True))
        connection.commit()
        connection.close()
        return f"sqlite://{tmp_path}/people.sqlite#people"

    return hold


@pytest.fixture
def in_postgres(postgres: Any) -> Iterator[Holder]:
    import ibis

    connection = ibis.connect(postgres.url())
    yield lambda table: connection.create_table("people", table, overwrite=True)
    connection.disconnect()


@pytest.fixture
def in_mysql(mysql: servers.MySQL) -> Iterator[Holder]:
    """The table as Ibis knows it, in a database whose own character set could not hold it."""
    connection: Any = connect(Database(mysql.url()))
    ours: Any = dialect_of(connection)

    def hold(table: pa.Table) -> Any:
        import ibis

        schema = ibis.schema(table.schema)
        mysql.execute("DROP TABLE IF EXISTS people", f"CREATE TABLE people ({ours.definitions(schema)})")
        # Not-a-number is not known there.
        names = [f"`{name}`" for name in table.column_names]
        ours.load("people", names, table.from_pylist(without_nan(table), table.schema).to_reader())
        return ours.table("people", schema)

    yield hold
    connection.disconnect()


@pytest.fixture
def in_spark(spark: Any) -> Holder:
    """The table as a Spark DataFrame, times without a zone as Spark's."""

    def hold(table: pa.Table) -> Any:
        frame = spark.createDataFrame(table)
        plain = [field.name for field in table.schema if field.type == pa.timestamp("us")]
        return frame.withColumns({name: frame[name].cast("timestamp_ntz") for name in plain})

    return hold
