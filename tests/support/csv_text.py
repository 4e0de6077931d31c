"""Texts of CSV files, read as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.tables import Csv, Source, read


def parse(folder: Path, content: str | bytes, format: Csv | None = None, name: str = "t.csv") -> Source:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(path, format=format)


def column(folder: Path, *fields: str, **options: Any) -> pa.ChunkedArray:
    """The column that these fields become, written with a second column so that an empty field is one."""
    content = "x,y\n" + "".join(f"{field},-\n" for field in fields)
    return parse(folder, content, Csv(separator=",", **options)).table["x"]
