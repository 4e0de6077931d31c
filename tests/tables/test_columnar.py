"""Damaged Parquet and Feather files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.refusals import refused
from veil.errors import InputError
from veil.tables import Format, read


def refusal(path: Path, format: Format | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read(path, format=format)
    message = str(caught.value)
    assert message.startswith(str(path)), "the file is named"
    return message.removeprefix(str(path))


@pytest.mark.parametrize(("name", "kind"), [("t.parquet", "Parquet"), ("t.feather", "Arrow or Feather")])
def test_corrupt_columnar_files(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    for content in (b"not what it says", b"PAR1" + b"\0" * 40 + b"PAR1", b"ARROW1\0\0" + b"\1" * 40):
        path.write_bytes(content)
        assert f": not a readable {kind} file" in refusal(path)


def test_a_parquet_file_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(1000)}), path)
    path.write_bytes(path.read_bytes()[:-200])
    assert "Parquet file" in refusal(path)


def test_a_parquet_file_without_rows_or_with_duplicate_names(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    assert " has no rows" in refusal(path)
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    assert "named 'a'" in refusal(path)


def test_feather_of_version_1_is_refused_before_arrow_reads_it(tmp_path: Path) -> None:
    """Arrow's reader of it ends the process at one changed byte in ten."""
    file = tmp_path / "old.feather"
    file.write_bytes(b"FEA1" + bytes(256) + b"FEA1")
    with refused(InputError, "Feather", "version 1"):
        read(file)
