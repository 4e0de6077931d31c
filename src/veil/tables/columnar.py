"""Parquet and Arrow IPC (Feather) files, whose columns have types already.

Arrow trusts the offsets in a file: one outside of its buffer is noticed when a cell is read, or never, and
then returns other memory. So a table is validated in full before any cell is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.errors import InputError
from veil.tables.reading import check_readable


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file."""
    import pyarrow.parquet as pq

    check_readable(path)
    with _reading(path, "Parquet"), pq.ParquetFile(path) as file:
        return _validated(file.read())


def read_feather(path: Path) -> pa.Table:
    """Read an Arrow IPC file (Feather version 2), or a stream.

    Feather version 1 is refused: Arrow's deprecated reader does not check lengths, so a damaged file ends the
    process.
    """
    check_readable(path)
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(b"FEA1"):
        raise InputError(
            f"{path}: is a Feather file of version 1, a format given up in 2020 that cannot be read safely. Write it "
            "again as Feather version 2, Parquet or CSV with the tool that made it"
        )
    with _reading(path, "Arrow or Feather"), pa.OSFile(str(path)) as file:
        open_ipc = pa.ipc.open_file if start.startswith(b"ARROW1") else pa.ipc.open_stream
        return _validated(open_ipc(file).read_all())


def write_parquet(table: pa.Table, file: Any) -> None:
    """Write a Parquet file, compressed with zstd."""
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def write_feather(table: pa.Table, file: Any) -> None:
    """Write an Arrow IPC file (Feather version 2) with LZ4, in one batch: others are padded with the next."""
    import pyarrow.feather as feather

    feather.write_feather(table, file, compression="lz4", chunksize=max(1, table.num_rows))


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of readers into an `InputError` with the first line of Arrow's message, or their name."""
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError) and not isinstance(error, pa.ArrowException):
            raise
        message = str(error).strip() if isinstance(error, pa.ArrowException | OSError) else ""
        reason = message.splitlines()[0] if message else type(error).__name__
        raise InputError(
            f"{path}: not a readable {kind} file: {reason}. Write or copy it again; if it has another format, "
            "say so with `format=`"
        ) from None


def _validated(table: pa.Table) -> pa.Table:
    """Return a table after checking every offset, length, index and character in it."""
    table.validate(full=True)
    for name in table.column_names:  # may be invalid UTF-8
        name.encode()
    return table
