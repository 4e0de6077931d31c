"""`veil budget`: start the privacy budget of a data file, or show what has been spent of it."""

from __future__ import annotations

from pathlib import Path

from veil.cli import files, show
from veil.dp.accountant import Accountant, beside, fingerprint
from veil.engines.database import Database
from veil.errors import InputError, PlanError


def open_budget(data: Path, file: Path | None = None) -> Accountant:
    """Open the budget of a data file, by default the one next to it."""
    return Accountant.open(file or beside(data), fingerprint=fingerprint(data))


def account_of(data: Path | Database, budget: Path | None) -> Accountant | None:
    """Open the budget that --budget names, if it does, for the table that is read."""
    if budget is None:
        return None
    if isinstance(data, Database) or not data.is_file():
        raise PlanError(
            f"--budget: a budget belongs to one file, which it knows by its content, and {data} is none. Keep the account "
            "in Python (`accountant=`), or give one file"
        )
    return open_budget(data, budget)


def start_or_show(data: Path, epsilon: str | None, delta: str | None, file: Path | None) -> None:
    """Start a budget if one is given; show it."""
    files.no_databases(data)
    where = file or beside(data)
    if epsilon is not None:
        accountant = Accountant.create(where, epsilon, delta or 0, fingerprint=fingerprint(data))
    elif delta is not None:
        raise PlanError("--delta goes with --epsilon: both start a new budget")
    elif not where.exists():
        raise InputError(
            f"{where}: there is no budget. Start one: veil budget {data} --epsilon 2 --delta 1e-4"
        )
    else:
        accountant = open_budget(data, file)
    console = show.output()
    rows = [
        (f"{entry.time:%Y-%m-%d %H:%M}", entry.label, str(entry.epsilon), f"{float(entry.delta):g}")
        for entry in accountant.ledger
    ]
    console.print(show.table(f"Budget of {data}", ("when (UTC)", "on what", "epsilon", "delta"), rows))
    console.print(f"budget: {accountant.budget}   left: {accountant.remaining}   kept in: {where}")
