"""Suppressed rows show nothing in any column that an engine writes, seen by Veil or not."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import hierarchies as h
from veil import models as m
from veil.engines.dialects import collect
from veil.engines.verify import verify_output
from veil.errors import NoSolutionError, PlanError

# Seven people, the last one alone; models look at the age and nothing else.
PEOPLE = pa.table(
    {
        "age": [30, 30, 30, 40, 40, 40, 99],
        "diagnosis": ["flu", "cold", "gout", "flu", "cold", "gout", "HIV"],
        "income": [1, 2, 3, 4, 5, 6, 7777],
        "visits": [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["secret"]],
    }
)
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.suppression()},
    "models": m.KAnonymity(3),
    "maximum_levels": {"age": 0},
    "others": "keep",
    "suppression_limit": 0.2,
    "progress": False,
}
BLANK = {"age": None, "diagnosis": "*", "income": None, "visits": None}


def held() -> Any:
    return ibis.duckdb.connect().create_table("people", PEOPLE)


def shown(release: Any) -> list[dict[str, Any]]:
    return collect(release.table._find_backend(), release.table).to_pylist()


def test_every_column_is_blank(tmp_path: Path) -> None:
    release = veil.anonymize(held(), **PLAN)
    release.save(tmp_path / "release.parquet")
    for rows in (shown(release), pq.read_table(tmp_path / "release.parquet").to_pylist()):
        assert BLANK in rows
        assert not any("HIV" in str(row) or "7777" in str(row) or "secret" in str(row) for row in rows)


def test_part_by_part(tmp_path: Path) -> None:
    release = veil.anonymize(held(), **PLAN, parts=100)
    assert release.suppressed == 1
    release.save(tmp_path / "release.parquet")
    rows = pq.read_table(tmp_path / "release.parquet").to_pylist()
    assert BLANK | {"age": "*"} in rows  # labels are text here
    assert "HIV" not in str(rows)
    assert "7777" not in str(rows)


def test_numbers_of_csv_files_get_no_marker(tmp_path: Path) -> None:
    table = PEOPLE.drop_columns("visits")
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
        )
    release = veil.anonymize(str(tmp_path / "people.csv"), engine="duckdb", **PLAN)
    release.save(tmp_path / "release.csv")
    lines = (tmp_path / "release.csv").read_text().splitlines()
    assert ",*," in lines
    found = veil.verify(
        str(tmp_path / "release.csv"), veil.Plan({"age": h.suppression()}, m.KAnonymity(3), others="keep")
    )
    assert found.holds, str(found)


def test_a_row_that_still_shows_its_diagnosis_is_found() -> None:
    connection = ibis.duckdb.connect()
    connection.create_table("people", PEOPLE)
    release = veil.anonymize(connection.table("people"), **PLAN)
    for column, value in (("diagnosis", "'HIV'"), ("income", "7777"), ("visits", "['secret']")):
        connection.create_table("staged", obj=collect(connection, release.table), overwrite=True)
        assert verify_output(release.outcome, release.outcome.source, connection.table("staged")).holds
        connection.raw_sql(f"UPDATE staged SET {column} = {value} WHERE age IS NULL")
        found = verify_output(release.outcome, release.outcome.source, connection.table("staged"))
        broken = [each.promise for each in found.findings if not each.holds]
        assert "1 suppressed record shows nothing in any column" in broken
        assert "3-anonymity" in broken


def test_whoever_reads_a_table_of_an_engine_judges_what_it_shows() -> None:
    connection = ibis.duckdb.connect()
    rows = pa.table({"age": ["30"] * 3 + ["*"], "diagnosis": ["flu", "cold", "gout", "HIV"]})
    plan = veil.Plan({"age": h.suppression()}, m.KAnonymity(3), others="keep")
    assert not veil.verify(connection.create_table("shown", rows), plan).holds
    blank = rows.set_column(1, "diagnosis", pa.array(["flu", "cold", "gout", "*"]))
    assert veil.verify(connection.create_table("blank", blank), plan).holds


def test_cells_are_kept_where_blank_rows_are_a_class() -> None:
    with pytest.raises(NoSolutionError, match="not protected"):
        veil.anonymize(held(), **PLAN, suppressed_rows="keep cells")
    table = pa.concat_tables(
        [PEOPLE, *[PEOPLE.slice(6).set_column(0, "age", pa.array([age])) for age in (98, 97)]]
    )
    release = veil.anonymize(
        ibis.duckdb.connect().create_table("people", table),
        **PLAN | {"suppression_limit": 0.5},
        suppressed_rows="keep cells",
    )
    assert sum(row["age"] is None and row["diagnosis"] == "HIV" for row in shown(release)) == 3


def test_part_by_part_no_cell_of_a_suppressed_row_is_kept() -> None:
    for asked in ("keep cells", "drop"):
        with pytest.raises(PlanError, match="suppressed_rows"):
            veil.anonymize(held(), **PLAN, suppressed_rows=asked, parts=100)
