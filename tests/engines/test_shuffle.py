"""Rows leave an engine in an order that tells nothing: read by a recipient who knows how the input was sorted."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.engines.dialects import collect
from veil.engines.relation import relation_of
from veil.engines.shuffle import shuffled
from veil.errors import PlanError

ROWS = 3000
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(10, 20)},
    "models": m.KAnonymity(3),
    "others": "keep",
    "suppression_limit": 0.1,
    "progress": False,
}


def admissions() -> pa.Table:
    """Patients by date of admission, which nobody shall learn."""
    return pa.table({"age": [20 + n % 40 for n in range(ROWS)], "place": list(range(ROWS))})


def inversions(places: list[int]) -> float:
    """The share of neighbours that stand in the order of the input: one half if it tells nothing."""
    return sum(a < b for a, b in itertools.pairwise(places)) / (len(places) - 1)


def is_random(places: list[int]) -> bool:
    half = ROWS // 2
    early = sum(place < half for place in places[:half]) / half  # of a half, one half
    return sorted(places) == list(range(ROWS)) and 0.4 < inversions(places) < 0.6 and 0.4 < early < 0.6


def test_the_measure_sees_the_order_of_the_input_and_of_pieces() -> None:
    assert not is_random(list(range(ROWS)))
    halves = [*collect_shuffled(range(ROWS // 2)), *collect_shuffled(range(ROWS // 2, ROWS))]
    assert not is_random(halves)


def collect_shuffled(places: Any) -> list[int]:
    table = shuffled(ibis.memtable({"place": list(places)}))
    return table.to_pyarrow()["place"].to_pylist()


def people() -> Any:
    return ibis.duckdb.connect().create_table("people", admissions())


@pytest.mark.parametrize("chunk_rows", [500, 10_000])
@pytest.mark.parametrize("target", ["release.parquet", "release.csv", "release"])
def test_files(tmp_path: Path, target: str, chunk_rows: int) -> None:
    release = veil.anonymize(people(), **PLAN)
    release.save(tmp_path / target, chunk_rows=chunk_rows)
    files = sorted((tmp_path / target).glob("*")) if target == "release" else [tmp_path / target]
    if target == "release.csv":
        lines = files[0].read_text().splitlines()[1:]
        places = [int(line.split(",")[1]) for line in lines]
    else:
        assert len(files) == (ROWS // chunk_rows or 1) or target != "release"
        places = [place for file in files for place in pq.read_table(file)["place"].to_pylist()]
    assert is_random(places)


@pytest.mark.parametrize("chunk_rows", [500, 10_000])
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_tables_as_they_lie(tmp_path: Path, engine: str, chunk_rows: int) -> None:
    release = veil.anonymize(people(), **PLAN)
    release.save(f"{engine}://{tmp_path}/release.db#shown", chunk_rows=chunk_rows)
    connection = getattr(ibis, engine).connect(tmp_path / "release.db")
    rows = connection.raw_sql("SELECT place FROM shown ORDER BY rowid").fetchall()
    connection.disconnect()
    assert is_random([place for (place,) in rows])


@pytest.mark.parametrize("wiped", [True, False])
def test_nothing_of_what_was_staged_is_left_in_a_file_of_duckdb(
    tmp_path: Path, wiped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipient who reads the bytes of the file: pieces were staged there as they came, and removed."""
    if not wiped:
        monkeypatch.setattr("veil.engines.dialects.duckdb.DuckDB.wipe", lambda self, released: None)
    rows = 250_000
    connection = ibis.duckdb.connect(tmp_path / "release.db")
    for setting in ("force_compression = 'uncompressed'", "checkpoint_threshold = '1KB'"):
        connection.raw_sql(f"SET {setting}")
    connection.raw_sql("ATTACH ':memory:' AS source")
    connection.raw_sql(
        "CREATE TABLE source.people AS SELECT 20 + i % 40 AS age, 'place' || lpad(i::VARCHAR, 9, '0') AS place "
        f"FROM range({rows}) AS made(i)"
    )
    people = connection.table("people", database=("source", "main"))
    veil.anonymize(people, **PLAN).save(f"duckdb://{tmp_path}/release.db#shown", chunk_rows=100_000)
    connection.disconnect()
    found = [int(each) for each in re.findall(rb"place(\d{9})", (tmp_path / "release.db").read_bytes())]
    assert (sum(abs(a - b) == 1 for a, b in itertools.pairwise(found)) > rows / 10) is not wiped
    assert (len(found) < 1.01 * rows) is wiped


