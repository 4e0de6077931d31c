"""`veil ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import RELEASE, Engine, Figures, Json, Overwrite, Reading, command

QUESTIONS, DECLARED, COST = "What to ask", "What is known without the data", "What it may cost"

Columns = list[str] | None

# Options of all commands that spend a budget.
Bounds = Annotated[
    Columns,
    typer.Option(metavar="COLUMN=LOW:HIGH", help="The range of a column's values.", rich_help_panel=DECLARED),
]
Delta = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="The delta of gaussian noise.", rich_help_panel=COST)
]
Rho = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER", help="The privacy loss in zCDP, instead of epsilon and delta.", rich_help_panel=COST
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN|null",
        help="The column that tells people apart, up to blanks, case and Unicode form, or COLUMN=as written; null if every row "
        "is a different person.",
        rich_help_panel=DECLARED,
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="How many rows one of them has at most, as is known without the data.",
        rich_help_panel=DECLARED,
    ),
]


@command(RELEASE, "ask")
def ask_table(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|TABLE",
            help="A recipe of questions (.yaml), or a table and options: a file, a folder, or a URL of a database.",
        ),
    ],
    count: Annotated[
        bool, typer.Option("--count", help="How many records.", rich_help_panel=QUESTIONS)
    ] = False,
    histogram: Annotated[
        Columns, typer.Option(metavar="COLUMNS", help="How often each key occurs.", rich_help_panel=QUESTIONS)
    ] = None,
    sum: Annotated[
        Columns, typer.Option(metavar="COLUMN", help="The sum.", rich_help_panel=QUESTIONS)
    ] = None,
    mean: Annotated[
        Columns, typer.Option(metavar="COLUMN", help="The mean.", rich_help_panel=QUESTIONS)
    ] = None,
    quantiles: Annotated[
        Columns,
        typer.Option(
            metavar="COLUMN=SHARES", help="Quantiles: age=0.25,0.5,0.75.", rich_help_panel=QUESTIONS
        ),
    ] = None,
    record: Annotated[
        Columns,
        typer.Option(metavar="WHO=COLUMN", help="What one person has: A17=age.", rich_help_panel=QUESTIONS),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help='Only these records: "age >= 65".', rich_help_panel=QUESTIONS),
    ] = None,
    bounds: Bounds = None,
    keys: Annotated[
        Columns, typer.Option(metavar="COLUMN=A|B", help="Which values to count.", rich_help_panel=DECLARED)
    ] = None,
    missing: Annotated[
        Columns,
        typer.Option(
            metavar="COLUMN=NUMBER|leave out",
            help="What to use for missing values.",
            rich_help_panel=DECLARED,
        ),
    ] = None,
    person: Person = None,
    rows_per_person: RowsPerPerson = None,
    outside: Annotated[
        str | None,
        typer.Option(
            metavar="clamp|leave out",
            help="What happens to values outside the bounds. Default: clamp.",
            rich_help_panel=DECLARED,
        ),
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="one more or less|one changed",
            help="What answers hide. Default: what the budget is for.",
            rich_help_panel=COST,
        ),
    ] = None,
    budget: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The budget. Default: the one next to the table.", rich_help_panel=COST
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The privacy loss of each question.", rich_help_panel=COST),
    ] = None,
    delta: Delta = None,
    rho: Rho = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="laplace|geometric|gaussian|staircase|step", help="The noise.", rich_help_panel=COST
        ),
    ] = None,
    preview: Annotated[
        bool,
        typer.Option(
            "--preview", help="Spend nothing: show privacy losses and how accurate answers would be."
        ),
    ] = False,
    json: Json = False,
    output: Figures = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    engine: Engine = None,
) -> None:
    """Ask a table questions under its budget: differentially private counts, sums, means and quantiles.

    A budget is started with [cyan]veil budget[/cyan]. Each question is charged before the table is read.

    [cyan]veil ask patients.csv --person null --count --where "age >= 65" --epsilon 0.1[/cyan]

    [cyan]veil ask postgres://host/clinic#visits --person patient --rows-per-person 5 --budget clinic.json --count --epsilon 0.1[/cyan]

    [cyan]veil ask patients.csv --person null --mean age --bounds age=0:120 --missing "age=leave out" --epsilon 0.1 --preview[/cyan]
    """
    startup.quick()
    from veil.cli.ask import ask_and_show
    from veil.cli.measure import Destination
    from veil.cli.places import reader

    questions: list[dict[str, object]] = [{"ask": "count", "where": where}] if count else []
    questions += [{"ask": "histogram", "of": each.split(","), "where": where} for each in histogram or []]
    for kind, columns in (("sum", sum), ("mean", mean)):
        questions += [{"ask": kind, "of": each, "where": where} for each in columns or []]
    for each in quantiles or []:
        column, _, text = each.partition("=")
        parts = text.split(",") if text else []
        shares = [float(part) if part.replace(".", "", 1).isdigit() else part for part in parts]
        questions.append({"ask": "quantiles", "of": column, "shares": shares, "where": where})
    for each in record or []:
        who, _, column = each.partition("=")
        questions.append({"ask": "record", "who": who, "of": column})
    ask_and_show(
        source,
        questions,
        {
            "bounds": bounds or [],
            "keys": keys or [],
            "missing": missing or [],
            "outside": [outside] if outside else [],
            "person": [person] if person else [],
            "rows_per_person": [rows_per_person] if rows_per_person is not None else [],
        },
        Destination(json, output, overwrite),
        neighbours=neighbours,
        budget=budget,
        preview=preview,
        format=format,
        engine=reader(engine and engine.value, None, None),
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        noise=noise,
    )
