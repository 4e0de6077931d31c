"""Files that an engine writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from veil import KAnonymity
from veil.engines.write import files
from veil.tables import Csv, read
from veil.verification.foreign_table import check_foreign_table


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("header", [True, False])
def test_a_byte_order_mark_stands_before_all_pieces_and_in_no_record(
    encoding: str, header: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a record, it makes a value of its own, by which a class of twelve falls apart into one and eleven."""
    monkeypatch.setattr(files, "_BATCH", 4)
    pq.write_table(pa.table({"age": [30] * 12, "sex": ["f", "m"] * 6}), tmp_path / "in.parquet")
    plan = veil.Plan({"age": "suppression"}, KAnonymity(12), others="keep", person=None)
    release = veil.anonymize(tmp_path / "in.parquet", plan=plan, engine="duckdb")
    path, format = tmp_path / "out.csv", Csv(encoding=encoding, header=header, columns=("age", "sex"))
    release.save(path, format=format)
    source = read(path, format=format)
    assert source.table["age"].unique().to_pylist() == [30]
    assert veil.verify(path, plan, format=format).holds
    assert check_foreign_table(source)[1] == []
