"""Killed at any moment: the target is as it was, or whole; and the next run goes on where the killed one stopped."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.engines.killing import Writer
from veil import tables

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

KILLS, ROWS, CHUNK = 10, 30_000, 1_500
OLD = [(-1, "old")] * 3
NEW = [(number + 1, "ab"[number % 2]) for number in range(ROWS)]


def check_killed(
    source: str,
    target: str,
    content: Callable[[], list[tuple[int, str]] | None],
    set_up: Callable[[bool], None],
) -> None:
    """Kill a run after steps spread over its length, with and without something to replace, and finish it each time."""
    for _ in range(2):  # the first run is slower
        set_up(False)
        whole, took = Writer(source, target, CHUNK).finish()
        assert whole["transformed"] == whole["pieces"] > 10
        assert content() == NEW
    steps = whole["steps"]
    chance = random.Random(target.rpartition(".")[2])
    continued = []
    for number in range(KILLS):
        old = number % 2 == 1
        set_up(old)
        step = min(steps, 1 + int((number + chance.random()) / (KILLS - 2) * steps))  # twice it is the last
        later = chance.random() * took / steps
        Writer(source, target, CHUNK, step).kill(later)
        found = content()
        assert found in (OLD if old else None, NEW)
        said, _ = Writer(source, target, CHUNK).finish()
        assert content() == NEW
        assert said["transformed"] + said["continued"] == said["pieces"]
        continued.append(said["continued"])
        print(f"killed {later:.3f} s after step {step} of {steps}: {'whole' if found == NEW else 'as it was'}, "
              f"{said['continued']} of {said['pieces']} pieces were kept")  # fmt: skip
    assert any(0 < each < said["pieces"] for each in continued)


def source_file(tmp_path: Path) -> str:
    table = pa.table({"id": range(ROWS), "t": ["ab"[number % 2] for number in range(ROWS)]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "people.parquet", row_group_size=CHUNK)
    return str(tmp_path / "in" / "people.parquet")


def rows(table: pa.Table) -> list[tuple[int, str]]:
    return sorted(zip(table["id"].to_pylist(), table["t"].to_pylist(), strict=True))


@pytest.mark.slow
def test_a_folder(tmp_path: Path) -> None:
    target = tmp_path / "release"

    def set_up(old: bool) -> None:
        shutil.rmtree(target, ignore_errors=True)
        if old:
            target.mkdir()
            pq.write_table(pa.table({"id": [-1] * 3, "t": ["old"] * 3}), target / "old.parquet")

    def content() -> list[tuple[int, str]] | None:
        return rows(pq.read_table(target)) if target.exists() else None

    check_killed(source_file(tmp_path), str(target), content, set_up)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "release"]


@pytest.mark.slow
def test_a_file(tmp_path: Path) -> None:
    target = tmp_path / "release.csv"

    def set_up(old: bool) -> None:
        target.unlink(missing_ok=True)
        if old:
            target.write_text("id,t\n" + "-1,old\n" * 3)

    def content() -> list[tuple[int, str]] | None:
        return rows(tables.read(str(target)).table) if target.exists() else None

    check_killed(source_file(tmp_path), str(target), content, set_up)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "release.csv"]


@pytest.mark.slow
def test_a_table_of_duckdb(tmp_path: Path) -> None:
    import duckdb

    file = str(tmp_path / "clinic.db")
    with duckdb.connect(file) as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT i AS id, if(i % 2 = 0, 'a', 'b') AS t FROM range({ROWS}) r(i)"
        )

    def set_up(old: bool) -> None:
        with duckdb.connect(file) as connection:
            connection.execute("DROP TABLE IF EXISTS release")
            if old:
                connection.execute("CREATE TABLE release AS SELECT -1 AS id, 'old' AS t FROM range(3)")

    def content() -> list[tuple[int, str]] | None:
        with duckdb.connect(file) as connection:
            if not connection.execute("FROM duckdb_tables() WHERE table_name = 'release'").fetchall():
                return None
            return connection.execute("FROM release ORDER BY id").fetchall()

    check_killed(f"duckdb://{file}#people", f"duckdb://{file}#release", content, set_up)
    with duckdb.connect(file) as connection:
        assert len(connection.execute("FROM duckdb_tables()").fetchall()) == 2


@pytest.mark.slow
def test_a_table_of_postgres(postgres: Any) -> None:
    postgres.execute(
        f"CREATE TABLE killed_people AS SELECT i AS id, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END AS t "
        f"FROM generate_series(0, {ROWS - 1}) i",
        "GRANT SELECT ON killed_people TO veil",
    )

    def set_up(old: bool) -> None:
        postgres.execute("DROP TABLE IF EXISTS killed_release")
        if old:
            postgres.execute(
                "CREATE TABLE killed_release AS SELECT -1 AS id, 'old' AS t FROM generate_series(1, 3)",
                "ALTER TABLE killed_release OWNER TO veil",
            )

    def content() -> list[tuple[int, str]] | None:
        with postgres.connect() as connection:
            if connection.execute("SELECT to_regclass('killed_release')").fetchone() == (None,):
                return None
            found: list[tuple[int, str]] = connection.execute("TABLE killed_release ORDER BY id").fetchall()
            return found

    check_killed(postgres.url("killed_people"), postgres.url("killed_release"), content, set_up)
    with postgres.connect() as connection:
        left = connection.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'killed_release__veil%'"
        ).fetchall()
        assert left == []
