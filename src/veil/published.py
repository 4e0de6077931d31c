"""A published table seen from outside: plain group-bys on its cells, nothing from the engine.

The verifier and `veil.assess` look at tables this way, so that a mistake in the engine cannot hide itself.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

FLAG = "suppressed"
"""Column that says which rows are suppressed, where their cells alone would not tell."""


class Published:
    """Records of a published table, grouped by their quasi-identifiers.

    A record is suppressed if the flag column says so, or, without one, if every quasi-identifier holds the
    marker (or nothing, where the marker cannot stand). Suppressed records say nothing about anybody's
    quasi-identifiers and belong to no class.

    `baseline` holds the sensitive columns of all records that could have been released (by default those of
    the table itself), and `population` the generalized quasi-identifiers, as text, of everybody that the
    released records were chosen from (None if that is nobody else).

    >>> table = pa.table({"age": ["20-29", "20-29", "*"], "zip": ["1**", "1**", "*"]})
    >>> Published(table, ["age", "zip"]).sizes.tolist()
    [2]
    """

    def __init__(
        self,
        table: pa.Table,
        quasi_identifiers: Sequence[str],
        *,
        marker: str | None = "*",
        flag: str | None = None,
        untouched: bool = False,
        baseline: pa.Table | None = None,
        population: pa.Table | None = None,
    ) -> None:
        self.table = table
        self.baseline = table if baseline is None else baseline
        self.population = population
        self.names = list(quasi_identifiers)
        if untouched:
            self.suppressed = np.zeros(table.num_rows, np.bool_)
        elif flag is not None:
            self.suppressed = np.array(table[flag].combine_chunks(), dtype=np.bool_)
        else:
            self.suppressed = _all_marked([table[name] for name in self.names], marker)
        self.records = table.num_rows

    @property
    def suppressed_records(self) -> int:
        """Number of suppressed records."""
        return int(self.suppressed.sum())

    @functools.cached_property
    def kept(self) -> pa.Table:
        """The records that are not suppressed."""
        return self.table.filter(pa.array(~self.suppressed)) if self.suppressed.any() else self.table

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records in each class."""
        if not self.names:
            return np.array([self.kept.num_rows] if self.kept.num_rows else [], np.int64)
        grouped = self.kept.select(self.names).group_by(self.names).aggregate([([], "count_all")])
        return np.array(grouped["count_all"].combine_chunks(), dtype=np.int64)

    def histograms(self, attribute: str) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.int64]]:
        """Class number, value and record count of each value of an attribute in each class."""
        # The missing value is a value, so keys are codes that include it.
        kept = self.kept
        coded = pa.table([_codes(kept[name]) for name in self.names], names=self.names)
        first = coded.append_column("row", pa.array(np.arange(kept.num_rows)))
        numbers = first.group_by(self.names).aggregate([("row", "min")])
        numbers = numbers.append_column("class", pa.array(np.arange(numbers.num_rows)))
        classes = first.join(numbers, keys=self.names).sort_by("row")["class"]
        pairs = pa.table({"class": classes, "value": kept[attribute]})
        counted = pairs.group_by(["class", "value"]).aggregate([([], "count_all")])
        number, count = (np.array(counted[n].combine_chunks(), dtype=np.int64) for n in ("class", "count_all"))
        return number, counted["value"].combine_chunks(), count


def _all_marked(columns: list[pa.ChunkedArray], marker: str | None) -> NDArray[np.bool_]:
    result = None
    for column in columns:
        if marker is None or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            here = pc.is_null(column)
        else:
            here = pc.fill_null(pc.equal(column, marker), False)
        result = here if result is None else pc.and_(result, here)
    assert result is not None
    return np.array(result.combine_chunks(), dtype=np.bool_)


def _codes(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks().dictionary_encode(null_encoding="encode").indices
