"""A sample of rows of a table on an engine, for a person who decides what its columns mean."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from veil.engines.dialects import collect
from veil.engines.relation import Relation

SOME = 100_000
"""Number of rows that show the contents of a column."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some rows, and the number of all rows."""

    table: pa.Table
    total: int


def sample_rows(relation: Relation, rows: int = SOME) -> RowSample:
    """Read some rows of a table, spread over all of it if the engine can do that.

    They show what columns hold, but not everything: no decision rests on them alone.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> sample = sample_rows(relation_of(ibis.memtable({"age": [30, 41, 52]})), rows=2)
    >>> sample.table.num_rows <= 2, sample.total
    (True, 3)
    """
    table = relation.table
    with relation.explain_errors():
        counts = collect(relation.backend, table.aggregate(rows=lambda all_: all_.count()))
        total = int(counts["rows"][0].as_py())
    # A little more than needed, as a random sample may be smaller; the rest is cut off.
    some = table.sample(min(1.0, 1.2 * rows / total)).limit(rows) if total > rows else table
    return RowSample(relation.fetch(some), total)
