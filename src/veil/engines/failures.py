"""Errors of engines in Veil's words: the fault, the way out, and never a password."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from veil.engines.dialects import dialect_of, is_of_driver
from veil.engines.scan.csv import csv_fault
from veil.errors import InputError, Say, VeilError, Words

if TYPE_CHECKING:
    from veil.engines.database import Database

_STOPPED = re.compile(r"(?m)^(KeyboardInterrupt(: <EMPTY MESSAGE>)?|SystemExit: \d+)\s*\Z")
"""Ends DuckDB's message after a signal has reached Python code that it was calling."""


@contextlib.contextmanager
def explain_errors(
    place: Database | str, error: type[VeilError] = InputError, secrets: dict[str, str] | None = None
) -> Iterator[None]:
    """Turn errors of an engine into an `error` that names the place and not the password.

    >>> with explain_errors("table patients of duckdb:///clinic.db"):
    ...     import sqlite3
    ...     raise sqlite3.OperationalError("disk I/O error")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: table patients of duckdb:///clinic.db: the engine says: disk I/O error
    """
    try:
        yield
    except VeilError:
        raise
    except Exception as raised:
        if not from_driver(raised):
            raise
        if not isinstance(place, str):
            secrets = place.secrets()
        raise error(f"{place}: ", *_query_reason(raised, str(place), secrets or {})) from None


def is_interrupt(error: BaseException) -> bool:
    """Whether an error of DuckDB means Ctrl-C, or the end that a scheduler asks for."""
    if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
        return True
    return isinstance(error, Exception) and is_of_driver(error) and _STOPPED.search(str(error)) is not None


def stop_queries(backend: Any) -> None:
    """Stop queries that an engine in this process continues after Ctrl-C."""
    dialect_of(backend).stop()


def from_driver(error: Exception) -> bool:
    """Whether an error comes from an engine, and not from a mistake of ours."""
    return is_of_driver(error) or isinstance(error, OSError)


def reason(database: Database, error: Exception, secrets: dict[str, str]) -> str:
    """Return why a database cannot be opened."""
    why = database.dialect.explain(str(error).lower())
    return why or f"cannot be opened. {_driver_message(error, secrets)}"


_ON_DISK = Say("engine", "Settings", temporary=...)
_STATES = {
    "42501": "no right to do this. Ask the owner of the table to grant it (GRANT SELECT ON ... TO ...)",
    "42P01": "the table is gone. Check whether somebody dropped or renamed it",
    "57014": "the server cancelled the query. Ask for a longer statement_timeout",
    "53100": "the disk of the server is full. Free some space there",
    "53200": "the server is out of memory. Give it more, or a smaller table",
}


def _query_reason(error: Exception, place: str, secrets: dict[str, str]) -> Words:
    state = str(getattr(error, "sqlstate", None) or "")
    text = str(error).lower()
    if (fault := csv_fault(str(error), place)) is not None:
        return fault
    if state in _STATES:
        return (_STATES[state],)
    if state.startswith(("08", "57P")) or re.search(r"connection .*(closed|lost)|server has gone away", text):
        return ("the connection to the server was lost. Check that it is running, and try again",)
    if re.search(r"permission (was )?denied|command denied|insufficient_permissions", text):
        return (_STATES["42501"],)
    if state == "55P03" or re.search(r"lock wait timeout|(database|table)( \S+)? is locked", text):
        return (
            "somebody else has locked it. Try again when that session or program has ended its transaction",
        )
    if "no space left" in text or "disk is full" in text:
        return "the disk is full. Free some space, or name a folder on another disk with ", _ON_DISK
    if "out of memory" in text:
        more = Say("engine", "Settings", memory=...)
        return "the engine is out of memory. Give it more with ", more, ", and room in ", _ON_DISK
    return (_driver_message(error, secrets),)


def _driver_message(error: Exception, secrets: dict[str, str]) -> str:
    lines = str(error).strip().splitlines()
    spellings = {each for secret in secrets.values() if secret for each in (secret, quote(secret, safe=""))}
    if not lines or any(secret in str(error) for secret in spellings):
        return f"the engine says: {type(error).__name__}"
    return f"the engine says: {lines[0]}"
