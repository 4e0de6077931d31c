"""Opening a source: into memory, or condensed by the engine that holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veil.engines import source
from veil.engines.relation import Engine as EngineName
from veil.engines.relation import Relation, relation_of
from veil.engines.settings import Settings
from veil.tables import Format, Source, read

Engine = EngineName | Settings


def _opened(
    source: Any, format: Format | None, engine: Engine, condensed: Callable[[Relation], Source]
) -> Source:
    """Read a table into memory, or let the engine that holds it condense it."""
    if isinstance(source, Source):
        return source
    settings = engine if isinstance(engine, Settings) else None
    name: EngineName = "duckdb" if isinstance(engine, Settings) else engine
    relation = relation_of(source, format=format, engine=name, settings=settings)
    return read(source, format=format) if relation is None else condensed(relation)


def _engine() -> Any:
    """What condenses relations, which needs Ibis."""
    return source
