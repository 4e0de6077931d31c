"""Writing files whole or not at all.

A file is written in a staging folder beside its target, synced to the disk, and renamed onto the target in
one step. After a failure (an error, a full disk, Ctrl-C), the target is as it was before and the staging
folder is removed; after a kill, the next run that writes there removes it.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from veil.errors import OutputError
from veil.tables import columnar, excel
from veil.tables.arrow import only_used_categories
from veil.tables.atomic import AtomicWrite
from veil.tables.csv.writer import write_csv
from veil.tables.formats import Csv, Excel, Format, Parquet, is_gzip, output_format


def write(table: pa.Table, path: str | os.PathLike[str], *, format: Format | None = None) -> None:
    """Write a table to a file, atomically, in the given format or that of its name.

    Only the cells are written: no metadata of the table or its columns, no layout, and no categories that do
    not occur.

    >>> import pyarrow as pa, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "release.csv")
    ...     write(pa.table({"age": [30, None], "zip": ["02139", ""]}), path)
    ...     print(path.read_text(), end="")
    age,zip
    30,02139
    ,""
    """
    target = Path(path)
    output = format if format is not None else output_format(target)
    # In one piece: the bounds of chunks would disclose how the table was put together.
    table = only_used_categories(pa.table(table.columns, names=table.column_names)).combine_chunks()
    with atomic(target) as temporary, temporary.open("wb") as file:
        try:
            _write(table, file, output, packed=is_gzip(target))
        except pa.ArrowException as error:
            raise OutputError(f"{target}: cannot hold this table: {error}") from error


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and renamed to `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(Path(folder, "report.html")) as temporary:
    ...         _ = temporary.write_text("<p>done</p>")
    ...     [each.name for each in Path(folder).iterdir()]
    ['report.html']
    """
    with AtomicWrite() as files, files.making(Path(path)) as temporary:
        yield temporary


def _write(table: pa.Table, file: BinaryIO, format: Format, *, packed: bool) -> None:
    if isinstance(format, Csv):
        if packed:
            # No name and no time, so that the same table gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as stream:
                write_csv(table, stream, format)  # type: ignore[arg-type]
        else:
            write_csv(table, file, format)
    elif isinstance(format, Excel):
        excel.write_excel(table, file, format)
    elif isinstance(format, Parquet):
        columnar.write_parquet(table, file)
    else:
        columnar.write_feather(table, file)


def file_name(name: str) -> str:
    """Return a name for a file of a table that is valid on any system.

    >>> file_name("pseudonyms of name")
    'pseudonyms-of-name.csv'
    """
    return (re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "table") + ".csv"
