"""`veil budget`: start the privacy budget of a data file, or show what has been spent of it."""

from __future__ import annotations

from pathlib import Path

from veil.api.budget import budget_place, fingerprint_of, open_budget
from veil.api.open import place_of
from veil.cli import show
from veil.cli.places import warn_about_passwords
from veil.dp.accountant import Accountant
from veil.dp.composition import Entry
from veil.dp.neighbours import check_neighbours
from veil.errors import InputError, PlanError


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
    where = budget_place(data, file)
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
    return entry.loss if entry.rho else str(entry.epsilon)
