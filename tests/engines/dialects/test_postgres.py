"""Pieces of PostgreSQL tables, by their blocks; every change is noticed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
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
