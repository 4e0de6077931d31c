"""`veil ask`."""

from __future__ import annotations

import inspect
from pathlib import Path

from veil.cli import startup
from veil.cli.base import RELEASE, Engines, Options, Reader, Results, TableFormat, argument, declared, option

QUESTIONS, DECLARED, COST = "What to ask", "What is known without the data", "What it may cost"


class Budgeted(TableFormat, Options):
    """What the commands share that spend a budget, beside the fields of their steps."""

    source: str = argument(
        "A recipe (.yaml), or a table and options: a file, a folder, or a URL of a database.", "RECIPE|TABLE"
    )
    person: str | None = option(
        "The column that tells people apart, up to blanks, case and Unicode form, or COLUMN=as written; null if every "
        "row is a different person.",
        "COLUMN|null",
        rich_help_panel=DECLARED,
    )
    engine: Reader | None = Engines.engine


def _step_options() -> list[inspect.Parameter]:
    startup.quick()
    from veil.cli.options import step_options
    from veil.questions.step import Questions, QuestionSpec

    return step_options(Questions, QuestionSpec)


@declared(RELEASE, "ask.ask", options=_step_options)
class Ask(Budgeted, Results):
    """Ask a table questions under its budget: differentially private counts, sums, means and quantiles.

    A budget is started with [cyan]veil budget[/cyan]. Each question is charged before the table is read.

    [cyan]veil ask patients.csv --person null --count --where "age >= 65" --epsilon 0.1[/cyan]

    [cyan]veil ask postgres://host/clinic#visits --person patient --rows-per-person 5 --budget clinic.json --count --epsilon 0.1[/cyan]

    [cyan]veil ask patients.csv --person null --mean age --bounds age=0:120 --missing "age=leave out" --epsilon 0.1 --preview[/cyan]
    """

    count: bool = option("How many records.", default=False, rich_help_panel=QUESTIONS)
    histogram: list[str] = option("How often each key occurs.", "COLUMNS", rich_help_panel=QUESTIONS)
    sum: list[str] = option("The sum.", "COLUMN", rich_help_panel=QUESTIONS)
    mean: list[str] = option("The mean.", "COLUMN", rich_help_panel=QUESTIONS)
    quantiles: list[str] = option("Quantiles: age=0.25,0.5,0.75.", "COLUMN=SHARES", rich_help_panel=QUESTIONS)
    record: list[str] = option("What one person has: A17=age.", "WHO=COLUMN", rich_help_panel=QUESTIONS)
    person: str | None = Budgeted.person
    budget: Path | None = option(
        "The budget. Default: the one next to the table.", "FILE", rich_help_panel=COST
    )
    preview: bool = option(
        "Spend nothing: show privacy losses and how accurate answers would be.", default=False
    )
