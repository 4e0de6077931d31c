"""Settings of DuckDB: checked, applied, and nothing is left behind."""

from __future__ import annotations

import dataclasses
import gc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq

from support.refusals import refused
from veil.engines import Relation, Settings, relation_of
from veil.engines.dialects import collect
from veil.engines.settings import available_memory
from veil.errors import InputError, ParameterError


def opened(path: str | Path, **options: Any) -> Relation:
    relation = relation_of(path, engine="duckdb", **options)
    assert relation is not None
    return relation


def test_settings_reach_duckdb_and_nothing_is_left_behind(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    spill = tmp_path / "spill"
    spill.mkdir()
    relation = opened(tmp_path / "a.parquet", settings=Settings(memory="200MB", threads=1, temporary=spill))
    known: Any = relation.backend
    assert int(known.settings["threads"]) == 1
    assert known.settings["memory_limit"] == "190.7 MiB"
    (folder,) = spill.iterdir()
    assert known.settings["temp_directory"] == str(folder / "new")
    assert folder.stat().st_mode & 0o077 == 0
    del known, relation
    gc.collect()
    assert list(spill.iterdir()) == []


def test_more_rows_than_memory_are_grouped_on_disk(tmp_path: Path) -> None:
    names = pc.binary_join_element_wise("person number ", pa.array(range(1_500_000)).cast(pa.string()), "")
    pq.write_table(pa.table({"name": names}), tmp_path / "a.parquet")
    relation = opened(tmp_path / "a.parquet", settings=Settings(memory="70MB", threads=1, temporary=tmp_path))
    table = relation.table
    counted = table.group_by("name").agg(n=table.count()).agg(groups=lambda each: each.count())
    assert collect(relation.backend, counted)["groups"].to_pylist() == [1_500_000]


def test_settings_are_checked(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    for bad in ("2", "GB", "-1GB", "2 XB"):
        with refused(ParameterError, "size", "'2GB'"):
            Settings(memory=bad)
    with refused(ParameterError, "`threads`", "Settings", "equal to 1"):
        Settings(threads=0)
    with refused(InputError, "no temporary files"):
        opened(tmp_path / "a.parquet", settings=Settings(temporary=tmp_path / "none"))
    assert Settings(memory="1.5GiB").bytes == 3 << 29
    assert 0 < Settings().bytes <= available_memory()
    assert dataclasses.replace(Settings(), threads=2).threads == 2
