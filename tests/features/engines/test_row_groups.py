"""Row groups of what an engine writes are equal but for the last: none is a record's own, and none tells what was left out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veil.engines.write import files
from veil.verification.layout import layout_of_parquet


def test_groups_of_several_sizes_are_made_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_GROUP", 7)
    table, path = pa.table({"a": list(range(40)), "b": ["x", None] * 20}), tmp_path / "part.parquet"
    with pq.ParquetWriter(path, table.schema) as writer:
        for at, size in ((0, 10), (10, 1), (11, 20), (31, 9)):
            writer.write_table(table.slice(at, size))
    assert list(layout_of_parquet(path)) == ["row groups of several sizes"]
    files._make_groups_equal(path)
    assert list(layout_of_parquet(path)) == []
    assert pq.read_table(path).equals(table)
    assert [each.name for each in tmp_path.iterdir()] == ["part.parquet"]
    joined = tmp_path / "joined.parquet"
    files._write_in_equal_groups([path, path], joined)
    head = pq.read_metadata(joined)
    assert [head.row_group(number).num_rows for number in range(head.num_row_groups)] == [7] * 11 + [3]
    assert pq.read_table(joined).equals(pa.concat_tables([table, table]))
