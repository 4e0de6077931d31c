"""Chunks are disjoint and complete, whatever the engine and the size."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


def test_a_changed_file_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": range(10)}), file)
    relation = opened(str(file), engine="duckdb")
    before = fingerprint(relation)
    assert fingerprint(relation) == before
    pq.write_table(pa.table({"id": range(1, 11)}), file)
    assert fingerprint(relation) != before
