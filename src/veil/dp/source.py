"""Sources of rows for questions: a table in memory, or an engine that counts its combinations of cells.

Both return the texts of cells (`veil.tables.cells`): behind this boundary no column has a type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.dp.neighbours import Neighbours
from veil.dp.unit import Unit
from veil.errors import InputError, PlanError, Say, did_you_mean
from veil.tables.cells import Cells
from veil.tables.formats import Excel, Format
from veil.tables.rows import Weights
from veil.tables.source import Source
from veil.tables.text import canonical_text


@dataclass(frozen=True)
class Selected:
    """Some columns of all records, or of each combination of cells with the number of its records."""

    cells: Mapping[str, Cells]
    weights: Weights

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.weights.rows

    def take(self, rows: NDArray[np.int64], weights: Weights) -> Selected:
        """Return some rows."""
        return Selected({name: each.take(rows) for name, each in self.cells.items()}, weights)


@runtime_checkable
class QuestionSource(Protocol):
    """A table that can be queried."""

    @property
    def names(self) -> Sequence[str]:
        """Its columns."""

    def select(self, names: Sequence[str]) -> Selected:
        """Return some columns."""


@dataclass(frozen=True)
class MemorySource:
    """A table in memory."""

    table: pa.Table = field(repr=False)
    source: Source | None = field(default=None, repr=False)
    """Its origin, since the account may be that of another table."""
    format: Format | None = None
    """How to read the texts of files."""
    _cells: dict[str, Cells] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.column_names)

    def select(self, names: Sequence[str]) -> Selected:
        for name in names:
            if name not in self._cells:
                column = self.table[name]
                canonical_text(pa.nulls(0, column.type), column=name)  # refuses types that have no text form
                self._cells[name] = Cells.of(column, self.format)
        return Selected({name: self._cells[name] for name in names}, Weights(self.table.num_rows))


class TruncatedOwners:
    """The records of a table that take part: at most so many of each person.

    They are drawn once, so that all questions are about the same records; from an engine, once for each set
    of columns, as combinations of other cells are other rows.
    """

    def __init__(self, source: QuestionSource, unit: Unit, randomness: Randomness) -> None:
        self._source, self._unit, self._randomness = source, unit, randomness
        self._draws: dict[tuple[str, ...], tuple[NDArray[np.int64], Weights]] = {}

    def select(self, names: Sequence[str]) -> Selected:
        """Return some columns of the records that take part."""
        person = self._unit.person
        if person is None:
            return self._source.select(names)
        selected = self._source.select(list(dict.fromkeys([*names, person])))
        columns = () if selected.weights.are_one else tuple(names)
        if columns not in self._draws:
            self._draws[columns] = self._unit.draw(selected.cells[person], selected.weights, self._randomness)
        return selected.take(*self._draws[columns])


def as_source(source: QuestionSource | Source, neighbours: Neighbours, unit: Unit) -> QuestionSource:
    """Return a table in memory or in an engine as one that can be queried.

    Lines of a file that are no records are left out; where the number of records is public they are records
    without a cell, as a line that is changed remains a line.
    """
    if isinstance(source, QuestionSource):
        return source
    cells = source.cells()
    if neighbours == "one more or less":
        cells = cells.only_records()
    elif isinstance(cells.format, Excel) and unit.person is None:
        raise PlanError(
            'a sheet does not show a blank row at its end, so that its number of records is not public: neighbours="one '
            'changed" needs a CSV or Parquet file, or a column that tells people apart in ',
            Say("person"),
        )
    several = source.kind == "file" and source.path is None  # tables that only their path identifies
    return MemorySource(cells.table, None if several else source, cells.format)


def check_names(source: QuestionSource, names: Sequence[str]) -> None:
    """Refuse names of missing columns."""
    for name in names:
        if name not in source.names:
            raise InputError(f"there is no column {name!r}.{did_you_mean(name, source.names)}")
