"""What is counted as one value is shown as one value, and what is not released is nowhere in the files."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import DistinctLDiversity, KAnonymity
from veil.engines import relation_of
from veil.errors import VeilError

SECRET = "SECRETDISEASE"


def clinic() -> Any:
    """Ten people in two wards, and one alone in a third, with a disease that nobody else has."""
    backend = ibis.duckdb.connect()
    backend.raw_sql(f"CREATE TYPE disease AS ENUM ('{SECRET}', 'cold', 'flu')")
    backend.raw_sql(
        "CREATE TABLE stays AS SELECT (CASE WHEN i < 5 THEN 'a' ELSE 'b' END) AS ward, "
        "(CASE WHEN i % 2 = 0 THEN 'cold' ELSE 'flu' END)::disease AS ill FROM range(10) r(i)"
    )
    backend.raw_sql(f"INSERT INTO stays VALUES ('c', '{SECRET}')")
    return backend.table("stays")


@pytest.mark.parametrize("models", [[KAnonymity(2), DistinctLDiversity("ill", 2)], [KAnonymity(2)]])
def test_values_of_an_enumeration_that_nobody_shows_are_not_in_the_file(models: Any, tmp_path: Path) -> None:
    release = veil.anonymize(
        clinic(),
        quasi_identifiers={"ward": "identity"},
        sensitive=["ill"],
        models=models,
        suppression_limit=0.1,
        suppressed_rows="drop",
    )
    assert release.suppressed == 1
    release.save(tmp_path / "release.parquet")
    assert pq.read_table(tmp_path / "release.parquet").num_rows == 10
    assert SECRET.encode() not in (tmp_path / "release.parquet").read_bytes()
    assert release.table.to_pyarrow().schema.field("ill").type == pa.string()


def test_an_enumeration_as_quasi_identifier(tmp_path: Path) -> None:
    plan = {"quasi_identifiers": {"ill": "identity"}, "others": "drop", "suppressed_rows": "drop"}
    release = veil.anonymize(clinic(), **plan, models=KAnonymity(2), suppression_limit=0.1)
    release.save(tmp_path / "release.parquet")
    assert SECRET.encode() not in (tmp_path / "release.parquet").read_bytes()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("BOOLEAN", "(1), (1), (1), (1), (2)"),
        ("TEXT", "('abc'), ('abc'), ('abc'), ('abc'), (x'616263')"),
        ("", "('5'), (5), ('5'), (5), (x'35')"),
        ("REAL", "(0.0), (0.0), (0.0), (0.0), (-0.0)"),
    ],
)
def test_sqlite_shows_as_one_what_it_was_counted_as(kind: str, values: str, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "clinic.db") as connection:
        connection.execute(f"CREATE TABLE stays (x {kind})")
        connection.execute(f"INSERT INTO stays VALUES {values}")
    connection.close()
    try:
        release = veil.anonymize(
            f"sqlite://{tmp_path}/clinic.db#stays", quasi_identifiers={"x": "identity"}, models=KAnonymity(5)
        )
        release.save(f"sqlite://{tmp_path}/clinic.db#release")
    except VeilError:
        return  # refused, or one of them is alone
    with sqlite3.connect(tmp_path / "clinic.db") as connection:
        shown = connection.execute(
            "SELECT typeof(x), quote(x), count(*) FROM release GROUP BY 1, 2"
        ).fetchall()
    connection.close()
    assert len(shown) == 1
    assert shown[0][2] == 5


def test_zeros_with_and_without_a_sign_are_one_number(tmp_path: Path) -> None:
    backend = ibis.duckdb.connect()
    people = backend.create_table("people", pa.table({"x": pa.array([-0.0, 0.0] * 3 + [1.0] * 6)}))
    release = veil.anonymize(people, quasi_identifiers={"x": "identity"}, models=KAnonymity(6))
    release.save(tmp_path / "release.parquet")
    assert (
        sorted(map(str, pq.read_table(tmp_path / "release.parquet")["x"].to_pylist()))
        == ["0.0"] * 6 + ["1.0"] * 6
    )


def test_a_changed_hierarchy_is_another_release(tmp_path: Path) -> None:
    backend = ibis.duckdb.connect()
    people = backend.create_table("people", pa.table({"x": ["a", "b"] * 3}))

    def token(label: str) -> str:
        (tmp_path / "x.csv").write_text(f"a;{label}\nb;{label}\n")
        plan = {"quasi_identifiers": {"x": str(tmp_path / "x.csv")}, "models": KAnonymity(6)}
        release = veil.anonymize(people, **plan)
        return release.outcome.source.token(release.outcome)

    assert token("old") == token("old")
    assert token("old") != token("new")


def test_options_in_the_url_of_a_file_are_not_repeated() -> None:
    with pytest.raises(VeilError) as told:
        relation_of("duckdb:///md:x?motherduck_token=TOPSECRET#t")
    assert "TOPSECRET" not in str(told.value)
