"""Frequencies of values in a table on an engine: it counts, and only the different values are fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veil.engines.dialects import collect
from veil.engines.lookups import free_prefix, is_missing
from veil.tables.arrow import normalize
from veil.tables.tally import MemoryTally, Tally, no_value

if TYPE_CHECKING:
    import ibis

    from veil.engines.relation import Relation

_SOME = 1000
"""Number of different values of a column that show what they look like."""


class EngineTally:
    """Counts of a table on an engine, as `veil.tables.tally.MemoryTally` has them of one in memory.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> EngineTally(relation_of(ibis.memtable({"patient": [1, 1, 2, None]}))).tally(["patient"])
    Tally(rows=3, different=2, pairs=1, most=2)
    """

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._counts: dict[tuple[str, ...], MemoryTally] = {}

    @property
    def columns(self) -> Sequence[str]:
        return list(self._relation.table.columns)

    def some(self, name: str) -> pa.ChunkedArray:
        table = self._relation.table.select(name).distinct().limit(_SOME)
        with self._relation.explain_errors():
            values = collect(self._relation.backend, table)
        column = normalize(values)[name].combine_chunks()
        cells = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
        return pa.chunked_array([cells.filter(pa.array(~no_value(cells)))])

    def tally(self, names: Sequence[str]) -> Tally:
        if any(self._relation.table[name].type().is_string() for name in names):
            return self._fetched(names).tally(names)  # no engine folds spellings as Python does
        grouped, count = self._grouped(names)
        rows = grouped[count].cast("int64")
        query = grouped.aggregate(
            rows=rows.sum(), different=grouped.count(), squares=(rows * rows).sum(), most=rows.max()
        )
        with self._relation.explain_errors():
            counts = collect(self._relation.backend, query).to_pylist()[0]
        total = int(counts["rows"] or 0)
        pairs = (int(counts["squares"] or 0) - total) // 2
        return Tally(total, int(counts["different"]), pairs, int(counts["most"] or 0))

    def words(self, name: str) -> tuple[Tally, Tally]:
        return self._fetched([name]).words(name)

    def alike(self, name: str) -> tuple[str, ...]:
        return self._fetched([name]).alike(name) if self._relation.table[name].type().is_string() else ()

    def _fetched(self, names: Sequence[str]) -> MemoryTally:
        """Return the combinations of some columns in memory, with the number of rows of each."""
        if (*names,) not in self._counts:
            grouped, count = self._grouped(names)
            with self._relation.explain_errors():
                combinations = normalize(collect(self._relation.backend, grouped))
            weights = np.array(combinations[count].cast(pa.int64()), dtype=np.int64)
            self._counts[(*names,)] = MemoryTally(combinations.drop_columns([count]), weights)
        return self._counts[(*names,)]

    def _grouped(self, names: Sequence[str]) -> tuple[ibis.Table, str]:
        """Return the combinations of columns without missing values, and the name of their count."""
        table = self._relation.table
        for name in names:
            table = table.filter(~is_missing(table[name]))
        table, count = table.select(list(names)), f"{free_prefix(names)}_rows"
        return table.group_by(list(names)).agg(**{count: table.count()}), count
