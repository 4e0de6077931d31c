"""Changes of DuckDB tables are noticed."""

from __future__ import annotations

from typing import Any

import pytest

from veil.engines.pieces import fingerprint
from veil.engines.relation import Relation, relation_of


def opened(source: Any, **options: Any) -> Relation:
    relation = relation_of(source, **options)
    assert relation is not None
    return relation


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
