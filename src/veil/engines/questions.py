"""Questions to tables that an engine holds: it counts combinations of cells, and the rest is as for tables in memory.

So answers are the same wherever the rows are, and sums are exact: engines add doubles in an order that changes, and what
that rounds is no part of any proof. CSV files are always read by Veil, line by line: to DuckDB, one line that it cannot read is
an error of the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from veil.dp.source import QuestionSource, Selected
from veil.engines.relation import Engine, Relation, relation_of
from veil.engines.scan.files import Files, files_of, format_of_files
from veil.engines.settings import Settings
from veil.errors import InputError
from veil.tables.cells import Cells
from veil.tables.formats import Csv, Format
from veil.tables.source import Source, read_cells


class EngineTable:
    """A table of an engine. Combinations that were counted once are kept."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._known: dict[tuple[str, ...], Selected] = {}

    @property
    def names(self) -> Sequence[str]:
        """Its columns."""
        return list(self._relation.original.table.columns)

    def select(self, names: Sequence[str]) -> Selected:
        """Return the different combinations of some columns with their numbers."""
        from veil.engines.source import condensed_source  # which needs Ibis

        wanted = tuple(names) or (self.names[0],)
        if wanted not in self._known:
            made = condensed_source(self._relation.cell_by_cell(), wanted, may_be_empty=True)
            assert made.weights is not None
            cells = {name: Cells.of(made.table[name]) for name in wanted}
            self._known[wanted] = Selected(cells, made.table.num_rows, made.weights)
        return self._known[wanted]


def hold_relation(
    source: Any, *, format: Format | None = None, engine: Engine = "auto", settings: Settings | None = None
) -> QuestionSource | Source | None:
    """Return a table that an engine holds or is to read, or CSV files; None for what belongs into memory."""
    if csv_files(source, format) is not None:
        return read_cell_by_cell(source, format)
    relation = relation_of(source, format=format, engine=engine, settings=settings, may_be_empty=True)
    return None if relation is None else EngineTable(relation)


def csv_files(source: Any, format: Format | None) -> list[Path] | None:
    """Return the files of a table that is a CSV file, or a folder or pattern of such; None for anything else."""
    if isinstance(source, Files):
        source, format = source.path, source.format
    if not isinstance(source, str | os.PathLike) or "://" in str(source):
        return None
    files = files_of(str(source))
    chosen = format if format is not None else format_of_files(files)
    return files if isinstance(chosen, Csv) else None


def read_cell_by_cell(source: Any, format: Format | None = None) -> Source:
    """Read a table into memory for a promise over neighbours: also several CSV files, all of them line by line."""
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
