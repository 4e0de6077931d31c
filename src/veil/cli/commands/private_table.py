"""`veil private-table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import RELEASE, Engine, Output, Overwrite, Quiet, Reading, Report, command
from veil.cli.commands.ask import COST, DECLARED, Bounds, Columns, Delta, Person, Rho, RowsPerPerson


@command(RELEASE, "private-table")
def make_private_table(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|TABLE",
            help="A recipe of a private table (.yaml), or a table and options: a file, a folder, or a URL of a database.",
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="How: [cyan]individual-ranking:k=100[/cyan], [cyan]marginal-tree[/cyan], [cyan]corners:k=50[/cyan].",
        ),
    ] = None,
    output: Output = None,
    report: Report = None,
    columns: Annotated[
        Columns,
        typer.Option(
            metavar="COLUMNS", help="Which columns: age,sex. Default: all.", rich_help_panel=DECLARED
        ),
    ] = None,
    person: Person = None,
    rows_per_person: RowsPerPerson = None,
    bounds: Bounds = None,
    domains: Annotated[
        Columns,
        typer.Option(
            metavar="COLUMN=A|B or COLUMN=FILE",
            help="Which values a column may have: a list, or a hierarchy file.",
            rich_help_panel=DECLARED,
        ),
    ] = None,
    missing: Annotated[
        Columns,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="What a cell counts as that is missing, no number, or no value of the domain.",
            rich_help_panel=DECLARED,
        ),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="one more or less|one changed",
            help="What the table hides. Default: what the budget is for.",
            rich_help_panel=COST,
        ),
    ] = None,
    budget: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The budget to charge: [cyan]veil budget[/cyan]. Without one, nothing is accounted for.",
            rich_help_panel=COST,
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The privacy loss.", rich_help_panel=COST)
    ] = None,
    delta: Delta = None,
    rho: Rho = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    engine: Engine = None,
    quiet: Quiet = False,
) -> None:
    """Make a table that is differentially private as a whole; its records are not true ones.

    You give bounds and domains of all columns, based on public knowledge, not on the data.

    [cyan]veil private-table private.yaml[/cyan]

    [cyan]veil private-table patients.csv -o private.csv --report report.html --method individual-ranking:k=100 --person null
    --bounds age=0:120 --domains job=hierarchies/job.csv --neighbours "one changed" --epsilon 1[/cyan]
    """
    startup.quick()
    from veil.cli.places import reader
    from veil.cli.private_table import make_and_show

    make_and_show(
        source,
        method,
        {
            "columns": columns or [],
            "bounds": bounds or [],
            "domains": domains or [],
            "missing": missing or [],
            "person": [person] if person else [],
            "rows_per_person": [rows_per_person] if rows_per_person is not None else [],
        },
        neighbours=neighbours,
        budget=budget,
        format=format,
        engine=reader(engine and engine.value, None, None),
        output=output,
        report=report,
        overwrite=overwrite,
        quiet=quiet,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
    )
