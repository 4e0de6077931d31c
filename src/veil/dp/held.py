"""Where the rows are that questions are about: in memory, or with an engine that counts its combinations of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.provided import TABLE_OF_ENGINE
from veil.errors import InputError, did_you_mean
from veil.tables.source import Source, read


@runtime_checkable
class Held(Protocol):
    """A table that questions are asked of."""

    @property
    def names(self) -> Sequence[str]:
        """Its columns."""

    def select(self, names: Sequence[str]) -> Selected:
        """Return some columns of all records."""

    @property
    def has_rows(self) -> bool:
        """Whether single records have numbers."""


@dataclass(frozen=True)
class Selected:
    """Some columns: each combination of cells, and how many records have it."""

    table: pa.Table
    weights: NDArray[np.int64] | None = None

    def count(self, chosen: NDArray[np.bool_]) -> int:
        """Count the records of some rows."""
        return int(chosen.sum() if self.weights is None else self.weights[chosen].sum())


@dataclass(frozen=True)
class InMemory:
    """A table in memory."""

    table: pa.Table = field(repr=False)
    source: Source | None = field(default=None, repr=False)
    """Where it comes from: the account may be that of another table."""
    has_rows: bool = True

    @property
    def names(self) -> Sequence[str]:
        return list(self.table.column_names)

    def select(self, names: Sequence[str]) -> Selected:
        # A table without columns has no rows: one is kept, so that they can be counted.
        return Selected(self.table.select(list(names) or self.table.column_names[:1]))


def hold(source: Any) -> Held:
    """Return a table to ask questions of: a frame, a file, or whatever an engine holds.

    Engines know of this room, not the other way round: what they hold is asked for by `TABLE_OF_ENGINE`.
    """
    if isinstance(source, Held):
        return source
    if not isinstance(source, Source):
        found = TABLE_OF_ENGINE(source)
        if found is not None:
            return cast("Held", found)
        source = read(source)
    return InMemory(source.table, source)


def check_names(held: Held, names: Sequence[str]) -> None:
    """Refuse columns that are not there."""
    for name in names:
        if name not in held.names:
            raise InputError(f"there is no column {name!r}.{did_you_mean(name, held.names)}")
