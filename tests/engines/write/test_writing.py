"""Going on after a stop, and starting anew when anything has changed."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.refusals import refused
from veil.base.progress import Reported
from veil.engines.relation import Relation, relation_of
from veil.engines.write.locks import take_place
from veil.engines.write.writing import Written, write
from veil.errors import InputError, OutputError

ROWS, CHUNK = 2_000, 300


class Stop(Exception):
    """What a test stops a run with."""


class Run:
    """A run that counts the pieces it transforms, and stops before one of them if told so."""

    def __init__(self, stop_before: int | None = None) -> None:
        self.stop_before, self.transformed = stop_before, 0

    def __call__(self, table: Any) -> Any:
        # The first call is for the schema.
        if self.transformed - 1 == self.stop_before:
            raise Stop
        self.transformed += 1
        return table.mutate(id=table.id + 1)

    @property
    def pieces(self) -> int:
        return self.transformed - 1


def opened(source: Any, **options: Any) -> Relation:
    relation = relation_of(source, **options)
    assert relation is not None
    return relation


def run(
    relation: Relation, target: Any, stop: int | None = None, **options: Any
) -> tuple[Run, Written | None]:
    made = Run(stop)
    given = {"check": lambda staged: None, "token": "t", "chunk_rows": CHUNK, **options}
    if stop is None:
        return made, write(relation, made, target, **given)
    with pytest.raises(Stop):
        write(relation, made, target, **given)
    return made, None


@pytest.fixture
def people(tmp_path: Path) -> Relation:
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table({"id": range(ROWS), "t": ["a", "b"] * (ROWS // 2)}), tmp_path / "in" / "p.parquet"
    )
    return opened(str(tmp_path / "in" / "p.parquet"), engine="duckdb")


def expected() -> Counter[tuple[int, str]]:
    return Counter((i + 1, "ab"[i % 2]) for i in range(ROWS))


def multiset(source: Any) -> Counter[tuple[Any, ...]]:
    relation = opened(source, engine="duckdb")
    found = relation.table.select("id", "t").to_pyarrow().to_pydict()
    relation.backend.disconnect()
    return Counter(zip(map(int, found["id"]), found["t"], strict=True))  # of CSV, everything is text


def target_in(kind: str, tmp_path: Path, request: Any) -> str:
    if kind == "postgres":
        postgres = request.getfixturevalue("postgres")
        postgres.execute("DROP TABLE IF EXISTS release")
        return str(postgres.url("release"))
    return {"duckdb": f"duckdb://{tmp_path}/x.db#release", "sqlite": f"sqlite://{tmp_path}/x.db#release"}.get(
        kind, f"{tmp_path}/{kind}"
    )


@pytest.mark.parametrize(
    "kind", ["release", "release.csv", "release.parquet", "duckdb", "sqlite", "postgres"]
)
def test_what_is_done_is_not_done_again(people: Relation, tmp_path: Path, kind: str, request: Any) -> None:
    target = target_in(kind, tmp_path, request)
    first, _ = run(people, target, stop=3)
    assert first.pieces == 3
    second, _ = run(people, target, stop=2)
    assert second.pieces == 2
    third, written = run(people, target)
    assert third.pieces == 7 - 5
    assert written is not None
    assert (written.pieces, written.continued) == (7, 5)
    assert multiset(target) == expected()
    again, written = run(people, target, overwrite=True)
    assert again.pieces == 7
    assert multiset(target) == expected()


@pytest.mark.parametrize("kind", ["release", "duckdb", "postgres"])
def test_anything_else_starts_anew(people: Relation, tmp_path: Path, kind: str, request: Any) -> None:
    target = target_in(kind, tmp_path, request)
    for options in ({"token": "other"}, {"resume": False}, {"chunk_rows": 500}):
        run(people, target, stop=3, overwrite=True)
        later, written = run(people, target, overwrite=True, **options)
        assert written is not None
        assert (later.pieces, written.continued) == (written.pieces, 0)
        assert multiset(target) == expected()
    run(people, target, stop=3, overwrite=True)
    file = tmp_path / "in" / "p.parquet"
    pq.write_table(pa.table({"id": range(1, ROWS), "t": ["a"] * (ROWS - 1)}), file)
    later, _ = run(opened(str(file), engine="duckdb"), target, overwrite=True)
    assert later.pieces == 7
    assert multiset(target) == Counter((i + 1, "a") for i in range(1, ROWS))


def test_remains_of_another_token_are_removed_and_nothing_else(people: Relation, tmp_path: Path) -> None:
    mine = [
        ".release.veil-notours",
        ".release.veil-0123456789abcdef",
        ".other.veil-0123456789ab",
        "release__veil_x",
    ]
    for name in mine:
        (tmp_path / name).mkdir()
    run(people, tmp_path / "release", stop=3, token="one")
    run(people, tmp_path / "release", stop=3, token="two")
    assert len([each for each in tmp_path.glob(".release.veil-*") if len(each.name) == 26]) == 1
    run(people, tmp_path / "release", token="three")
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([*mine, "in", "release"])


def test_remains_in_a_database(people: Relation, tmp_path: Path) -> None:
    url = f"duckdb://{tmp_path}/x.db"
    run(people, f"{url}#other", stop=3)
    run(people, f"{url}#release", stop=3, token="one")
    run(people, f"{url}#release", token="two")
    left = opened(f"{url}#release").dialect.tables()
    assert len(left) == 3
    assert all(name == "release" or name.startswith("other__veil_") for name in left)


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_within_one_database(tmp_path: Path, duckdb: Any, engine: str, request: Any) -> None:
    if engine == "duckdb":
        base = duckdb(
            f"CREATE TABLE p AS SELECT i AS id, if(i % 2 = 0, 'a', 'b') AS t FROM range({ROWS}) r(i)"
        )
    else:
        postgres = request.getfixturevalue("postgres")
        postgres.execute(
            "DROP TABLE IF EXISTS p, release",
            f"CREATE TABLE p AS SELECT i AS id, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END AS t "
            f"FROM generate_series(0, {ROWS - 1}) i",
            "GRANT SELECT ON p TO veil",
        )
        base = postgres.url()
    relation = opened(f"{base}#p")
    first, _ = run(relation, f"{base}#release", stop=3)
    assert first.pieces == 3
    relation.backend.disconnect()
    relation = opened(f"{base}#p")
    second, written = run(relation, f"{base}#release")
    assert written is not None
    assert second.pieces == written.pieces - 3
    relation.backend.disconnect()
    assert multiset(f"{base}#release") == expected()


def test_a_source_that_changes_while_it_is_written(duckdb: Any, tmp_path: Path) -> None:
    relation = opened(duckdb(f"CREATE TABLE p AS SELECT i AS id FROM range({ROWS}) r(i)") + "#p")
    calls = []

    def meddle(table: Any) -> Any:
        calls.append(table)
        if len(calls) == 4:
            relation.backend.raw_sql("UPDATE p SET id = id - 1 WHERE id > 100")
        return table

    with refused(InputError, "changed", "being written", "Nothing was written"):
        write(relation, meddle, tmp_path / "release", check=print, token="t", chunk_rows=CHUNK)
    assert not any("release" in each.name for each in tmp_path.iterdir())


def stopped(people: Relation, target: Path, monkeypatch: Any, exchange: Any) -> None:
    """Run with an exchange that breaks off."""
    from veil.engines.write import files as file_targets

    with monkeypatch.context() as patched:
        patched.setattr(file_targets, "take_place", exchange)
        with pytest.raises(Stop):
            write(people, Run(), target, check=print, token="t", chunk_rows=CHUNK, overwrite=True)


@pytest.mark.parametrize("kind", ["release", "release.csv"])
@pytest.mark.parametrize("replaces", [False, True])
def test_stopped_right_after_the_exchange(
    people: Relation, tmp_path: Path, monkeypatch: Any, kind: str, replaces: bool
) -> None:
    """The release is in place, and its staging folder is still there: the next run only tidies up."""

    def stop_afterwards(*arguments: Any, **options: Any) -> None:
        take_place(*arguments, **options)
        raise Stop

    target = tmp_path / kind
    if replaces:
        run(people, target, token="before")
    stopped(people, target, monkeypatch, stop_afterwards)
    inode = target.stat().st_ino
    again, written = run(people, target, overwrite=replaces)
    assert again.pieces == 0
    assert written is not None
    assert written.continued == 7
    assert target.stat().st_ino == inode
    assert multiset(str(target)) == expected()
    assert list(tmp_path.glob(".release*")) == []


@pytest.mark.parametrize("kind", ["release", "release.csv", "release.parquet"])
@pytest.mark.parametrize("chunk", [CHUNK, ROWS])
def test_stopped_right_before_the_exchange(
    people: Relation, tmp_path: Path, monkeypatch: Any, kind: str, chunk: int
) -> None:
    """The manifest announces an exchange that never happened: the next run must not believe it."""

    def stop_before(*_: Any, **__: Any) -> None:
        raise Stop

    target = tmp_path / kind
    run(people, target, token="before", chunk_rows=chunk)
    stopped(people, target, monkeypatch, stop_before)
    again, written = run(people, target, overwrite=True)
    assert again.pieces == 0
    assert written is not None
    assert written.continued == 7
    assert multiset(str(target)) == expected()


def test_after_an_exchange_the_old_release_is_not_taken_for_the_new_one(
    people: Relation, tmp_path: Path, monkeypatch: Any
) -> None:
    """Stopped before tidying up, the staging folder holds the release that was replaced."""

    def stop_afterwards(*arguments: Any, **options: Any) -> None:
        take_place(*arguments, **options)
        raise Stop

    target = tmp_path / "release"
    old = opened(people.table.limit(5))
    write(old, lambda rows: rows, target, check=print, token="old")
    stopped(people, target, monkeypatch, stop_afterwards)
    shutil.rmtree(target)
    again, _ = run(people, target)
    assert again.pieces == 7
    assert multiset(str(target)) == expected()


def test_a_part_that_is_gone_is_made_again(people: Relation, tmp_path: Path) -> None:
    run(people, tmp_path / "release", stop=3)
    (part,) = tmp_path.glob(".release.veil-*/parts/part-00001.parquet")
    part.unlink()
    again, written = run(people, tmp_path / "release")
    assert written is not None
    assert (again.pieces, written.continued) == (5, 2)
    assert multiset(str(tmp_path / "release")) == expected()


def test_ctrl_c_keeps_what_is_done_and_says_so(people: Relation, tmp_path: Path) -> None:
    made = Run()
    endless = "SELECT sum(a.i * b.i) AS big FROM range(10000000) a(i), range(1000000) b(i)"
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))

    def slow(table: Any) -> Any:
        if made.transformed < 4:
            return made(table)
        timer.start()
        return table.cross_join(people.backend.sql(endless, schema={"big": "float64"})).drop("big")

    with pytest.raises(KeyboardInterrupt) as caught:
        write(people, slow, tmp_path / "release", check=print, token="t", chunk_rows=CHUNK)
    timer.join()
    (note,) = caught.value.__notes__
    assert "3 of 7" in note
    assert "kept" in note
    later, written = run(people, tmp_path / "release")
    assert written is not None
    assert (later.pieces, written.continued) == (4, 3)
    assert multiset(str(tmp_path / "release")) == expected()


def test_an_engine_that_fails_says_what_is_kept(people: Relation, tmp_path: Path) -> None:
    made = Run()
    people.backend.raw_sql("CREATE TABLE gone AS SELECT 1 AS other")
    gone = people.backend.table("gone")
    people.backend.raw_sql("DROP TABLE gone")

    def failing(table: Any) -> Any:
        return made(table) if made.transformed < 3 else table.cross_join(gone).drop("other")

    with refused(OutputError, "gone", "2 of 7", "kept"):
        write(people, failing, tmp_path / "release", check=print, token="t", chunk_rows=CHUNK)


def test_a_run_that_fails_at_once_leaves_nothing(people: Relation, tmp_path: Path) -> None:
    run(people, tmp_path / "release", stop=0)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in"]


def test_what_could_not_be_continued_is_not_kept(people: Relation, tmp_path: Path) -> None:
    """The rows of a query may be others the next time, and a run that is not to be resumed is not."""
    many = opened(str(tmp_path / "in" / "p.parquet"), engine="duckdb")
    run(many, tmp_path / "release", stop=3, resume=False)
    query = opened(people.table.filter(people.table.id > 5))
    made = Run()

    def stop_late(staged: Any) -> None:
        raise OutputError("stop")

    with pytest.raises(OutputError, match="^stop$"):
        write(query, made, tmp_path / "release", check=stop_late, token="t")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in"]


def test_progress_is_told_in_rows(people: Relation, tmp_path: Path) -> None:
    told: list[tuple[str, int, int, str]] = []
    progress = Reported(lambda *step: told.append(step))
    write(people, Run(), tmp_path / "release", check=print, token="t", chunk_rows=CHUNK, progress=progress)
    phases = list(dict.fromkeys(phase for phase, *_ in told))
    assert phases == ["writing", "checking what was written", "putting it in place"]
    steps = [(done, total) for phase, done, total, _ in told if phase == "writing" and total]
    assert steps == [(done, ROWS) for done in (0, 300, 600, 900, 1200, 1500, 1800, 2000)]


def test_a_folder_of_csv_files_is_told_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.csv").write_text("id,zip\n" + f"{number},02139\n" * 10)
    told: list[tuple[int, int]] = []
    progress = Reported(lambda _, done, total, __: told.append((done, total)))
    relation = opened(str(tmp_path / "in"))
    write(
        relation, lambda t: t, tmp_path / "out.csv", check=print, token="t", chunk_rows=1, progress=progress
    )
    assert (3, 3) in told
    assert sorted((tmp_path / "out.csv").read_text().split()) == sorted(
        ["id,zip", *("0,02139 1,02139 2,02139 " * 10).split()]
    )
