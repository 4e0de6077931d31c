"""`veil private-table`."""

from __future__ import annotations

import inspect
from pathlib import Path

from veil.cli import startup
from veil.cli.base import RELEASE, Documents, OutputFile, Overwrite, Quiet, declared, option
from veil.cli.commands.ask import COST, Budgeted


def _step_options() -> list[inspect.Parameter]:
    startup.quick()
    from veil.cli.options import step_options
    from veil.private_table.step import PrivateTableStep

    return step_options(PrivateTableStep)


@declared(RELEASE, "private_table.private_table", options=_step_options)
class PrivateTableCommand(OutputFile, Overwrite, Budgeted, Quiet):
    """Make a table that is differentially private as a whole; its records are not true ones.

    You give bounds and domains of all columns, based on public knowledge, not on the data.

    [cyan]veil private-table private.yaml[/cyan]

    [cyan]veil private-table patients.csv -o private.csv --report report.html --method individual-ranking:k=100 --person null
    --bounds age=0:120 --domains job=hierarchies/job.csv --neighbours "one changed" --epsilon 1[/cyan]
    """

    report: Path | None = Documents.report
    budget: Path | None = option(
        "The budget to charge: [cyan]veil budget[/cyan]. Without one, nothing is accounted for.",
        "FILE",
        rich_help_panel=COST,
    )
