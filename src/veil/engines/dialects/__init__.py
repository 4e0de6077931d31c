"""The engines: one file each here, or from other packages by the entry points ``veil.engines``.

No other module asks which engine it deals with: it asks the dialect of a connection, of a URL or of a frame.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.engines.dialects.base import ENGINES
from veil.engines.dialects.base import Adopted as Adopted
from veil.engines.dialects.base import Dialect as Dialect
from veil.engines.dialects.base import register as register
from veil.engines.dialects.connections import import_ibis as import_ibis
from veil.errors import VeilError

if TYPE_CHECKING:
    from ibis.expr.types import Table

GROUP = "veil.engines"

for _module in pkgutil.iter_modules(__path__):  # each registers its engine
    importlib.import_module(f"{__name__}.{_module.name}")


def dialect_of(backend: Any) -> Dialect:
    """Return the dialect of an open connection of Ibis; the base class for an unknown engine.

    >>> import ibis
    >>> type(dialect_of(ibis.duckdb.connect())).__name__, type(dialect_of(ibis.polars.connect())).__name__
    ('DuckDB', 'Dialect')
    """
    return (dialect_named(str(backend.name)) or Dialect)(backend)


def dialect_of_scheme(scheme: str) -> type[Dialect] | None:
    """Return the engine with this scheme of URLs, if there is one."""
    dialect = dialect_named(scheme)
    return dialect if dialect is not None and scheme in dialect.schemes else None


def dialect_named(name: str) -> type[Dialect] | None:
    """Return the engine of a name or a scheme. Engines of other packages are loaded on demand."""
    return ENGINES.get(name) or _find_installed(name)


@functools.cache
def _find_installed(name: str) -> type[Dialect] | None:
    for entry in entry_points(group=GROUP, name=name):
        return ENGINES.setdefault(name, _load(entry))
    return None


def _load(entry: EntryPoint) -> type[Dialect]:
    package = f" of the package {entry.dist.name}" if entry.dist is not None else ""
    where = f"the engine {entry.name!r}{package} (entry point {entry.value})"
    try:
        dialect = entry.load()
    except Exception as error:
        raise VeilError(
            f"{where} cannot be loaded: {type(error).__name__}: {error}. Reinstall it, or ask its authors"
        ) from error
    if not (isinstance(dialect, type) and issubclass(dialect, Dialect)):
        raise VeilError(f"{where} should be a subclass of veil.engines.dialects.Dialect, not {dialect!r}")
    if entry.name not in (dialect.name, *dialect.schemes):
        raise VeilError(f"{where} has neither this `name` nor this among its `schemes`")
    return dialect


def schemes() -> list[str]:
    """Return the schemes of URLs of databases."""
    own = [scheme for dialect in ENGINES.values() for scheme in dialect.schemes]
    return list(dict.fromkeys([*own, *sorted(entry_points(group=GROUP).names)]))


def adopt(frame: Any) -> Adopted | None:
    """Return a data frame of an engine as a table; None for everything else."""
    for dialect in dict.fromkeys(ENGINES.values()):
        if (adopted := dialect.adopt(frame)) is not None:
            return adopted
    return None


def is_of_driver(error: BaseException) -> bool:
    """Whether an engine, or a library between it and Veil, raised this."""
    drivers = {"ibis", "pyarrow"}.union(*(dialect.drivers for dialect in ENGINES.values()))
    return type(error).__module__.partition(".")[0] in drivers


def collect(backend: Any, expression: Table) -> pa.Table:
    """Return all rows of an expression that has few.

    >>> import ibis
    >>> collect(ibis.duckdb.connect(), ibis.memtable({"age": [30, None]})).num_rows
    2
    """
    return dialect_of(backend).batches(expression).read_all()


def new_duckdb(file: Path | None = None) -> Any:
    """Open a DuckDB of our own, in memory or in a file. Its settings are left to the caller."""
    driver = ENGINES["duckdb"].driver()
    return driver.connect() if file is None else driver.connect(file)
