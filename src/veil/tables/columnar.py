"""Parquet and Arrow IPC (Feather) files: typed already, so only opened, checked and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.errors import InputError
from veil.tables.reading import check_readable


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file."""
    import pyarrow.parquet as pq

    check_readable(path)
    try:
        with pq.ParquetFile(path) as file:
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, "Parquet", error) from None


def read_feather(path: Path) -> pa.Table:
    """Read an Arrow IPC file, also a stream or the older Feather version 1."""
    import pyarrow.feather as feather

    check_readable(path)
    try:
        with path.open("rb") as file:
            start = file.read(8)
        if not start.startswith((b"ARROW1", b"FEA1")):
            with pa.OSFile(str(path)) as stream:
                return pa.ipc.open_stream(stream).read_all()
        return feather.read_table(path, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, "Arrow or Feather", error) from None


def write_parquet(table: pa.Table, file: Any) -> None:
    """Write a Parquet file, compressed with zstd."""
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def write_feather(table: pa.Table, file: Any) -> None:
    """Write an Arrow IPC file (Feather version 2), compressed with LZ4, in one batch: parts are padded with the next."""
    import pyarrow.feather as feather

    feather.write_feather(table, file, compression="lz4", chunksize=max(1, table.num_rows))


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(
        f"{path}: not a readable {kind} file: {reason}. Write or copy it again; if it has another format, "
        "say so with `format=`"
    )
