"""Connections of Ibis: opening and closing, and names of schemas and tables in them."""

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
    """Return the module `ibis`, or refuse with the command that installs it."""
    try:
        return importlib.import_module("ibis")
    except ImportError:
        raise MissingDependencyError(
            "files larger than memory, databases and Spark are read through Ibis, which is not installed: "
            "pip install 'veil-anonymizer[engines]'"
        ) from None


def within(schema: str | None) -> dict[str, str]:
    """Return the keyword of Ibis for a schema."""
    return {} if schema is None else {"database": schema}


def close_at_the_end(backend: Any) -> Any:
    """Close a connection when it is no longer referenced; return it."""
    weakref.finalize(backend, _close, backend.con)
    return backend


def stored_name(backend: Any, table: ibis.Table) -> str | None:
    """Return the quoted name of a table that is stored in the database; None for a query."""
    import ibis.expr.operations as operations

    stored = table.op()
    if not isinstance(stored, operations.DatabaseTable):
        return None
    return quote_name(backend.dialect, stored.namespace.catalog, stored.namespace.database, stored.name)


def typed_table(backend: Any, name: str, kinds: ibis.Schema, schema: str | None) -> ibis.Table:
    """Return a table with given types, without a query."""
    import ibis.expr.operations as operations

    place = operations.Namespace(database=schema)
    return operations.DatabaseTable(name, schema=kinds, source=backend, namespace=place).to_expr()


def _close(connection: Any) -> None:
    with uninterrupted(collecting=True), contextlib.suppress(Exception):  # closed already, or lost
        connection.close()
