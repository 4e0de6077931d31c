"""Names of tables that hold rows on their way to a table, so that the next run can tell what a killed one has left.

Each begins with the name of the table that it is for. Whoever writes to a table holds a lock on that name, which the server
or the operating system lets go when a run ends, however it does: what bears such a name meanwhile belongs to nobody else.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections.abc import Iterable, Iterator

from veil.base.locks import busy, file_lock
from veil.engines.dialects import Dialect

_LONGEST = 34  # letters of the name that fit into PostgreSQL's 63 bytes with what is added
_PATIENCE = 3.0  # seconds in which a server notices that the run before has been killed
_ENDS = "_done|_old|_mixed|_mixed_old|_pending"


def prefix_of(table: str) -> str:
    """How the names begin of what is staged for a table; twelve hexadecimal digits follow.

    >>> prefix_of("release")
    'release__veil_'
    """
    short = table
    if len(short.encode()) > _LONGEST:
        digest = hashlib.sha256(short.encode()).hexdigest()[:8]
        short = f"{re.sub(r'[^A-Za-z0-9_]', '', short)[:25]}_{digest}"
    return f"{short}__veil_"


def staged_for(table: str, tables: Iterable[str]) -> list[str]:
    """Return those tables that hold rows on their way to another one, or tell of such.

    >>> staged_for("release", ["release", "release__veil_0123456789ab_done", "release__veil_notes"])
    ['release__veil_0123456789ab_done']
    """
    pattern = re.compile(f"{re.escape(prefix_of(table))}[0-9a-f]{{12}}({_ENDS})?")
    return [each for each in tables if pattern.fullmatch(each)]


@contextlib.contextmanager
def hold(dialect: Dialect, schema: str | None, table: str, what: str) -> Iterator[None]:
    """Keep other runs away from a table, which messages call `what`; wait for what others have locked, but not for long."""
    if dialect.patience is not None:
        dialect.run(dialect.patience)
    name = f"veil {dialect.quote(schema, table)}"
    if (file := dialect.file()) is not None:
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        with file_lock(file.with_name(f".{file.name}.veil-{digest}-lock"), what):
            yield
    elif (lock := dialect.lock(name)) is not None:
        with _hold_on_server(dialect, *lock, what):
            yield
    else:
        yield  # in memory it is ours alone


@contextlib.contextmanager
def _hold_on_server(dialect: Dialect, take: str, give_back: str, what: str) -> Iterator[None]:
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
