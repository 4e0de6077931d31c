"""`veil anonymize` and `veil budget`."""

from __future__ import annotations

import inspect
from pathlib import Path

from veil.cli import startup
from veil.cli.base import (
    PLAN,
    RELEASE,
    Documents,
    Engines,
    Options,
    Releasing,
    TableFormat,
    argument,
    declared,
    option,
)


def _plan_options() -> list[inspect.Parameter]:
    startup.quick()
    from veil.cli.options import plan_options

    return plan_options()


@declared(RELEASE, "anonymize.anonymize", options=_plan_options)
class Anonymize(Releasing, Documents, TableFormat, Engines):
    """Anonymize a table, following a recipe or options.

    The output is verified before it is written; on any error nothing is written. If an engine was stopped while writing,
    run the same command again to continue.

    [bold]With a recipe[/bold]

    [cyan]veil anonymize recipe.yaml[/cyan]

    [bold]In a pipeline[/bold]

    [cyan]veil anonymize recipe.yaml --input - --output - --log run.jsonl < patients.csv > release.csv[/cyan]

    A dash stands for standard input or output; messages then go to standard error, and nothing
    is written before all of it is verified.

    [bold]With options[/bold]

    [cyan]veil anonymize patients.csv -o release.csv --qi age=intervals:5,10,20 --qi sex=suppression
    --qi zip=redaction --qi job=job.csv --sensitive diagnosis --identifying name --others keep
    --model k-anonymity:5 --quality loss --suppression-limit 0.05[/cyan]

    HIERARCHY, MODEL, QUALITY and FORMAT are a name, with parameters after a colon: values in their order
    ([cyan]intervals:5,10,20[/cyan]) or by key ([cyan]redaction:start=left,character=x[/cyan]). Lists given by
    key have | between entries, and + within entries that are lists themselves
    ([cyan]subset-k-anonymity:5,subsets=age+sex|zip[/cyan]); quotes keep commas together. A research subset is a query, a
    file, row numbers or a chance ([cyan]"inclusion:age > 30"[/cyan], [cyan]inclusion:some.csv[/cyan],
    [cyan]inclusion:0|1|2[/cyan], [cyan]inclusion:random:0.1[/cyan]), a population its size, a region or the share that is
    in the table ([cyan]k-map:5,population=0.01[/cyan]). COLUMNS are names with commas between them.
    [cyan]veil list hierarchies[/cyan], [cyan]veil list models[/cyan], [cyan]veil list quality-models[/cyan] and
    [cyan]veil list strategies[/cyan] list what there is.
    """

    source: str = argument(
        "A recipe (.yaml), or the plan as options and a table: a file, a folder, a pattern such as "
        "'data/*.parquet', or [cyan]postgres://user@host/database#table[/cyan].",
        "RECIPE|TABLE",
    )
    save_recipe: Path | None = option("Also save these options as a recipe.", "FILE", rich_help_panel=PLAN)


@declared(RELEASE, "budget.budget")
class BudgetCommand(Options):
    """Start the privacy budget of a table, or show what has been spent of it.

    Every release by [cyan]--model safe-pub:EPSILON,DELTA --budget FILE[/cyan] is charged before it is made, and
    refused if the budget is not sufficient.
    """

    source: str = argument("The table that the budget is for: a file, or a URL of a database.", "TABLE")
    epsilon: str | None = option('Start a budget: 2, or "ln(3)".', "NUMBER")
    delta: str | None = option("Start a budget: 1e-4. Default: 0.", "NUMBER")
    neighbours: str | None = option(
        "Start a budget that hides whether somebody is in the data, or the content of a record. Default: the first.",
        "one more or less|one changed",
    )
    zcdp_delta: str | None = option(
        "Start a budget: the part of delta for questions that cost --rho.", "NUMBER"
    )
    file: Path | None = option("Where it is kept. Default: next to the file of the table.", "FILE")
