"""All rows of a table that an engine holds, in memory: for what has to look at whole records."""

from __future__ import annotations

import pyarrow as pa

from veil.base.progress import Progress
from veil.engines.relation import Relation
from veil.tables.arrow import normalize
from veil.tables.source import Source


def fetch_rows(relation: Relation, progress: Progress) -> Source:
    """Read all rows of a table into memory, as if they had come as a pyarrow table.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> held = ibis.memtable({"items": [["a", "b"], ["a"]]})
    >>> fetch_rows(relation_of(held), Progress()).table["items"].to_pylist()
    [['a', 'b'], ['a']]
    """
    progress.phase(f"reading all rows of {relation.name} into memory")
    with relation.explain_errors(), relation.batches(relation.table) as batches:
        rows = batches.read_all()
    columns = {name: relation.arrow_view(name, rows[name]) for name in rows.column_names}
    return Source(normalize(pa.table(columns)), "pyarrow")
