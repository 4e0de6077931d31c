"""The number of people that some columns single out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.plan.plan import ASK
from veil.risk.grouping import published_of, table_of
from veil.tables.arrow import dictionary_encoded, with_one_zero
from veil.tables.columns import is_list


@dataclass(frozen=True)
class SingledOut:
    """Records that are unique in some columns, and their share of all records.

    If people may have several rows, these are people with a unique row. `distinction` is the number of
    different combinations divided by that of records, `separation` the share of all pairs of records that
    differ.
    """

    columns: tuple[str, ...]
    records: int
    share: float
    distinction: float
    separation: float

    @classmethod
    def of(cls, columns: tuple[str, ...], sizes: NDArray[np.int64], alone: int, people: int) -> SingledOut:
        """Compute the figures from the sizes of classes, and from the numbers of unique people and of all."""
        records = int(sizes.sum())
        pairs = records * (records - 1)
        alike = int((sizes.astype(np.float64) * (sizes - 1)).sum())
        return cls(
            columns,
            alone,
            alone / max(1, people),
            sizes.size / max(1, records),
            1 - alike / pairs if pairs else 0.0,
        )


def singled_out(source: Any, columns: str | Iterable[str], *, person: str | None = ASK) -> SingledOut:
    """Count the records of a table, as it was collected, that are unique in some columns.

    With `person`, the column that identifies people, these are people with a row that no other person has.

    >>> import pyarrow as pa
    >>> singled_out(pa.table({"age": [20, 20, 30], "sex": ["f", "m", "f"]}), ["age"])
    SingledOut(columns=('age',), records=1, share=0.3333333333333333, distinction=0.6666666666666666, separation=0.66...)
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    published = published_of(source, names, untouched=True, person=person).by_one_row()
    rows, visible_rows = published.rows, np.flatnonzero(~published.suppressed)
    alone = rows.people_in(visible_rows[published.sizes[published.classes] == 1])
    return SingledOut.of(names, published.sizes, alone, rows.people_in(visible_rows))


class SinglingOut:
    """`singled_out` for many sets of columns of one table: each column is coded once.

    >>> import pyarrow as pa
    >>> count_unique = SinglingOut(pa.table({"age": [20, 20, 30], "sex": ["f", "m", "f"]}))
    >>> count_unique(["age"]).records, count_unique(["age", "sex"]).records
    (1, 3)
    """

    def __init__(self, table: pa.Table) -> None:
        self.table = table_of(table)
        self._codes: dict[str, tuple[int, NDArray[np.int64]]] = {}

    def __call__(self, columns: str | Iterable[str], *, person: str | None = ASK) -> SingledOut:
        """Count the records that are unique in some columns."""
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        kinds = [self.table.schema.field(name).type for name in names if name in self.table.column_names]
        if person is not None or len(kinds) < len(names) or any(is_list(kind) for kind in kinds):
            return singled_out(self.table, names, person=person)
        key, size = np.zeros(self.table.num_rows, np.int64), 1
        for name in names:
            number, codes = self._coded(name)
            if size * number >= _MOST:  # too many combinations: number only those that occur
                _, key = np.unique(key, return_inverse=True)
                size = int(key.max(initial=0)) + 1
            key = key * number + codes
            size *= number
        key.sort()
        sizes = np.diff(np.flatnonzero(np.diff(key, prepend=-1, append=-1)))
        return SingledOut.of(names, sizes, int(np.count_nonzero(sizes == 1)), key.size)

    def _coded(self, name: str) -> tuple[int, NDArray[np.int64]]:
        if name not in self._codes:
            values, codes = dictionary_encoded(with_one_zero(self.table[name]))
            self._codes[name] = max(1, len(values)), codes.astype(np.int64)
        return self._codes[name]


_MOST = 2**62
