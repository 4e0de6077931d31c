"""How often values occur in a table that an engine holds: it counts, and no more than the different values come over."""

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
"""Different values of a column that are enough to see what they look like."""


class HeldTally:
    """Counts of a table that an engine holds, as `veil.tables.tally.InMemory` gives them of one in memory.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> HeldTally(relation_of(ibis.memtable({"patient": [1, 1, 2, None]}))).tally(["patient"])
    Tally(rows=3, different=2, pairs=1, most=2)
    """

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._known: dict[tuple[str, ...], MemoryTally] = {}

    @property
    def columns(self) -> Sequence[str]:
        return list(self._relation.table.columns)

    def some(self, name: str) -> pa.ChunkedArray:
        table = self._relation.table.select(name).distinct().limit(_SOME)
        with self._relation.explain_errors():
            values = collect(self._relation.backend, table)
        found = normalize(values)[name].combine_chunks()
        cells = found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
        return pa.chunked_array([cells.filter(pa.array(~no_value(cells)))])

    def tally(self, names: Sequence[str]) -> Tally:
        if any(self._relation.table[name].type().is_string() for name in names):
            return self._fetched(names).tally(names)  # no engine folds spellings as Python does
        grouped, count = self._grouped(names)
        rows = grouped[count].cast("int64")
        asked = grouped.aggregate(
            rows=rows.sum(), different=grouped.count(), squares=(rows * rows).sum(), most=rows.max()
        )
        with self._relation.explain_errors():
            found = collect(self._relation.backend, asked).to_pylist()[0]
        total = int(found["rows"] or 0)
        pairs = (int(found["squares"] or 0) - total) // 2
        return Tally(total, int(found["different"]), pairs, int(found["most"] or 0))

    def words(self, name: str) -> tuple[Tally, Tally]:
        return self._fetched([name]).words(name)

    def alike(self, name: str) -> tuple[str, ...]:
        return self._fetched([name]).alike(name) if self._relation.table[name].type().is_string() else ()

    def _fetched(self, names: Sequence[str]) -> MemoryTally:
        """The combinations of some columns, in memory, with the number of rows that each stands for."""
        if (*names,) not in self._known:
            grouped, count = self._grouped(names)
            with self._relation.explain_errors():
                found = normalize(collect(self._relation.backend, grouped))
            weights = np.array(found[count].cast(pa.int64()), dtype=np.int64)
            self._known[(*names,)] = MemoryTally(found.drop_columns([count]), weights)
        return self._known[(*names,)]

    def _grouped(self, names: Sequence[str]) -> tuple[ibis.Table, str]:
        """Return the combinations of some columns that have a value in each, and the name of the column with their number."""
        table = self._relation.table
        for name in names:
            table = table.filter(~is_missing(table[name]))
        table, count = table.select(list(names)), f"{free_prefix(names)}_rows"
        return table.group_by(list(names)).agg(**{count: table.count()}), count
