"""`veil budget`: start the privacy budget of a data file, or show what has been spent of it."""

from __future__ import annotations

from veil.api.budget import budget_place, fingerprint_of, open_budget
from veil.api.open import place_of
from veil.cli import show
from veil.cli.commands.anonymize import BudgetCommand
from veil.cli.places import warn_about_passwords
from veil.dp.accountant import Accountant
from veil.dp.composition import Entry
from veil.dp.neighbours import check_neighbours
from veil.errors import InputError, PlanError


def budget(options: BudgetCommand) -> None:
    """Start a budget if one is given; show it."""
    data = place_of(options.source)
    warn_about_passwords(data)
    where = budget_place(data, options.file)
    if options.epsilon is not None:
        accountant = Accountant.create(
            where,
            options.epsilon,
            options.delta or 0,
            fingerprint=fingerprint_of(data),
            neighbours=check_neighbours(options.neighbours or "one more or less"),
            zcdp_delta=options.zcdp_delta or 0,
        )
    elif options.delta is not None:
        raise PlanError("--delta needs --epsilon: together they start a new budget")
    elif options.neighbours is not None or options.zcdp_delta is not None:
        flag = "--neighbours" if options.neighbours is not None else "--zcdp-delta"
        raise PlanError(f"{flag} needs --epsilon: it is set when a budget is started")
    elif not where.exists():
        raise InputError(
            f"{where}: there is no budget. Start one: veil budget {data} --epsilon 2 --delta 1e-4"
        )
    else:
        accountant = open_budget(data, options.file)
    console = show.output()
    rows = [
        (f"{entry.time:%Y-%m-%d %H:%M}", entry.label, _epsilon(entry), f"{float(entry.delta):g}")
        for entry in accountant.ledger
    ]
    console.print(show.table(f"BudgetCommand of {data}", ("when (UTC)", "on what", "epsilon", "delta"), rows))
    console.print(f"neighbours: {accountant.neighbours}")
    console.print(f"budget: {accountant.budget}   left: {accountant.remaining}   kept in: {where}")


def _epsilon(entry: Entry) -> str:
    return entry.loss if entry.rho else str(entry.epsilon)
