"""All rows of a table on an engine, in memory: for steps that need whole records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from veil.base.progress import Progress
from veil.engines.relation import Relation
from veil.tables.cells import POINT, Marks
from veil.tables.source import Source


@dataclass(frozen=True, kw_only=True)
class Fetched(Source):
    """Rows in memory, and the relation that they were read from."""

    relation: Relation
    marks: Marks = POINT


def fetch_rows(relation: Relation, progress: Progress, columns: Sequence[str] | None = None) -> Fetched:
    """Read all rows of a table into memory, or some columns of them, as if they had come as a pyarrow table.

    >>> import ibis
    >>> from veil.engines import relation_of
    >>> people = ibis.memtable({"items": [["a", "b"], ["a"]]})
    >>> fetch_rows(relation_of(people), Progress()).table["items"].to_pylist()
    [['a', 'b'], ['a']]
    """
    progress.phase(f"reading all rows of {relation.name} into memory")
    table = relation.table if columns is None else relation.table.select(list(columns))
    return Fetched(relation.fetch(table), "pyarrow", relation=relation, marks=relation.marks)
