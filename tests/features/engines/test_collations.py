"""Texts that an engine takes for equal are different texts all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import veil
from support.engines.people import records
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.engines import Settings, relation_of
from veil.engines.condense import condense
from veil.errors import InputError, VeilError, VerificationError

WORDS = ["a", "A", "a", "b", "B", "á", "A", "b", None]
OPTIONS: dict[str, Any] = {
    "quasi_identifiers": {"word": h.suppression()},
    "identifying": {"name": "mask"},
    "models": m.KAnonymity(2),
    "suppression_limit": 1.0,
    "maximum_levels": {"word": 0},
    "progress": False,
}


def words() -> pa.Table:
    return pa.table({"word": WORDS, "name": [f"person {number}" for number in range(len(WORDS))]})


def inserts(table: str) -> list[str]:
    rows = [("NULL" if word is None else f"'{word}'", f"'{name}'") for word, name in records(words())]
    return [f"INSERT INTO {table} VALUES ({word}, {name})" for word, name in rows]


def check(source: Any, target: str | Path, **options: Any) -> None:
    """Condensed, released and written as in memory, where nothing has a collation."""
    memory = veil.anonymize(words(), **OPTIONS)
    held = veil.anonymize(source, **OPTIONS, **options)
    assert (held.classes, held.suppressed) == (memory.classes, memory.suppressed)
    held.save(target)
    written = relation_of(target, engine="duckdb")
    assert written is not None
    found = written.batches(written.table).read_all()
    assert records(found.select(memory.arrow.column_names)) == records(memory.arrow)


@pytest.fixture
def collated(postgres: Any) -> Any:
    postgres.execute(
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE COLLATION IF NOT EXISTS loose "
        "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    )
    yield postgres
    # Other tests see an ordinary database again.
    postgres.execute("DROP EXTENSION citext CASCADE", "DROP COLLATION loose CASCADE")


@pytest.mark.parametrize(
    "kind", ["citext", "text COLLATE loose", "varchar(9) COLLATE loose", "char(1) COLLATE loose"]
)
def test_postgres(collated: Any, tmp_path: Path, kind: str) -> None:
    collated.execute(
        "DROP TABLE IF EXISTS words, shown",
        f"CREATE TABLE words (word {kind}, name text)",
        "GRANT ALL ON words TO veil",
        "GRANT ALL ON SCHEMA public TO veil",
        *inserts("words"),
    )
    with collated.connect() as connection:
        merged = connection.execute("SELECT count(*) FROM words GROUP BY word").fetchall()
    assert len(merged) < 6  # or this test would show nothing
    check(collated.url("words"), tmp_path / "shown.parquet")
    check(collated.url("words"), collated.url("shown"))


def test_an_enumeration_of_postgres(postgres: Any, tmp_path: Path) -> None:
    """Whose values PostgreSQL compares with no text."""
    postgres.execute(
        "DROP TABLE IF EXISTS words",
        "DROP TYPE IF EXISTS letter",
        "CREATE TYPE letter AS ENUM ('b', 'a', 'A', 'B', 'á')",
        "CREATE TABLE words (word letter, name text)",
        "GRANT ALL ON words TO veil",
        *inserts("words"),
    )
    check(postgres.url("words"), tmp_path / "shown.parquet")


@pytest.mark.parametrize("where", ["column", "default", "view"])
def test_duckdb(duckdb: Callable[..., str], tmp_path: Path, where: str) -> None:
    import ibis

    collation = " COLLATE NOCASE" if where == "column" else ""
    file = duckdb(f"CREATE TABLE words (word VARCHAR{collation}, name VARCHAR)", *inserts("words"))
    if where == "column":
        check(f"{file}#words", tmp_path / "shown.parquet")
        return
    connection = ibis.duckdb.connect(file.removeprefix("duckdb://"))
    if where == "default":
        connection.raw_sql("SET default_collation = 'nocase'")
        source = connection.table("words")
    else:
        connection.raw_sql("CREATE VIEW seen AS SELECT word COLLATE NOCASE AS word, name FROM words")
        source = connection.table("seen")
    merged = connection.raw_sql(f"SELECT word FROM {source.get_name()} GROUP BY word").fetchall()
    assert len(merged) < 6
    check(source, tmp_path / "shown.parquet")
    connection.disconnect()


def test_spark(spark: Any, tmp_path: Path) -> None:
    rows = ", ".join("(" + each.partition("VALUES (")[2] for each in inserts("words"))
    frame = spark.sql(f"SELECT word COLLATE UNICODE_CI AS word, name FROM VALUES {rows} AS words(word, name)")
    assert frame.groupBy("word").count().count() < 6
    check(frame, tmp_path / "shown")


@pytest.mark.parametrize("kind", ["citext", "text COLLATE loose"])
def test_brought_over_from_postgres(collated: Any, tmp_path: Path, kind: str) -> None:
    """As from a server that nobody could make tell texts apart."""
    collated.execute(
        "DROP TABLE IF EXISTS words, shown",
        f"CREATE TABLE words (word {kind}, name text)",
        "GRANT ALL ON words TO veil",
        "GRANT ALL ON SCHEMA public TO veil",
        *inserts("words"),
    )
    for target in (tmp_path / "shown.parquet", collated.url("shown")):
        check(collated.url("words"), target, engine=Settings(bring_over=True))


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_unicode_ci"])
def test_brought_over_from_mariadb(mysql: Any, tmp_path: Path, collation: str) -> None:
    mysql.execute(
        "DROP TABLE IF EXISTS words, shown",
        f"CREATE TABLE words (word VARCHAR(9) CHARACTER SET utf8mb4 COLLATE {collation}, name TEXT)",
        *inserts("words"),
    )
    assert len(mysql.rows("SELECT word FROM words GROUP BY word")) < 6
    for target in (tmp_path / "shown.parquet", mysql.url("shown")):
        check(mysql.url("words"), target, engine=Settings(bring_over=True))


def test_an_engine_that_nobody_knows(tmp_path: Path) -> None:
    import ibis

    source = ibis.polars.connect({"words": pl.from_arrow(words())}).table("words")
    check(source, tmp_path / "shown.parquet")
    check(source, f"duckdb://{tmp_path}/shown.db#shown")


@pytest.mark.parametrize("number", ["1.0123456789", "'NaN'", "1e30"])
def test_numbers_of_postgres_without_bounds(postgres: Any, tmp_path: Path, number: str) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS loose",
        "CREATE TABLE loose (fee numeric, word text)",
        f"INSERT INTO loose VALUES (1.5, 'a'), ({number}, 'a')",
        "GRANT ALL ON loose TO veil",
    )
    told = "column 'fee' of type numeric holds .* CAST\\(\"fee\" AS numeric\\(38, 15\\)\\)"
    with pytest.raises(InputError, match=told):
        condense(relation_of(postgres.url("loose")), ["fee", "word"])  # type: ignore[arg-type]
    options: dict[str, Any] = {
        "quasi_identifiers": {"word": h.suppression()},
        "models": m.KAnonymity(2),
        "others": "keep",
    }
    release = veil.anonymize(postgres.url("loose"), **options, progress=False)
    with pytest.raises(VeilError, match=told):
        release.save(tmp_path / "shown.parquet")
    assert not list(tmp_path.iterdir())


def test_a_masked_cell_with_a_blank_at_its_end_is_not_masked(mysql: Any, monkeypatch: Any) -> None:
    from veil.engines.write.tables import TableTarget

    mysql.execute("DROP TABLE IF EXISTS words, shown", "CREATE TABLE words (word TEXT, name TEXT)")
    mysql.execute(*inserts("words"))
    release = veil.anonymize(mysql.url("words"), **OPTIONS)
    staged = TableTarget.staged_rows

    def tampered(self: TableTarget) -> Any:
        mysql.execute(f"UPDATE `{self.temporary}` SET name = '* ' LIMIT 1")
        return staged(self)

    monkeypatch.setattr(TableTarget, "staged_rows", tampered)
    with refused(VerificationError, "'name' is masked"):
        release.save(mysql.url("shown"))
