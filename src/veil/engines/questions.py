"""Questions to tables that an engine holds: it counts combinations of cells, and the rest is as for tables in memory.

So answers are the same wherever the rows are, and sums are exact: engines add doubles in an order that changes, and what
that rounds is no part of any proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veil.dp.held import Selected
from veil.engines.relation import Engine, Relation, relation_of
from veil.engines.settings import Settings
from veil.tables.formats import Format


class HeldByEngine:
    """A table of an engine. Combinations that were counted once are kept."""

    has_rows = False

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
            made = condensed_source(self._relation, wanted)
            self._known[wanted] = Selected(made.table, made.weights)
        return self._known[wanted]


def hold_relation(
    source: Any, *, format: Format | None = None, engine: Engine = "auto", settings: Settings | None = None
) -> HeldByEngine | None:
    """Return a table that an engine holds or is to read; None if it belongs into memory."""
    relation = relation_of(source, format=format, engine=engine, settings=settings)
    return None if relation is None else HeldByEngine(relation)
