"""One meaning of a value: random plans on random tables of every type, released in memory and by every engine."""

from __future__ import annotations

import datetime as dt
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support import amount
from support.engines.answers import Holder, shown
from support.engines.values import masks, plans, tables, typed_rows
from veil import hierarchies as h
from veil import tables as files
from veil.engines.dialects.base import ENGINES
from veil.errors import VeilError
from veil.masking import Mondrian
from veil.plan.plan import Plan

SLOW = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large)


def few(usual: int) -> settings:
    """So many examples, or as many as are asked for."""
    return settings(max_examples=amount.tables(usual), deadline=None, suppress_health_check=SLOW)


IN_SQLITE = {
    pa.int64(): "BIGINT",
    pa.float64(): "REAL",
    pa.string(): "TEXT",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.decimal128(12, 2): "DECIMAL(12, 2)",
}
STORED = ("whole", "real", "flag", "day", "time", "text", "code", "money")


def facts(release: Any) -> tuple[Any, ...]:
    masked = not isinstance(release.plan, Plan)
    return (
        None if masked else (dict(release.transformation), release.score),
        release.records,
        release.suppressed,
        release.classes,
        release.risk(),
        release.verification.holds,
    )


def carried_out(source: Any, work: dict[str, Any] | Mondrian, **more: Any) -> Any:
    """The release of a plan or of a mask."""
    if isinstance(work, Mondrian):
        return veil.mask(source, work, person=None, progress=False, **more)
    return veil.anonymize(source, **work, **more)


def works(table: pa.Table) -> st.SearchStrategy[Any]:
    """Plans, and once in a while a mask."""
    return st.one_of(plans(table), plans(table), plans(table), masks(table))


def saved(source: Any, work: Any, target: Path, **more: Any) -> Any:
    """What comes of it: the facts and the written rows with their types, or the kind of refusal."""
    try:
        release = carried_out(source, work, **more)
        release.save(target)
    except VeilError as error:
        return type(error).__name__
    if target.suffix == ".csv":
        return facts(release), Counter(target.read_bytes().splitlines())
    table = pq.read_table(target)
    categories = {field.name for field in table.schema if pa.types.is_dictionary(field.type)}
    return facts(release), typed_rows(table), categories


def released(source: Any, work: Any) -> Any:
    """The same of the released frame, instants in UTC, as databases show them."""
    try:
        release = carried_out(source, work)
        return facts(release), typed_rows(in_utc(shown(release)))
    except VeilError as error:
        return type(error).__name__


def in_utc(table: pa.Table) -> pa.Table:
    """Instants as databases have them."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(number, field.name, table[field.name].cast(pa.timestamp("us", "UTC")))
    return table


def test_days_of_a_zone_are_the_same_in_memory_and_in_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred and twenty visits around midnight in Vienna: thirty on the first day, ninety on the second."""
    start = dt.datetime(2024, 7, 1, 19, 0, tzinfo=dt.UTC)
    times = [start + dt.timedelta(minutes=6 * number) for number in range(120)]
    table = pa.table({"seen": pa.array(times, pa.timestamp("us", "Europe/Vienna")), "ward": ["a"] * 120})
    pq.write_table(table, tmp_path / "visits.parquet")
    options: dict[str, Any] = {
        "quasi_identifiers": {"seen": h.dates("day")},
        "others": "keep",
        "models": veil.KAnonymity(3),
    }
    rows = {}
    for engine in ("memory", "duckdb"):
        release = veil.anonymize(tmp_path / "visits.parquet", **options, engine=engine)
        release.save(tmp_path / f"{engine}.parquet")
        rows[engine] = Counter(pq.read_table(tmp_path / f"{engine}.parquet")["seen"].to_pylist())
    assert rows["memory"] == rows["duckdb"] == {"2024-07-01": 30, "2024-07-02": 90}
    # An engine that counts days in UTC is noticed by what random plans compare.
    monkeypatch.setattr("veil.engines.relation.restored", lambda kind, memory: kind)
    memory, planted = (
        saved(tmp_path / "visits.parquet", options, tmp_path / f"new-{engine}.parquet", engine=engine)
        for engine in ("memory", "duckdb")
    )
    assert memory != planted


def test_rows_that_only_a_kept_column_tells_apart_are_marked_as_in_memory(tmp_path: Path) -> None:
    """No quasi-identifier shows anything, and of the other columns one row shows nothing either."""
    table = pa.table({"age": pa.nulls(24, pa.int64()), "ward": [*range(23), None]})
    pq.write_table(table, tmp_path / "people.parquet")
    options: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10)},
        "others": "keep",
        "models": veil.KAnonymity(2),
    }
    memory, duckdb = (
        saved(tmp_path / "people.parquet", options, tmp_path / f"{engine}.parquet", engine=engine)
        for engine in ("memory", "duckdb")
    )
    assert duckdb == memory
    assert "suppressed" in pq.read_schema(tmp_path / "duckdb.parquet").names


