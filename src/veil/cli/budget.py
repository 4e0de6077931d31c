"""`veil budget`: start the privacy budget of a data file, or show what has been spent of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from veil.api.open import place_of
from veil.base.paths import usable
from veil.cli import show
from veil.cli.places import warn_about_passwords
from veil.dp.accountant import Accountant, beside, fingerprint
from veil.dp.composition import Entry
from veil.dp.neighbours import check_neighbours
from veil.engines.database import Database
from veil.engines.scan.files import is_pattern
from veil.errors import InputError, PlanError


def open_budget(data: Path | Database, file: Path | None = None) -> Accountant:
    """Open the budget of a table, by default the one next to its file."""
    return Accountant.open(_place_of_budget(data, file), fingerprint=fingerprint_of(data))


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


def _place_of_budget(data: Path | Database, file: Path | None) -> Path:
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
    """Open the budget of --budget for a table; None without that option."""
    if budget is None:
        return None
    if isinstance(data, Mapping):
        raise PlanError("--budget is only for a single table, and the recipe has several: leave it out")
    if isinstance(data, Database) or not data.is_file():
        raise PlanError(
            f"--budget: a budget belongs to a single file, which it identifies by content, and {data} is "
            "not a single file. Keep the account "
            "in Python (`accountant=`), or give one file"
        )
    return open_budget(data, budget)


def start_or_show(
    source: str,
    epsilon: str | None,
    delta: str | None,
    file: Path | None,
    neighbours: str | None = None,
    zcdp_delta: str | None = None,
) -> None:
    """Start a budget if one is given; show it."""
    data = place_of(source)
    warn_about_passwords(data)
    where = _place_of_budget(data, file)
    if epsilon is not None:
        relation = check_neighbours(neighbours or "one more or less")
        accountant = Accountant.create(
            where,
            epsilon,
            delta or 0,
            fingerprint=fingerprint_of(data),
            neighbours=relation,
            zcdp_delta=zcdp_delta or 0,
        )
    elif delta is not None:
        raise PlanError("--delta needs --epsilon: together they start a new budget")
    elif neighbours is not None or zcdp_delta is not None:
        option = "--neighbours" if neighbours is not None else "--zcdp-delta"
        raise PlanError(f"{option} needs --epsilon: it is set when a budget is started")
    elif not where.exists():
        raise InputError(
            f"{where}: there is no budget. Start one: veil budget {data} --epsilon 2 --delta 1e-4"
        )
    else:
        accountant = open_budget(data, file)
    console = show.output()
    rows = [
        (f"{entry.time:%Y-%m-%d %H:%M}", entry.label, _epsilon(entry), f"{float(entry.delta):g}")
        for entry in accountant.ledger
    ]
    console.print(show.table(f"Budget of {data}", ("when (UTC)", "on what", "epsilon", "delta"), rows))
    console.print(f"neighbours: {accountant.neighbours}")
    console.print(f"budget: {accountant.budget}   left: {accountant.remaining}   kept in: {where}")


def _epsilon(entry: Entry) -> str:
    return entry.price if entry.rho else str(entry.epsilon)
