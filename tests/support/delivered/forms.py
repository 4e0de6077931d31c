"""The forms in which a table goes in and out: frames of every library, with every kind of column, and files.

What comes out is read with other programs than Veil, into plain Python values.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import math
import pickle
import re
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]

_NO_FRACTION = re.compile(r"(?<=:\d\d)\.(?:000)+([+-]\d\d:\d\d)?$")

FRAMES = (
    "pyarrow",
    "polars",
    "polars, lazy",
    "pandas",
    "pandas, objects",
    "pandas, nullable",
    "pandas, Arrow",
)
FILES = ("csv", "csv.gz", "tsv", "parquet", "feather", "xlsx")


def frame_of(table: pa.Table, form: str) -> Any:
    """Return a table as a frame."""
    match form:
        case "polars":
            return pl.from_arrow(table)
        case "polars, lazy":
            return pl.DataFrame(table).lazy()
        case "pandas":
            return table.to_pandas()
        case "pandas, objects":
            columns = {name: _objects(table[name].to_pylist()) for name in table.column_names}
            return pd.DataFrame(columns)
        case "pandas, nullable":
            with np.errstate(
                invalid="ignore"
            ):  # pandas 2 casts infinite numbers to see whether they are whole
                return table.to_pandas().convert_dtypes()
        case "pandas, Arrow":
            return table.to_pandas(types_mapper=pd.ArrowDtype)
    return table


def _objects(values: list[Any]) -> pd.Series[Any]:
    made = np.empty(len(values), object)
    made[:] = values
    return pd.Series(made, dtype=object)


def rows_of(frame: Any) -> Rows:
    """Read a frame as whoever has it would: cell by cell, in the words of its library."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return [dict(row) for row in frame.iter_rows(named=True)]
    if isinstance(frame, pd.DataFrame):
        columns = {str(name): frame[name].tolist() for name in frame.columns}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    rows: Rows = frame.to_pylist()
    return rows


def rows_of_file(path: Path) -> Rows:
    """Read a file with a library that has not written it; cells of CSV files are texts, and "" for nothing."""
    name = path.name
    if name.endswith((".csv", ".tsv", ".csv.gz")):
        text = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
        lines = csv.reader(
            io.StringIO(text.decode(), newline=""), delimiter="\t" if ".tsv" in name else ",", strict=True
        )
        head, *body = list(lines)
        # Of an instant, Arrow writes all digits; hierarchies spell those that are there.
        return [
            dict(zip(head, (_NO_FRACTION.sub(r"\1", each) for each in row or [""]), strict=True))
            for row in body
        ]
    if name.endswith(".parquet"):
        return rows_of(pl.read_parquet(path))
    if name.endswith(".feather"):
        return rows_of(pl.read_ipc(path))
    head, *cells = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return [dict(zip(head, row, strict=True)) for row in cells]


def bytes_of(frame: Any) -> bytes:
    """Whatever a frame holds: what its library writes of it, and its pickle."""
    written = io.BytesIO()
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        frame.write_ipc(written, compression="uncompressed")
    elif isinstance(frame, pd.DataFrame):
        written.write(pickle.dumps(frame))
    else:
        pyarrow.feather.write_feather(frame, written, compression="uncompressed")
        written.write(b"".join(_buffers(frame)))
    return written.getvalue()


def _buffers(table: pa.Table) -> list[bytes]:
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    return [each.to_pybytes() for chunk in chunks for each in chunk.buffers() if each is not None]


def bytes_of_file(path: Path) -> bytes:
    """Everything in a file, unpacked."""
    content = path.read_bytes()
    if path.name.endswith(".gz"):
        return content + gzip.decompress(content)
    if path.name.endswith(".xlsx"):
        with zipfile.ZipFile(path) as package:
            return content + b"".join(package.read(name) for name in package.namelist())
    if path.name.endswith(".feather"):
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
        return content + b"".join(_buffers(table)) + str(table.schema.metadata).encode()
    if path.name.endswith(".parquet"):
        return content + bytes_of(pq.read_table(path))
    return content


def is_missing(value: Any) -> bool:
    """Whether a cell shows nothing, in the words of any library."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def text_of(value: Any) -> str | None:
    """Spell a value as hierarchies do; None if there is none."""
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float):
        return (
            str(int(value))
            if math.isfinite(value) and value == int(value) and abs(value) < 1e15
            else repr(value)
        )
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    return str(value)
