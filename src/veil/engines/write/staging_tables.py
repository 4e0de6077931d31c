"""Names of staging tables, by which the next run recognizes what a killed one has left.

Each begins with the name of the target table. Writing to a table takes a lock on that name, which the server
or the operating system releases however the run ends: under the lock, such tables are the run's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from veil.base.locks import busy, file_lock
from veil.engines.dialects import Dialect
from veil.errors import OutputError

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir

_LONGEST = 34  # letters of the name that fit into PostgreSQL's 63 bytes with the additions
_PATIENCE = 3.0  # seconds in which a server notices that the earlier run was killed
_ENDS = "_done|_old|_mixed|_mixed_old|_pending"


def staging_prefix(table: str) -> str:
    """Return the beginning of the names of staging tables for a table; twelve hexadecimal digits follow.

    >>> staging_prefix("release")
    'release__veil_'
    """
    short = table
    if len(short.encode()) > _LONGEST:
        digest = hashlib.sha256(short.encode()).hexdigest()[:8]
        short = f"{re.sub(r'[^A-Za-z0-9_]', '', short)[:25]}_{digest}"
    return f"{short}__veil_"


def staging_tables(table: str, tables: Iterable[str]) -> list[str]:
    """List staging tables for a table, and the tables that record them.

    >>> staging_tables("release", ["release", "release__veil_0123456789ab_done", "release__veil_notes"])
    ['release__veil_0123456789ab_done']
    """
    pattern = re.compile(f"{re.escape(staging_prefix(table))}[0-9a-f]{{12}}({_ENDS})?")
    return [each for each in tables if pattern.fullmatch(each)]


def kinds_for(place: str, dialect: Dialect, example: ir.Table) -> ibis.Schema:
    """Return the types of a new table for rows like those of `example`; refuse types that the engine lacks."""
    import ibis

    for name, kind in example.schema().items():
        if not dialect.has(kind):
            raise OutputError(
                f"{place}: column {name!r} has type {kind}, which {dialect.backend.name} does not have. Write to Parquet "
                "files or to another engine, or use a view that turns the column into text or a whole number"
            )
    return ibis.schema({name: kind.copy(nullable=True) for name, kind in example.schema().items()})


@contextlib.contextmanager
def lock_table(dialect: Dialect, schema: str | None, table: str, what: str) -> Iterator[None]:
    """Lock a table, called `what` in messages, against other runs; wait for their locks a few seconds."""
    if dialect.patience is not None:
        dialect.run(dialect.patience)
    name = f"veil {dialect.quote(schema, table)}"
    if (file := dialect.file()) is not None:
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        with file_lock(file.with_name(f".{file.name}.veil-{digest}-lock"), what):
            yield
    elif (lock := dialect.lock(name)) is not None:
        with _lock_on_server(dialect, *lock, what):
            yield
    else:
        yield  # a database in memory is ours alone


@contextlib.contextmanager
def _lock_on_server(dialect: Dialect, take: str, give_back: str, what: str) -> Iterator[None]:
    until = time.monotonic() + _PATIENCE
    while not dialect.rows(take)[0][0]:
        if time.monotonic() > until:
            raise busy(what)
        time.sleep(0.1)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # without a connection there is no lock either
            dialect.rows(give_back)
