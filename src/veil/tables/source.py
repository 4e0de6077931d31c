"""Reading a table from wherever it is, and giving the release the form that came in."""

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

Kind = Literal["pandas", "polars", "pyarrow", "file", "engine"]
RowsOrTypes: TypeAlias = pa.Table | Mapping[str, pa.DataType]
"""The rows of a file, or the types by which to read them."""


@dataclass(frozen=True)
class Source:
    """A table as Veil works on it, and what is needed to return the release in the form it came in.

    In `table`, every missing value is null, and text has Arrow's type ``string``; metadata is left out. Of a table that
    an engine holds, it has each combination of cells once: `weights` tells how often, and `columns` what other columns
    there are.
    """

    table: pa.Table
    kind: Kind
    path: Path | None = None
    format: Format | None = None
    frame: Frame | None = field(default=None, repr=False)
    weights: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    columns: tuple[str, ...] | None = None
    declared: Format | None = None
    """What the caller said of the format, without what was found from the content of the file."""
    is_cells: bool = False
    """Whether it was read cell by cell, for a promise about neighbours."""
    is_record: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    """Which rows are records, of lines that may be none; None if all are."""

    def check_index(self) -> None:
        """Refuse a frame with an index, which a release cannot have."""
        if self.frame is not None:
            self.frame.check_index()

    @property
    def files(self) -> list[tuple[Path, Format, RowsOrTypes]]:
        """The files that the table was read from, with their formats and their rows, or the types to read those by."""
        return [] if self.path is None or self.format is None else [(self.path, self.format, self.table)]

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.table.num_rows if self.weights is None else self.weights.sum())

    def fingerprint(self) -> str | None:
        """Return the SHA-256 of the file, or of names and cells of a frame; None where an engine cannot tell."""
        if self.path is not None:
            return file_digest(self.path)
        # Of Python objects the texts, as they are read for questions, too.
        table = normalize(self.frame.cells()) if isinstance(self.frame, PandasFrame) else self.table
        digest = hashlib.sha256()
        for name in table.column_names:
            column = table[name]
            if is_list(column.type):  # which Arrow cannot encode
                digest.update(json.dumps([name, column.to_pylist()], default=str).encode())
                continue
            values, codes = dictionary_encoded(column)
            digest.update(json.dumps([name, len(codes), values.to_pylist()], default=str).encode())
            digest.update(codes.astype("<i4").tobytes())
        return digest.hexdigest()

    @property
    def marks(self) -> Marks:
        """How numbers are written in cells that are text."""
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
            found = read_cells(self.path, format=self.declared)
            return replace(
                self, table=found.table, format=found.format, is_cells=True, is_record=found.is_record
            )
        assert isinstance(self.frame, PandasFrame)
        return replace(self, table=normalize(self.frame.cells()), is_cells=True)

    def only_records(self) -> Source:
        """Leave out rows that are no records."""
        if self.is_record is None:
            return self
        return replace(self, table=self.table.filter(pa.array(self.is_record)), is_record=None)

    def respelled(self, spellings: Mapping[str, Callable[[pa.Array], pa.Array]]) -> Source:
        """Return the cells with some columns as what functions make of their different values.

        What was found from the rows, such as the dialect of a file, is left out.
        """
        table = self.cells().table
        for name, spell in spellings.items():
            values, codes = dictionary_encoded(table[name])
            column = spell(values).take(pa.array(codes))
            table = table.set_column(table.column_names.index(name), name, column)
        return replace(self, table=table, format=self.declared, is_cells=True)

    def restore(
        self,
        table: pa.Table,
        rows: npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_] | None = None,
        *,
        drawn: Collection[str] = (),
    ) -> Any:
        """Return `table` as the kind of frame that was read; a pyarrow table if that was a file.

        `rows` says which rows of the source the rows of `table` come from (positions, or a mask) where
        some were dropped. Columns that equal their original keep its dtype; nothing else of the frame is passed on.
        Of columns that were `drawn` at random nobody learns by the dtype whether they do.
        """
        picked = self._pick_rows(table, rows)
        if self.frame is None:
            return only_used_categories(table)
        names = [name for name in table.column_names if name not in drawn]
        unchanged = {name for name in names if self._is_unchanged(name, table, picked)}
        return self.frame.from_arrow(table, unchanged)

    def _pick_rows(self, table: pa.Table, rows: Any) -> npt.NDArray[np.int64] | None:
        if rows is None:
            if table.num_rows != self.table.num_rows:
                raise ValueError(
                    f"`rows` is needed: the table has {table.num_rows} rows, its source {self.table.num_rows}"
                )
            return None
        rows = np.asarray(rows)
        picked: npt.NDArray[np.int64] = (np.flatnonzero(rows) if rows.dtype == bool else rows).astype(
            np.int64
        )
        if len(picked) != table.num_rows:
            raise ValueError(
                f"`rows` should select {table.num_rows} rows, as the table has, not {len(picked)}"
            )
        return picked

    def _is_unchanged(self, name: str, table: pa.Table, rows: npt.NDArray[np.int64] | None) -> bool:
        if name not in self.table.column_names:
            return False
        before, after = self.table.column(name), table.column(name)
        if before.type != after.type:
            return False
        if rows is None:
            return bool(after.equals(before))
        # Most columns that were changed differ soon, and to pick all rows takes long.
        return all(
            after[:some].equals(before.take(pa.array(rows[:some])))
            for some in (min(1000, len(rows)), len(rows))
        )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    try:
        with usable(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def read_cells(source: Any, *, format: Format | None = None) -> Source:
    """Read a table for a promise about neighbours: no cell is an error, gets a type from others, or changes how they are read.

    Cells of CSV and Excel files and of Python objects are text; a table without rows is one, too (see `veil.tables.cells`).
    Every line of a CSV file is a row: `is_record` tells which are records.
    """
    return replace(_read_cells(source, format), is_cells=True)


def _read_cells(source: Any, format: Format | None) -> Source:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        chosen = format if format is not None else format_of(path)
        if not isinstance(chosen, Csv):
            return _read_file(path, format, as_text=True, may_be_empty=True)
        table, is_record, chosen = read_lines(path, chosen)
        checked = _check_table(table, str(path), True)
        return Source(checked, "file", path, chosen, declared=format, is_record=is_record)
    found = frame_of(source)
    if found is None or not isinstance(found[1], PandasFrame):
        return read(source, format=format, may_be_empty=True)
    return Source(_check_table(found[1].cells(), "the table", True), "pandas", frame=found[1])


def read(source: Any, *, format: Format | None = None, may_be_empty: bool = False) -> Source:
    """Read a table from a pandas, polars or pyarrow frame, or from the path of a file.

    `format` describes the file where its name does not (see `veil.tables.formats`); whatever it leaves
    open is detected. Anything that cannot be used as it is raises an `InputError`, and so does a table without rows, unless it
    `may_be_empty` as a release may.

    >>> import pyarrow as pa
    >>> read(pa.table({"age": [30, 40]})).table.num_rows
    2
    """
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source), format, may_be_empty=may_be_empty)
    found = frame_of(source)
    if found is None:
        raise InputError(
            f"a {type(source).__name__} is not a table. Give a pandas, polars or pyarrow frame, or a path"
        )
    if format is not None:
        raise InputError(
            f"`format` describes files, and the source is a {type(source).__name__}: leave it out"
        )
    kind, frame = found
    table = frame.to_arrow()
    return Source(_check_table(table, "the table", may_be_empty), cast("Kind", kind), frame=frame)


def _read_file(
    path: Path, format: Format | None, *, as_text: bool = False, may_be_empty: bool = False
) -> Source:
    chosen: Format = format if format is not None else format_of(path)
    if isinstance(chosen, Csv):
        table, chosen = read_csv(path, chosen, as_text=as_text, may_be_empty=may_be_empty)
    elif isinstance(chosen, Excel):
        table, chosen = excel.read_excel(path, chosen, as_text=as_text, may_be_empty=may_be_empty)
    elif isinstance(chosen, Parquet):
        table = columnar.read_parquet(path)
    else:
        table = columnar.read_feather(path)
    return Source(_check_table(table, str(path), may_be_empty), "file", path, chosen, declared=format)


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
