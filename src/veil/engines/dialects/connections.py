"""Connections of Ibis: how to get one, and what has to be said to it in a certain way."""

from __future__ import annotations

import contextlib
import importlib
import weakref
from typing import TYPE_CHECKING, Any

from veil.base.signals import uninterrupted
from veil.engines.dialects.quoting import quote_name
from veil.errors import MissingDependencyError

if TYPE_CHECKING:
    import ibis


def import_ibis() -> Any:
    """Return the module `ibis`, or say how to install it."""
    try:
        return importlib.import_module("ibis")
    except ImportError:
        raise MissingDependencyError(
            "files larger than memory, databases and Spark are read through Ibis, which is not installed: "
            "pip install 'veil-anonymizer[engines]'"
        ) from None


def within(schema: str | None) -> dict[str, str]:
    """Say to Ibis which schema is meant."""
    return {} if schema is None else {"database": schema}


def close_at_the_end(backend: Any) -> Any:
    """Have a connection closed when nobody needs it any more."""
    weakref.finalize(backend, _close, backend.con)
    return backend


def stored_name(backend: Any, table: ibis.Table) -> str | None:
    """Return how a table is spelled that stands in the database as it is; None for a query."""
    import ibis.expr.operations as operations

    found = table.op()
    if not isinstance(found, operations.DatabaseTable):
        return None
    return quote_name(backend.dialect, found.namespace.catalog, found.namespace.database, found.name)


def _close(connection: Any) -> None:
    with uninterrupted(collecting=True), contextlib.suppress(Exception):  # closed already, or lost
        connection.close()
