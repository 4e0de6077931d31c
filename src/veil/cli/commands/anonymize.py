"""`veil anonymize` and `veil budget`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from veil.cli import startup
from veil.cli.base import (
    PLAN,
    RELEASE,
    RUNNING,
    About,
    Acknowledge,
    AnyInput,
    AnyOutput,
    Certificate,
    DryRun,
    Engine,
    Json,
    Log,
    Memory,
    Origins,
    Overwrite,
    Quiet,
    Reading,
    Report,
    Sign,
    Temporary,
    Threads,
    command,
)


def _plan_options() -> list[inspect.Parameter]:
    startup.quick()
    from veil.cli.options import plan_options

    return plan_options()


@command(RELEASE, "anonymize", options=_plan_options)
def anonymize_table(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|TABLE",
            help="A recipe (.yaml), or the plan as options and a table: a file, a folder, a pattern such as "
            "'data/*.parquet', or [cyan]postgres://user@host/database#table[/cyan].",
        ),
    ],
    input: AnyInput = None,
    output: AnyOutput = None,
    report: Report = None,
    certificate: Certificate = None,
    sign: Sign = None,
    about: About = None,
    acknowledge: Acknowledge = None,
    apart: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where to keep the table that reverses pseudonyms; without it, nobody can."
        ),
    ] = None,
    origins: Origins = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    local_recoding: Annotated[
        str | None,
        typer.Option(
            metavar="MODE",
            help="How to re-anonymize records that would stay suppressed, such as [cyan]fast-iterative:0.01[/cyan].",
            rich_help_panel=PLAN,
        ),
    ] = None,
    save_recipe: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also save these options as a recipe.", rich_help_panel=PLAN),
    ] = None,
    budget: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Charge what SafePub spends to this budget: [cyan]veil budget[/cyan].",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    engine: Engine = None,
    memory: Memory = None,
    temporary: Temporary = None,
    threads: Threads = None,
    json: Json = False,
    dry_run: DryRun = False,
    log: Log = None,
    quiet: Quiet = False,
    **plan: Any,
) -> None:
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
    startup.quick()
    from veil.cli.anonymize import anonymize_and_show
    from veil.cli.places import reader

    anonymize_and_show(
        source,
        {**plan, "local_recoding": local_recoding},
        input=input,
        format=format,
        output=output,
        report=report,
        certificate=certificate,
        sign=sign,
        about=about or (),
        acknowledge=acknowledge or (),
        apart=apart,
        origins=origins,
        save_recipe=save_recipe,
        overwrite=overwrite,
        engine=reader(engine and engine.value, memory, temporary),
        budget=budget,
        threads=threads,
        quiet=quiet,
        json=json,
        dry_run=dry_run,
        log=log,
    )


@command(RELEASE, "budget")
def show_budget(
    file: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="The table that the budget is for: a file, or a URL of a database."
        ),
    ],
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help='Start a budget: 2, or "ln(3)".')
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Start a budget: 1e-4. Default: 0.")
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(
            metavar="one more or less|one changed",
            help="Start a budget that hides whether somebody is in the data, or the content of a record. Default: the first.",
        ),
    ] = None,
    zcdp_delta: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Start a budget: the part of delta for questions that cost --rho."
        ),
    ] = None,
    at: Annotated[
        Path | None,
        typer.Option(
            "--file", metavar="FILE", help="Where it is kept. Default: next to the file of the table."
        ),
    ] = None,
) -> None:
    """Start the privacy budget of a table, or show what has been spent of it.

    Every release by [cyan]--model safe-pub:EPSILON,DELTA --budget FILE[/cyan] is charged before it is made, and
    refused if the budget is not sufficient.
    """
    startup.quick()
    from veil.cli.budget import start_or_show

    start_or_show(file, epsilon, delta, at, neighbours, zcdp_delta)
