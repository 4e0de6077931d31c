"""Opening a source: into memory, or condensed by the engine that holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veil.base.progress import Progress
from veil.engines.relation import Engine as EngineName
from veil.engines.relation import Relation, relation_of
from veil.engines.settings import Settings
from veil.outcome.outcome import outcome_of
from veil.plan.plan import Plan
from veil.tables import Format, Source, read

Engine = EngineName | Settings


def find_relation(source: Any, format: Format | None, engine: Engine) -> Relation | None:
    """Return the table that an engine holds or is to read; None if it belongs into memory."""
    settings = engine if isinstance(engine, Settings) else None
    name: EngineName = "duckdb" if isinstance(engine, Settings) else engine
    return relation_of(source, format=format, engine=name, settings=settings)


def open_source(
    source: Any, format: Format | None, engine: Engine, condense: Callable[[Relation], Source]
) -> Source:
    """Read a table into memory, or let the engine that holds it condense it. What a release publishes is a table."""
    if isinstance(source, Source):
        return source
    released = outcome_of(source)
    if released is not None:
        return Source(released.table, "pyarrow", weights=released.weights)
    relation = find_relation(source, format, engine)
    return read(source, format=format) if relation is None else condense(relation)


def open_for_plan(
    source: Any, plan: Plan, format: Format | None, engine: Engine, progress: Progress
) -> Source:
    """Open a table that a plan is to be carried out on."""

    def condense(relation: Relation) -> Source:
        from veil.engines.source import for_plan  # which needs Ibis

        return for_plan(relation, plan, progress)

    return open_source(source, format, engine, condense)
