"""Reading a table from a frame or a file, and returning the release in the same form."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.base.paths import usable
from veil.errors import InputError
from veil.tables import columnar, excel
from veil.tables.arrow import dictionary_encoded, normalize, only_used_categories
from veil.tables.cells import POINT, Marks
from veil.tables.columns import is_list
from veil.tables.csv.lines import read_lines
from veil.tables.csv.reader import read_csv
from veil.tables.formats import Csv, Excel, Format, Parquet, format_of
from veil.tables.frames import Frame, PandasFrame, check_names, frame_of
from veil.tables.rows import Integers, Rows

Kind = Literal["pandas", "polars", "pyarrow", "file", "engine"]
RowsOrTypes: TypeAlias = pa.Table | Mapping[str, pa.DataType]
"""The rows of a file, or the types by which to read them."""


@dataclass(frozen=True)
class Source:
    """A table in normal form, and the data needed to return the release in the form of the input.

    In `table`, every missing value is null, and text has Arrow's type ``string``; metadata is left out. If an
    engine holds the table, `table` has each combination of cells once, with its frequency in `weights`, and
    `columns` are the names of all columns.
    """

    table: pa.Table
    kind: Kind
    path: Path | None = None
    format: Format | None = None
    frame: Frame | None = field(default=None, repr=False)
    weights: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    columns: tuple[str, ...] | None = None
    declared: Format | None = None
    """The format as the caller gave it, without parameters that were detected in the file."""
    is_cells: bool = False
    """Whether it was read cell by cell, for a promise about neighbours."""
    is_record: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    """A mask of the rows that are records, if lines may be none; None if all are."""

    def check_index(self) -> None:
        """Refuse a frame with an index, which a release cannot have."""
        if self.frame is not None:
            self.frame.check_index()

    @property
    def files(self) -> list[tuple[Path, Format, RowsOrTypes]]:
        """The files of the table, with their formats and their rows, or the types of their columns."""
        return [] if self.path is None or self.format is None else [(self.path, self.format, self.table)]

    @property
    def rows(self) -> Rows:
        """The rows with their weights, each about another person."""
        return Rows.of(self.table, self.weights)

    @property
    def records(self) -> int:
        """Number of records."""
        return self.rows.weights.total

    def fingerprint(self) -> str | None:
        """Return the SHA-256 of the file, or of names and cells of a frame; None for tables of engines."""
        if self.path is not None:
            return file_digest(self.path)
        # Python objects count by their texts, as for questions.
        table = normalize(self.frame.cells()) if isinstance(self.frame, PandasFrame) else self.table
        return cells_digest(table)

    @property
    def marks(self) -> Marks:
        """The marks of numbers in cells that are text."""
        return Marks(self.format.decimal, self.format.thousands) if isinstance(self.format, Csv) else POINT

    def as_text(self) -> pa.Table:
        """Return the table with all cells of a CSV or Excel file as text."""
        if self.path is None or not isinstance(self.format, Csv | Excel):
            return self.table
        return _read_file(self.path, self.format, as_text=True, may_be_empty=True).table

    def cells(self) -> Source:
        """Return the table as `read_cells` reads it."""
        if self.is_cells or (self.path is None and not isinstance(self.frame, PandasFrame)):
            return self
        if self.path is not None:
            source = read_cells(self.path, format=self.declared)
            return replace(
                self, table=source.table, format=source.format, is_cells=True, is_record=source.is_record
            )
        assert isinstance(self.frame, PandasFrame)
        return replace(self, table=normalize(self.frame.cells()), is_cells=True)

    def only_records(self) -> Source:
        """Return the source without rows that are no records."""
        if self.is_record is None:
            return self
        return replace(self, table=self.table.filter(pa.array(self.is_record)), is_record=None)

    def respelled(self, spellings: Mapping[str, Callable[[pa.Array], pa.Array]]) -> Source:
        """Return the cells with some columns replaced by functions of their different values.

        Properties that were detected in the rows, such as the dialect of a file, are left out.
        """
        table = self.cells().table
        for name, spell in spellings.items():
            values, codes = dictionary_encoded(table[name])
            column = spell(values).take(pa.array(codes))
            table = table.set_column(table.column_names.index(name), name, column)
        return replace(self, table=table, format=self.declared, is_cells=True)

    def restore(
        self, table: pa.Table, rows: Integers | None = None, *, random_columns: Collection[str] = ()
    ) -> Any:
        """Return `table` as the kind of frame that was read; a pyarrow table if that was a file.

        `rows` are the numbers of the rows of the source from which those of `table` come; None if all are there
        in their order. Columns that equal their original keep its dtype, except `random_columns`, whose dtype
        must not disclose whether they do; nothing else of the frame is passed on.
        """
        origins = self.table.num_rows if rows is None else len(rows)
        if table.num_rows != origins:
            raise ValueError(
                f"`rows` should be those of {table.num_rows} rows of the table, not of {origins}"
            )
        if self.frame is None:
            return only_used_categories(table)
        names = [name for name in table.column_names if name not in random_columns]
        unchanged = {name for name in names if self._is_unchanged(name, table, rows)}
        return self.frame.from_arrow(table, unchanged)

    def _is_unchanged(self, name: str, table: pa.Table, rows: Integers | None) -> bool:
        if name not in self.table.column_names:
            return False
        before, after = self.table.column(name), table.column(name)
        if before.type != after.type:
            return False
        if rows is None:
            return bool(after.equals(before))
        # Most changed columns differ early, and comparing all rows takes long.
        return all(
            after[:some].equals(before.take(pa.array(rows[:some])))
            for some in (min(1000, len(rows)), len(rows))
        )


def cells_digest(*tables: pa.Table) -> str:
    """Return the SHA-256 of names and cells, in hexadecimal."""
    digest = hashlib.sha256()
    for name, column in ((name, table[name]) for table in tables for name in table.column_names):
        if is_list(column.type):  # Arrow cannot encode lists
            digest.update(json.dumps([name, column.to_pylist()], default=str).encode())
            continue
        values, codes = dictionary_encoded(column)
        digest.update(json.dumps([name, len(codes), values.to_pylist()], default=str).encode())
        digest.update(codes.astype("<i4").tobytes())
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    try:
        with usable(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_cells(source: Any, *, format: Format | None = None) -> Source:
    """Read a table for promises about neighbouring ones: no cell is an error or changes how others are read.

    Cells of CSV and Excel files and of Python objects are text; a table without rows is allowed (see
    `veil.tables.cells`). Every line of a CSV file is a row: `is_record` is a mask of the records.
    """
    return replace(_read_cells(source, format), is_cells=True)


def _read_cells(source: Any, format: Format | None) -> Source:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        resolved = format if format is not None else format_of(path)
        if not isinstance(resolved, Csv):
            return _read_file(path, format, as_text=True, may_be_empty=True)
        table, is_record, resolved = read_lines(path, resolved)
        checked = _check_table(table, str(path), True)
        return Source(checked, "file", path, resolved, declared=format, is_record=is_record)
    adapter = frame_of(source)
    if adapter is None or not isinstance(adapter[1], PandasFrame):
        return read(source, format=format, may_be_empty=True)
    return Source(_check_table(adapter[1].cells(), "the table", True), "pandas", frame=adapter[1])


def read(source: Any, *, format: Format | None = None, may_be_empty: bool = False) -> Source:
    """Read a table from a pandas, polars or pyarrow frame, or from the path of a file.

    `format` describes the file where its name does not (see `veil.tables.formats`); parameters that it leaves
    open are detected. A source that cannot be used as it is raises an `InputError`, and so does a table
    without rows, unless it `may_be_empty`, as a release may.

    >>> import pyarrow as pa
    >>> read(pa.table({"age": [30, 40]})).table.num_rows
    2
    """
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source), format, may_be_empty=may_be_empty)
    adapter = frame_of(source)
    if adapter is None:
        raise InputError(
            f"a {type(source).__name__} is not a table. Give a pandas, polars or pyarrow frame, or a path"
        )
    if format is not None:
        raise InputError(
            f"`format` describes files, and the source is a {type(source).__name__}: leave it out"
        )
    kind, frame = adapter
    table = frame.to_arrow()
    return Source(_check_table(table, "the table", may_be_empty), cast("Kind", kind), frame=frame)


def _read_file(
    path: Path, format: Format | None, *, as_text: bool = False, may_be_empty: bool = False
) -> Source:
    resolved: Format = format if format is not None else format_of(path)
    if isinstance(resolved, Csv):
        table, resolved = read_csv(path, resolved, as_text=as_text, may_be_empty=may_be_empty)
    elif isinstance(resolved, Excel):
        table, resolved = excel.read_excel(path, resolved, as_text=as_text, may_be_empty=may_be_empty)
    elif isinstance(resolved, Parquet):
        table = columnar.read_parquet(path)
    else:
        table = columnar.read_feather(path)
    return Source(_check_table(table, str(path), may_be_empty), "file", path, resolved, declared=format)


def _check_table(table: pa.Table, where: str, may_be_empty: bool) -> pa.Table:
    try:
        check_names(table.column_names)
    except InputError as error:
        raise error.after(f"{where}: ") from None
    if not table.num_columns:
        raise InputError(f"{where} has no columns")
    if not table.num_rows and not may_be_empty:
        raise InputError(f"{where} has no rows. It should hold at least one")
    return normalize(table)
