"""SQL Server, as far as can be seen without one: what it is told, and how its answers are read.

The statements were compared with Microsoft's reference of Transact-SQL.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import importlib.util
import re
from decimal import Decimal
from typing import Any

import ibis
import pyarrow as pa
import pytest
import sqlglot
from ibis.backends.sql.dialects import MSSQL

from support.refusals import refused
from veil.engines import Database, relation_of
from veil.engines.copy import needs_copy
from veil.engines.database import connect
from veil.engines.dialects import mssql as sqlserver
from veil.engines.dialects.values import fetch_batches
from veil.engines.write.tables import TableTarget
from veil.errors import InputError, MissingDependencyError, OutputError

STAYS = ibis.table(
    {
        "age": "int16",
        "name]": "string",
        "smoker": "boolean",
        "born": "date",
        "seen": "timestamp(3)",
        "left": "timestamp(7)",
        "zone": "timestamp('UTC', 0)",
        "at": "time",
        "fee": "decimal(19, 4)",
        "photo": "binary",
        "number": "uuid",
    },
    name="stays",
    database="dbo",
)


def answered(call: str) -> str:
    declared, answer = (
        "SET NOCOUNT ON; DECLARE @answer INT",
        "SELECT CASE WHEN @answer >= 0 THEN 1 ELSE 0 END",
    )
    return f"{declared}; EXEC @answer = {call}; {answer}"


def words(statement: str) -> str:
    return " ".join(statement.split())


def test_how_rows_are_asked_for() -> None:
    """Truth as a number, for `IIF(smoker <> 0, 1, 0)` of Ibis makes a missing one false; long times as text."""
    assert words(ibis.to_sql(sqlserver.sendable(STAYS), dialect="mssql")) == (
        "SELECT [t0].[age], [t0].[name]]], CAST([t0].[smoker] AS TINYINT) AS [smoker], [t0].[born], [t0].[seen], "
        "CAST([t0].[left] AS VARCHAR(max)) AS [left], CAST([t0].[zone] AS VARCHAR(max)) AS [zone], "
        "CAST([t0].[at] AS VARCHAR(max)) AS [at], [t0].[fee], [t0].[photo], [t0].[number] "
        "FROM [dbo].[stays] AS [t0]"
    )
    counted = STAYS.select("age").aggregate(rows=STAYS.select("age").count())
    assert "COUNT_BIG(*)" in ibis.to_sql(counted, dialect="mssql")


@pytest.mark.parametrize(
    ("fetched", "kind", "expected"),
    [
        ([1, 0, None], pa.bool_(), [True, False, None]),
        (["2024-01-31 23:59:59.1234560", None], pa.timestamp("us"), [dt.datetime(2024, 1, 31, 23, 59, 59, 123456), None]),
        (["9999-12-31 23:59:59.9999990"], pa.timestamp("us"), [dt.datetime.max]),
        (["0001-01-01 00:00:00"], pa.timestamp("us"), [dt.datetime.min]),
        ([dt.datetime(2024, 1, 31, 23, 59, 59, 997000), None], pa.timestamp("us"), [dt.datetime(2024, 1, 31, 23, 59, 59, 997000), None]),
        (["2024-01-31 23:59:59.5000000 +05:30"], pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, 31, 18, 29, 59, 500000, dt.UTC)]),
        (["2024-01-31 23:59:59 -08:00", None], pa.timestamp("us", "UTC"), [dt.datetime(2024, 2, 1, 7, 59, 59, tzinfo=dt.UTC), None]),
        (["23:59:59.1234560", "00:00:00", None], pa.time64("us"), [dt.time(23, 59, 59, 123456), dt.time(0), None]),
        ([Decimal("1.5000"), None], pa.decimal128(19, 4), [Decimal("1.5"), None]),
        (["a", "A", "a ", None], pa.string(), ["a", "A", "a ", None]),
        ([None, None], pa.timestamp("us"), [None, None]),
    ],
)  # fmt: skip
def test_how_answers_are_read(fetched: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    found = _read(fetched, pa.field("x", kind))
    assert found.type == kind
    assert found.to_pylist() == expected


class _Cursor:
    """A cursor with the values of one column."""

    def __init__(self, values: list[Any]) -> None:
        self.records = [(value,) for value in values]

    def fetchmany(self, rows: int) -> list[tuple[Any]]:
        batch, self.records = self.records[:rows], self.records[rows:]
        return batch


def _read(values: list[Any], field: pa.Field) -> pa.Array:
    schema = pa.schema([field])
    (batch,) = fetch_batches(_Cursor(values), schema, 100, sqlserver.array_of, sqlserver.misfit)
    return batch.column(0)


def test_a_seventh_digit_is_not_cut_off() -> None:
    field = pa.field("left", pa.timestamp("us"))
    with refused(InputError, "'left'", "DATETIME2(6)"):
        _read(["2024-01-31 23:59:59.1234567"], field)


def test_columns_of_a_new_table() -> None:
    assert sqlserver.definitions(STAYS.schema()) == (
        "[age] SMALLINT NULL, [name]]] NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL, [smoker] BIT NULL, "
        "[born] DATE NULL, [seen] DATETIME2(6) NULL, [left] DATETIME2(6) NULL, [zone] DATETIMEOFFSET(6) NULL, "
        "[at] TIME(6) NULL, [fee] DECIMAL(19, 4) NULL, [photo] VARBINARY(MAX) NULL, "
        "[number] UNIQUEIDENTIFIER NULL"
    )
    numbers = ibis.schema({"a": "uint8", "b": "uint64", "c": "float32", "d": "float64", "e": "decimal"})
    assert sqlserver.definitions(numbers) == (
        "[a] TINYINT NULL, [b] DECIMAL(20, 0) NULL, [c] REAL NULL, [d] FLOAT(53) NULL, [e] DECIMAL(38, 9) NULL"
    )
    with refused(OutputError, "'tags'", "array<int64>", "SQL Server"):
        sqlserver.definitions(ibis.schema({"tags": "array<int64>"}))


class Listening:
    """Notes what SQL Server would be told. Stands for no answer of it, but that nothing is there yet."""

    name, dialect = "mssql", MSSQL

    def __init__(self) -> None:
        self.said: list[str] = []
        self.con = self
        self.there: list[str] = []

    def cursor(self) -> Listening:
        return self

    def execute(self, statement: str) -> None:
        self.said.append(statement)

    def executemany(self, statement: str, values: list[tuple[Any, ...]]) -> None:
        self.said += [statement, repr(values)]

    def raw_sql(self, statement: str) -> Listening:
        self.said.append(statement)
        return self

    def fetchall(self) -> list[tuple[int]]:
        return [(1,)]

    def nextset(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def list_tables(self, **place: str) -> list[str]:
        return self.there


def test_what_is_said_when_a_release_is_written() -> None:
    held = relation_of(ibis.memtable({"word": ["a", "it's"], "n": [1, None]}))
    assert held is not None
    server, database = Listening(), Database("mssql://veil@host/clinic#dbo.re]lease")
    target = TableTarget(database, server, held, "0123456789ab", True)
    with target.lock():
        target.begin("the key", ["everything"], held.table)
        target.append("everything", held.table)
        server.there = ["re]lease"]
        target.commit()
    text = "NVARCHAR(MAX) COLLATE Latin1_General_100_BIN2 NULL"
    lock = "@Resource = N'veil-MARK', @LockOwner = N'Session'"
    said = [re.sub("veil-[0-9a-f]{40}", "veil-MARK", each) for each in server.said]
    assert said == [
        answered(f"sp_getapplock {lock}, @LockMode = N'Exclusive', @LockTimeout = 0"),
        "DROP TABLE IF EXISTS [dbo].[re]]lease__veil_0123456789ab]",
        "DROP TABLE IF EXISTS [dbo].[re]]lease__veil_0123456789ab_done]",
        "BEGIN TRANSACTION",
        f"CREATE TABLE [dbo].[re]]lease__veil_0123456789ab] ([word] {text}, [n] FLOAT(53) NULL)",
        f"CREATE TABLE [dbo].[re]]lease__veil_0123456789ab_done] ([label] {text})",
        "INSERT INTO [dbo].[re]]lease__veil_0123456789ab_done] VALUES ('the key')",
        "COMMIT",
        "BEGIN TRANSACTION",
        "INSERT INTO [dbo].[re]]lease__veil_0123456789ab] ([word], [n]) VALUES (?, ?)",
        "[('a', 1.0), (\"it's\", None)]",
        "INSERT INTO [dbo].[re]]lease__veil_0123456789ab_done] VALUES ('everything')",
        "COMMIT",
        "BEGIN TRANSACTION",
        "DROP TABLE [dbo].[re]]lease]",
        "EXEC sp_rename N'[dbo].[re]]lease__veil_0123456789ab]', N're]lease'",
        "DROP TABLE [dbo].[re]]lease__veil_0123456789ab_done]",
        "COMMIT",
        answered(f"sp_releaseapplock {lock}"),
    ]
    for statement in said:
        if statement.startswith(("CREATE", "DROP", "INSERT")):
            assert sqlglot.parse_one(statement, read="tsql").sql("tsql")


def test_it_is_never_asked_to_compare() -> None:
    held = relation_of(ibis.memtable({"n": [1]}))
    assert held is not None
    assert not needs_copy(held)
    assert needs_copy(dataclasses.replace(held, backend=Listening()))  # type: ignore[arg-type]


def test_the_driver() -> None:
    assert sqlserver.odbc_driver(["SQLite3", "FreeTDS"]) == "FreeTDS"
    newest = [f"ODBC Driver {number} for SQL Server" for number in (9, 18, 17)]
    assert sqlserver.odbc_driver([*newest, "FreeTDS"]) == newest[1]
    with refused(MissingDependencyError, "tdsodbc", "driver=NAME"):
        sqlserver.odbc_driver(["SQLite3"])


def test_a_server_that_is_not_there() -> None:
    if importlib.util.find_spec("pyodbc") is None:
        pytest.skip("needs pyodbc: pip install 'veil-anonymizer[mssql]'")
    import pyodbc

    drivers = [each for each in pyodbc.drivers() if each == "FreeTDS" or "SQL Server" in each]
    for driver in drivers or ["none"]:
        told = "server cannot be reached" if drivers else "no ODBC driver of this name"
        url = f"mssql://veil:s3cret@127.0.0.1:1/clinic?timeout=3&driver={driver.replace(' ', '%20')}#stays"
        with pytest.raises(InputError, match=told) as caught:
            connect(Database(url))
        assert "s3cret" not in str(caught.value)
    with contextlib.suppress(InputError, MissingDependencyError):
        connect(Database("mssql://veil:s3cret@127.0.0.1:1/clinic#stays"))
    with refused(InputError, "`timeout`", "'long'", "seconds"):
        connect(Database("mssql://veil:s3cret@127.0.0.1:1/clinic?timeout=long#stays"))