def test_categories_are_categories_again(tmp_path: Path) -> None:
    """Also in several pieces and in a folder; labels are text."""
    kinds = pa.array(["a", "b", None] * 8).dictionary_encode()
    pq.write_table(pa.table({"kind": kinds, "sex": kinds}), tmp_path / "people.parquet")
    options: dict[str, Any] = {
        "quasi_identifiers": {"sex": h.suppression()},
        "others": "keep",
        "models": veil.KAnonymity(2),
    }
    release = veil.anonymize(tmp_path / "people.parquet", **options, engine="duckdb")
    release.save(tmp_path / "one.parquet")
    release.save(tmp_path / "many", chunk_rows=5)
    for written in (pq.read_table(tmp_path / "one.parquet"), pq.read_table(tmp_path / "many")):
        assert [str(each.type).partition("<")[0] for each in written.schema] == ["dictionary", "string"]
        assert Counter(written["kind"].to_pylist()) == {"a": 8, "b": 8, None: 8}


def test_floats_are_floats_in_spark(in_spark: Holder) -> None:
    table = pa.table({"narrow": pa.array([0.0, -0.0, 0.5, None] * 4, pa.float32())})
    plan: dict[str, Any] = {"quasi_identifiers": {"narrow": h.suppression()}, "models": veil.KAnonymity(2)}
    means = Mondrian({"narrow": None}, veil.KAnonymity(16), labels="means")
    for work in (plan, means):
        assert released(in_spark(table), work) == released(table, work)


@few(12)
@given(st.data())
def test_parquet_files(data: st.DataObject) -> None:
    table = data.draw(tables())
    work = data.draw(works(table))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.parquet")
        pq.write_table(table, path)
        memory, duckdb = (
            saved(path, work, Path(folder, f"{engine}.parquet"), engine=engine)
            for engine in ("memory", "duckdb")
        )
    assert duckdb == memory


@few(12)
@given(st.data())
def test_csv_files(data: st.DataObject) -> None:
    table = data.draw(tables())
    work = data.draw(works(table))
    ending = data.draw(st.sampled_from([".csv", ".parquet"]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.csv")
        files.write(table, path)
        memory, duckdb = (
            saved(path, work, Path(folder, f"{engine}{ending}"), engine=engine)
            for engine in ("memory", "duckdb")
        )
    assert duckdb == memory


@few(12)
@given(st.data())
def test_tables_in_duckdb(data: st.DataObject) -> None:
    import ibis

    table = in_utc(data.draw(tables()))
    work = data.draw(works(table))
    held = ibis.duckdb.connect().create_table("people", table)
    assert released(held, work) == released(table, work)


@few(5)
@given(st.data())
def test_tables_in_postgres(in_postgres: Holder, data: st.DataObject) -> None:
    table = in_utc(data.draw(tables((*STORED, "vienna"))))
    work = data.draw(works(table))
    assert released(in_postgres(table), work) == released(table, work)


@few(5)
@given(st.data())
def test_tables_in_mysql(in_mysql: Holder, data: st.DataObject) -> None:
    table = data.draw(tables(STORED))
    work = data.draw(works(table))
    assert released(in_mysql(table), work) == released(table, work)


@few(3)
@given(st.data())
def test_tables_in_spark(in_spark: Holder, data: st.DataObject) -> None:
    table = in_utc(data.draw(tables((*STORED, "narrow", "exact", "vienna"))))
    work = data.draw(works(table))
    assert released(in_spark(table), work) == released(table, work)


@few(12)
@given(st.data())
def test_tables_in_sqlite(data: st.DataObject) -> None:
    table = data.draw(tables(STORED))
    work = data.draw(works(table))
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder, "people.sqlite"))
        columns = ", ".join(f'"{each.name}" {IN_SQLITE[each.type]}' for each in table.schema)
        connection.execute(f"CREATE TABLE people ({columns})")
        spelled = [
            [cell if isinstance(cell, int | float | str | None) else str(cell) for cell in column.to_pylist()]
            for column in table.columns
        ]
        slots = ", ".join("?" * table.num_columns)
        connection.executemany(f"INSERT INTO people VALUES ({slots})", zip(*spelled, strict=True))
        connection.commit()
        connection.close()
        assert released(f"sqlite://{folder}/people.sqlite#people", work) == released(table, work)


def test_every_engine_is_compared() -> None:
    """Those that decide something about rows; from others, rows are copied to DuckDB first."""
    compared = {
        name.removeprefix("test_tables_in_") for name in globals() if name.startswith("test_tables_in_")
    }
    deciding = [each for each in ENGINES.values() if each.copying != "always" and "veil." in each.__module__]
    assert deciding
    for each in deciding:
        assert compared & {each.name, *each.schemes}, f"no random tables in {each.name}"
