"""The privacy budget of a table: the file that keeps it, and what identifies the table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from veil.base.paths import usable
from veil.dp.accountant import Accountant, beside, fingerprint
from veil.engines.database import Database
from veil.engines.scan.files import is_pattern
from veil.errors import PlanError, Say


def open_budget(data: Path | Database, file: Path | None = None) -> Accountant:
    """Open the budget of a table, by default the one next to its file."""
    return Accountant.open(budget_place(data, file), fingerprint=fingerprint_of(data))


def fingerprint_of(data: Path | Database) -> str:
    """Return the identity of a table for its budget: of a file the content, else the place, as rows change.

    >>> by_name = Database("postgres://veil@host/clinic", "patients")
    >>> fingerprint_of(by_name) == fingerprint_of(Database("postgres://veil:s3cret@host/clinic#patients"))
    True
    """
    if isinstance(data, Database):
        where = data.place if data.file is None else str(data.file.resolve())
        place = [data.engine, where, data.schema or "", data.table or ""]
    elif data.is_dir() or is_pattern(str(data)):
        place = [str(data.resolve())]
    else:
        return fingerprint(data)
    return hashlib.sha256("\0".join(["table by its place", *place]).encode()).hexdigest()


def budget_place(data: Path | Database, file: Path | None) -> Path:
    """Return the file of the budget of a table: the given one, or the one next to its file."""
    if file is not None:
        return file
    if isinstance(data, Database) or data.is_dir() or is_pattern(str(data)):
        raise PlanError(
            "for a database table, or a table of several files, say where the budget file is (--budget of "
            "`veil ask` and `veil private-table`, --file of `veil budget`)"
        )
    return usable(beside(data))


def account_of(
    data: Path | Database | Mapping[str, Path | Database], budget: Path | None
) -> Accountant | None:
    """Open a budget for a table; None without one."""
    if budget is None:
        return None
    if isinstance(data, Mapping):
        raise PlanError(
            Say("budget"), " is only for a single table, and the recipe has several: leave it out"
        )
    if isinstance(data, Database) or not data.is_file():
        raise PlanError(
            Say("budget"),
            f": a budget belongs to a single file, which it identifies by content, and {data} is "
            "not a single file. Keep the account "
            "in Python (`accountant=`), or give one file",
        )
    return open_budget(data, budget)