@pytest.mark.parametrize("wiped", [True, False])
def test_nothing_of_what_was_staged_is_left_in_a_file_of_sqlite(
    tmp_path: Path, wiped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_to = f"PRAGMA secure_delete = {'ON' if wiped else 'OFF'}"
    if not wiped:  # some libraries are built with it
        monkeypatch.setattr(
            "veil.engines.dialects.sqlite.SQLite.remove_for_good", lambda self: self.run(set_to)
        )
    table = pa.table(
        {"age": [20 + n % 40 for n in range(ROWS)], "place": [f"place{n:09}" for n in range(ROWS)]}
    )
    people = ibis.duckdb.connect().create_table("people", table)
    veil.anonymize(people, **PLAN).save(f"sqlite://{tmp_path}/release.db#shown", chunk_rows=500)
    found = re.findall(rb"place(\d{9})", (tmp_path / "release.db").read_bytes())
    assert (len(found) == ROWS) is wiped


@pytest.mark.parametrize("chunk_rows", [500, 10_000])
def test_tables_as_they_lie_on_postgres(postgres: Any, chunk_rows: int) -> None:
    url = postgres.url()
    release = veil.anonymize(people(), **PLAN)
    release.save(f"{url}#mixed{chunk_rows}", chunk_rows=chunk_rows)
    connection = ibis.connect(url)
    rows = connection.raw_sql(f"SELECT place FROM mixed{chunk_rows} ORDER BY ctid").fetchall()
    connection.disconnect()
    assert is_random([place for (place,) in rows])


@pytest.mark.parametrize("chunk_rows", [500, 10_000])
def test_tables_as_they_lie_on_mysql(mysql: Any, chunk_rows: int) -> None:
    """Without a primary key, InnoDB keeps rows as they came in."""
    url = mysql.url(f"mixed{chunk_rows}")
    veil.anonymize(people(), **PLAN).save(url, chunk_rows=chunk_rows)
    relation = relation_of(url)
    assert relation is not None
    assert is_random(relation.batches(relation.table).read_all()["place"].to_pylist())


def test_rows_of_mysql_keep_their_order_in_files(mysql: Any, tmp_path: Path) -> None:
    """A subquery loses the order there, and what is sent is cast outside of it."""
    veil.anonymize(people(), **PLAN, order="input").save(mysql.url("sorted"))
    release = veil.anonymize(mysql.url("sorted"), **PLAN)
    release.save(tmp_path / "release.parquet")
    assert is_random(pq.read_table(tmp_path / "release.parquet")["place"].to_pylist())


def test_spark(spark: Any, tmp_path: Path) -> None:
    release = veil.anonymize(spark.createDataFrame(admissions()), **PLAN)
    assert is_random(release.table.toArrow()["place"].to_pylist())
    release.save(tmp_path / "release")
    files = sorted((tmp_path / "release").glob("*.parquet"))
    assert is_random([place for file in files for place in pq.read_table(file)["place"].to_pylist()])


def test_expressions_and_masks() -> None:
    for release in (
        veil.anonymize(people(), **PLAN),
        veil.anonymize(people(), **PLAN, parts=20),
        veil.mask(people(), veil.masking.Mondrian({"age": None}, m.KAnonymity(3)), progress=False),
    ):
        expression = release.table
        assert is_random(collect(expression._find_backend(), expression)["place"].to_pylist())


def test_parts_are_shuffled_as_a_whole(tmp_path: Path) -> None:
    release = veil.anonymize(people(), **PLAN, parts=20)
    assert release.facts["parts"] > 1
    release.save(tmp_path / "release.parquet")
    ages = pq.read_table(tmp_path / "release.parquet")["age"].to_pylist()
    changes = sum(a != b for a, b in itertools.pairwise(ages))
    assert changes > ROWS / 4  # one part after the other, there would be hardly any


def test_the_order_of_the_input_if_asked(tmp_path: Path) -> None:
    release = veil.anonymize(people(), **PLAN, order="input")
    release.save(tmp_path / "release.parquet", chunk_rows=500)
    assert pq.read_table(tmp_path / "release.parquet")["place"].to_pylist() == list(range(ROWS))


def test_there_is_no_key() -> None:
    release = veil.anonymize(people(), **PLAN)
    with refused(PlanError, "no numbers"):
        release.origins  # noqa: B018
