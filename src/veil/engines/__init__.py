"""Tables larger than memory: DuckDB for files, Spark and databases where the data lives, through Ibis.

The search needs only the distinct rows with their counts. An engine collapses the rows to them; the search
runs on these in memory; the chosen transformation goes back to the engine as an expression and is written
there. Not all rows pass through this process, except for engines that only store them: their rows are brought
over to DuckDB first, a batch at a time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veil.engines.database import Database as Database
    from veil.engines.relation import Relation as Relation
    from veil.engines.relation import relation_of as relation_of
    from veil.engines.scan.files import Files as Files
    from veil.engines.settings import Settings as Settings
    from veil.engines.write.writing import write as write
    from veil.outcome.written import Written as Written

_HOMES = {
    "Database": "database",
    "Files": "scan.files",
    "Relation": "relation",
    "Settings": "settings",
    "Written": "write.writing",
    "relation_of": "relation",
    "write": "write.writing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veil.engines' has no attribute {name!r}")
    return getattr(importlib.import_module(f"veil.engines.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(_HOMES)
