"""Releases in memory that were read from an engine, written where engines write: whole and as released, or not at all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil.api.release import Release
from veil.engines.dialects import collect
from veil.engines.relation import relation_of
from veil.engines.write import rows as writing
from veil.errors import OutputError, VerificationError

PLAN = veil.Plan(
    quasi_identifiers={"sex": h.table([["f", "*"], ["m", "*"]])},
    models=veil.SafePub(1, 1e-3, generalization={"sex": 0}, rows_per_person=2),
    person="patient",
)


def drawn(folder: Path) -> Release:
    """A differentially private release of people, who have two rows each in a Parquet file."""
    chance = np.random.default_rng(1)
    table = pa.table({"patient": np.repeat(np.arange(400), 2), "sex": chance.choice(["f", "m"], 800)})
    pq.write_table(table, folder / "in.parquet")
    return veil.anonymize(folder / "in.parquet", PLAN, engine="duckdb")


@pytest.mark.parametrize("target", ["out/", "out.parquet", "duckdb://{}/out.db#t", "sqlite://{}/out.db#t"])
def test_what_is_written_is_the_release(tmp_path: Path, target: str) -> None:
    made = drawn(tmp_path)
    place = target.format(tmp_path) if "#" in target else f"{tmp_path}/{target}"
    made.save(place)
    relation: Any = relation_of(place, engine="duckdb")
    found = collect(relation.backend, relation.table)
    assert found.column_names == ["sex"]
    assert Counter(found["sex"].to_pylist()) == Counter(made.table["sex"].to_pylist())
    with pytest.raises(OutputError):
        made.save(place)
    made.save(place, overwrite=True)


def test_a_recipe_draws_people_from_files_into_a_folder(tmp_path: Path) -> None:
    drawn(tmp_path)
    recipe = veil.Recipe.of(PLAN, input=tmp_path / "in.parquet", output=f"{tmp_path}/out/")
    veil.run(recipe, engine="duckdb")
    found = pq.read_table(tmp_path / "out")
    assert found.column_names == ["sex"]
    assert 0 < found.num_rows <= 800


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    made = drawn(tmp_path)
    with pytest.raises(OutputError):
        made.save(str(tmp_path / "in.parquet"), overwrite=True)
    assert pq.read_table(tmp_path / "in.parquet").num_rows == 800


def test_what_an_engine_writes_otherwise_is_withheld(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = drawn(tmp_path)
    monkeypatch.setattr(writing, "decode", lambda table: pa.table({"sex": ["f"] * table.num_rows}))
    with refused(VerificationError, "differ", "the release"):
        made.save(f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()


def test_lists_are_compared_as_well() -> None:
    lists = pa.table({"a": [["x", "y"], [], None]})
    other = pa.table({"a": [["x"], ["y"], None]})
    held = ibis.memtable(lists).to_pyarrow()
    assert writing.rows_as_texts(lists).equals(writing.rows_as_texts(held.take([2, 0, 1])))
    assert not writing.rows_as_texts(lists).equals(writing.rows_as_texts(other))
