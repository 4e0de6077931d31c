"""Pieces of SQLite tables, by their row ids."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veil.engines.pieces import chunks
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
