"""Questions to tables on an engine: it counts combinations of cells, and the rest is as for tables in memory.

So answers do not depend on where the rows are, and sums are exact: engines add doubles in a varying order,
and the rounding of that is no part of any proof. CSV files are always read by Veil, line by line: to DuckDB,
one line that it cannot read is an error of the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veil.dp.source import Selected
from veil.engines.relation import Relation
from veil.engines.scan.files import Files, files_of, format_of_files
from veil.errors import InputError
from veil.tables.cells import Cells
from veil.tables.formats import Csv, Format
from veil.tables.rows import Weights
from veil.tables.source import Source, read_cells


class EngineQuestionSource:
    """A table on an engine, with the combinations counted so far."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._counts: dict[tuple[str, ...], Selected] = {}

    @property
    def names(self) -> Sequence[str]:
        """The columns of the table."""
        return list(self._relation.original.table.columns)

    def select(self, names: Sequence[str]) -> Selected:
        """Return the different combinations of some columns with their numbers of records."""
        from veil.engines.source import condensed_source  # which needs Ibis

        columns = tuple(names) or (self.names[0],)
        if columns not in self._counts:
            source = condensed_source(self._relation.cell_by_cell(), columns, may_be_empty=True)
            cells = {name: Cells.of(source.table[name]) for name in columns}
            self._counts[columns] = Selected(cells, Weights(source.table.num_rows, source.weights))
        return self._counts[columns]


def csv_files(source: Any, format: Format | None) -> list[Path] | None:
    """Return the files of a table in a CSV file, or a folder or pattern of such; None for anything else."""
    if isinstance(source, Files):
        source, format = source.path, source.format
    if not isinstance(source, str | os.PathLike) or "://" in str(source):
        return None
    files = files_of(str(source))
    file_format = format if format is not None else format_of_files(files)
    return files if isinstance(file_format, Csv) else None


def read_cell_by_cell(source: Any, format: Format | None = None) -> Source:
    """Read a table into memory for a promise over neighbours: one or several CSV files line by line."""
    files = csv_files(source, format)
    if files is None:
        return read_cells(source, format=format)
    if isinstance(source, Files):
        format = source.format
    first, *others = [read_cells(file, format=format) for file in files]
    for file, other in zip(files[1:], others, strict=True):
        if other.table.column_names != first.table.column_names:
            raise InputError(
                f"{file}: has other columns than {files[0]}. Give files with the same columns in the same order"
            )
    if not others:
        return first
    table = pa.concat_tables([each.table for each in (first, *others)])
    rows = [each.is_record for each in (first, *others) if each.is_record is not None]
    return replace(first, path=None, table=table, is_record=np.concatenate(rows))
