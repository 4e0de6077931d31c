"""Chunks are disjoint and complete, whatever the engine and the size."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veil.engines.dialects.spans import Span, gather_spans
from veil.engines.pieces import chunks, fingerprint
from veil.engines.relation import Relation, relation_of

FEW = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def opened(source: Any, **options: Any) -> Relation:
    relation = relation_of(source, **options)
    assert relation is not None
    return relation


def multiset(table: Any) -> Counter[tuple[Any, ...]]:
    rows = table.to_pyarrow().to_pydict()
    return Counter(zip(*rows.values(), strict=True))


def check(relation: Relation, rows: int) -> int:
    """Together the pieces are the table, with its columns, and their sizes are as said; return how many."""
    pieces = chunks(relation, rows)
    total: Counter[tuple[Any, ...]] = Counter()
    for piece in pieces:
        assert piece.table.columns == relation.table.columns
        assert piece.table.schema() == relation.table.schema()
        found = multiset(piece.table)
        if relation.kind != "postgres":
            assert piece.rows in (None, found.total())
        total += found
    assert total == multiset(relation.table)
    assert len({piece.label for piece in pieces}) == len(pieces)
    return len(pieces)


@given(st.lists(st.integers(0, 20)), st.integers(1, 30))
def test_neighbours_are_gathered_in_order_and_none_is_lost(sizes: list[int], rows: int) -> None:
    spans = [Span(number, size) for number, size in enumerate(sizes)]
    groups = list(gather_spans(spans, rows))
    assert [span for group in groups for span in group] == spans
    for group in groups:
        assert len(group) == 1 or sum(span.rows for span in group) <= rows


@FEW
@given(rows=st.integers(1, 120), group=st.integers(1, 60), size=st.integers(1, 100))
def test_rows_of_one_parquet_file(tmp_path: Path, rows: int, group: int, size: int) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": range(size), "it's": ["a", "b"] * (size // 2) + ["c"] * (size % 2)}), file,
                   row_group_size=group)  # fmt: skip
    assert check(opened(str(file), engine="duckdb"), rows) == -(-size // rows)


@FEW
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6), rows=st.integers(1, 60))
def test_folder_of_parquet_files(tmp_path_factory: Any, sizes: list[int], rows: int) -> None:
    folder = tmp_path_factory.mktemp("folder")
    for number, size in enumerate(sizes):
        pq.write_table(
            pa.table({"id": range(size), "file": [number] * size}), folder / f"{number} [x].parquet"
        )
    check(opened(str(folder)), rows)


@FEW
@given(rows=st.integers(1, 12))
def test_hive_partitions_keep_their_columns(tmp_path_factory: Any, rows: int) -> None:
    folder = tmp_path_factory.mktemp("hive")
    for code, size in {"01": 7, "AB": 3, "2": 1}.items():
        (folder / f"code={code}").mkdir()
        pq.write_table(pa.table({"id": range(size)}), folder / f"code={code}" / "part.parquet")
    relation = opened(str(folder))
    check(relation, rows)
    assert {code for _, code in multiset(relation.table)} == {"01", "AB", "2"}


def test_small_files_share_a_piece_and_csv_files_are_not_cut(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.csv").write_text("id,zip\n" + f"{number},02139\n" * 30)
    relation = opened(str(tmp_path))
    assert check(relation, 1) == 20
    assert check(relation, 1_000) == 1
    assert all(piece.rows is None for piece in chunks(relation, 1))


@FEW
@given(
    size=st.integers(1, 3_000), kept=st.integers(1, 7), more=st.integers(0, 400), rows=st.integers(100, 4_000)
)
def test_duckdb_table_with_deleted_rows(duckdb: Any, size: int, kept: int, more: int, rows: int) -> None:
    url = duckdb(
        f"CREATE OR REPLACE TABLE people AS SELECT i AS id, 'x' || i % 3 AS t FROM range({size}) r(i)",
        f"DELETE FROM people WHERE id % {kept} <> 0",
        f"INSERT INTO people SELECT -i, NULL FROM range({more}) r(i)",
    )
    relation = opened(f"{url}#people")
    check(relation, rows)
    relation.backend.disconnect()


@FEW
@given(
    ids=st.sets(st.integers(-(2**62), 2**62) | st.integers(-20, 20), min_size=1, max_size=40),
    rows=st.integers(1, 50),
)
def test_sqlite_table_with_row_ids_far_apart(sqlite: Any, ids: set[int], rows: int) -> None:
    url = sqlite(
        "DROP TABLE IF EXISTS people",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, t TEXT)",
        "INSERT INTO people VALUES " + ", ".join(f"({each}, 'x{each % 3}')" for each in sorted(ids)),
    )
    relation = opened(f"{url}#people")
    check(relation, rows)
    relation.backend.disconnect()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE people (id INTEGER PRIMARY KEY, t TEXT) WITHOUT ROWID",
        "CREATE TABLE people (rowid TEXT, id INTEGER)",
    ],
)
def test_sqlite_table_without_row_ids_is_one_piece(sqlite: Any, statement: str) -> None:
    url = sqlite(statement, "INSERT INTO people VALUES (1, 2), (2, 3), (3, 4)")
    assert check(opened(f"{url}#people"), 1) == 1


def test_a_view_and_an_expression_are_one_piece(duckdb: Any) -> None:
    url = duckdb(
        "CREATE TABLE t AS SELECT i AS id FROM range(10) r(i)", "CREATE VIEW people AS SELECT * FROM t"
    )
    relation = opened(f"{url}#people")
    assert check(relation, 1) == 1
    assert fingerprint(relation) is None
    table = relation.backend.table("t")
    assert check(opened(table.filter(table.id > 3)), 1) == 1
    assert check(opened(table), 3) == 4


@FEW
@given(size=st.integers(1, 3_000), kept=st.integers(1, 5), rows=st.integers(50, 2_000))
def test_postgres_table_with_dead_rows(postgres: Any, size: int, kept: int, rows: int) -> None:
    postgres.execute(
        'DROP TABLE IF EXISTS "the people"',
        f"""CREATE TABLE "the people" AS SELECT i AS id, 'x' || i % 3 AS t FROM generate_series(1, {size}) i""",
        f'DELETE FROM "the people" WHERE id % {kept} <> 0 AND id > 1',
        """UPDATE "the people" SET t = 'new' WHERE id % 4 = 0""",
        'GRANT SELECT ON "the people" TO veil',
    )
    relation = opened(postgres.url("the people"))
    check(relation, rows)
    relation.backend.disconnect()


def test_postgres_blocks_are_found_without_reading_the_others(postgres: Any) -> None:
    postgres.execute(
        "CREATE TABLE many AS SELECT i AS id FROM generate_series(1, 20000) i", "GRANT SELECT ON many TO veil"
    )
    relation = opened(postgres.url("many"))
    pieces = chunks(relation, 5_000)
    assert len(pieces) in (4, 5)
    for piece in pieces:
        plan = relation.backend.raw_sql("EXPLAIN " + relation.backend.compile(piece.table)).fetchall()
        assert any("Tid Range Scan" in line for (line,) in plan)
    relation.backend.disconnect()


def test_postgres_views_and_tables_with_children_are_one_piece(postgres: Any) -> None:
    postgres.execute(
        "CREATE TABLE parent AS SELECT i AS id FROM generate_series(1, 2000) i",
        "CREATE TABLE child () INHERITS (parent)",
        "INSERT INTO child SELECT i FROM generate_series(1, 4000) i",
        "CREATE VIEW seen AS SELECT * FROM parent",
        "CREATE TABLE parts (id int) PARTITION BY RANGE (id)",
        "CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (10)",
        "INSERT INTO parts VALUES (1), (2)",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO veil",
    )
    for name in ("parent", "seen", "parts"):
        relation = opened(postgres.url(name))
        assert check(relation, 100) == 1
        assert fingerprint(relation) is None
        relation.backend.disconnect()


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO people VALUES (0, 'new')",
        "DELETE FROM people WHERE id = 7",
        "UPDATE people SET t = 'new' WHERE id = 7",
        "UPDATE people SET t = t",
        "VACUUM FULL people",
    ],
)
def test_every_change_of_a_postgres_table_is_seen(postgres: Any, change: str) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS people",
        "CREATE TABLE people AS SELECT i AS id, 'x'::text AS t FROM generate_series(1, 10) i",
        "GRANT SELECT ON people TO veil",
    )
    relation = opened(postgres.url("people"))
    before = fingerprint(relation)
    assert before is not None
    assert fingerprint(relation) == before
    postgres.execute(change)
    assert fingerprint(relation) != before
    relation.backend.disconnect()


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO people VALUES (0, 'new')",
        "DELETE FROM people WHERE id = 7",
        "UPDATE people SET t = 'new' WHERE id = 7",
    ],
)
def test_every_change_of_a_duckdb_table_is_seen(duckdb: Any, change: str) -> None:
    # A column that has the name of the table must not hide the others.
    relation = opened(
        duckdb("CREATE TABLE people AS SELECT i AS id, 'x' AS t FROM range(10) r(i)") + "#people"
    )
    before = fingerprint(relation)
    assert before is not None
    assert fingerprint(relation) == before
    relation.backend.raw_sql(change)
    assert fingerprint(relation) != before


def test_a_changed_file_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": range(10)}), file)
    relation = opened(str(file), engine="duckdb")
    before = fingerprint(relation)
    assert fingerprint(relation) == before
    pq.write_table(pa.table({"id": range(1, 11)}), file)
    assert fingerprint(relation) != before
