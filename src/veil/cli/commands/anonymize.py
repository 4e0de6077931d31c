"""`veil anonymize` and `veil budget`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from veil.cli import startup
from veil.cli.base import (
    RELEASE,
    RUNNING,
    AnyInput,
    AnyOutput,
    Engine,
    Fate,
    Memory,
    Overwrite,
    Quiet,
    Reading,
    Temporary,
    Threads,
    command,
)

_PLAN = "The plan, instead of a recipe"


def _planned(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text, rich_help_panel=_PLAN)


@command(RELEASE)
def anonymize(
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
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write a report (.html, .pdf or .json).")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write what recipients need to check the promises themselves (.json).",
        ),
    ] = None,
    overwrite: Overwrite = False,
    format: Reading = None,
    qi: Annotated[
        list[str] | None,
        _planned(
            "--qi",
            "COLUMN=HIERARCHY",
            "A column that an attacker may know; the hierarchy is a kind or a file. Repeat for more.",
        ),
    ] = None,
    model: Annotated[
        list[str] | None, _planned("--model", "MODEL", "What must hold. Repeat for more.")
    ] = None,
    sensitive: Annotated[
        list[str] | None, _planned("--sensitive", "COLUMNS", "What an attacker must not learn.")
    ] = None,
    insensitive: Annotated[
        list[str] | None, _planned("--insensitive", "COLUMNS", "Published as they are.")
    ] = None,
    identifying: Annotated[
        list[str] | None,
        _planned(
            "--identifying", "COLUMNS", "What names a person: removed, or masked with [cyan]name=mask[/cyan]."
        ),
    ] = None,
    microaggregate: Annotated[
        list[str] | None,
        _planned("--microaggregate", "COLUMN=mean|median|…", "Publish one value a class, such as age=mean."),
    ] = None,
    others: Annotated[
        Fate | None,
        _planned("--others", "keep|drop", "Columns not named above; without it they are refused."),
    ] = None,
    quality: Annotated[
        str | None, _planned("--quality", "QUALITY", "What to lose as little of as possible. Default: loss.")
    ] = None,
    suppression_limit: Annotated[
        float | None,
        _planned(
            "--suppression-limit", "SHARE", "Share of records that may be suppressed, 0 to 1. Default: 0."
        ),
    ] = None,
    minimum_level: Annotated[
        list[str] | None, _planned("--minimum-level", "COLUMN=LEVEL", "Least generalization of a column.")
    ] = None,
    maximum_level: Annotated[
        list[str] | None, _planned("--maximum-level", "COLUMN=LEVEL", "Greatest generalization of a column.")
    ] = None,
    strategy: Annotated[
        str | None, _planned("--strategy", "STRATEGY", "How to search: `veil strategies`. Default: auto.")
    ] = None,
    time_limit: Annotated[
        float | None,
        _planned(
            "--time-limit",
            "SECONDS",
            "Then the best so far is taken. Default: 30, except for optimal and with --check-limit.",
        ),
    ] = None,
    check_limit: Annotated[
        int | None,
        _planned("--check-limit", "N", "Transformations to check before the best so far is taken."),
    ] = None,
    local_recoding: Annotated[
        str | None,
        _planned(
            "--local-recoding", "MODE", "Transform again what would stay suppressed: fast-iterative:0.01."
        ),
    ] = None,
    suppressed_rows: Annotated[
        Fate | None,
        _planned("--suppressed-rows", "keep|drop", "Keep them, blanked, or drop them. Default: keep."),
    ] = None,
    marker: Annotated[
        str | None, _planned("--marker", "TEXT", "What stands in a suppressed cell of text. Default: *.")
    ] = None,
    save_recipe: Annotated[
        Path | None, _planned("--save-recipe", "FILE", "Also write these options down as a recipe.")
    ] = None,
    budget: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take what SafePub spends from this budget: [cyan]veil budget[/cyan].",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    engine: Engine = None,
    memory: Memory = None,
    temporary: Temporary = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Anonymize a table as a recipe says, or as options say.

    The output is verified before it is written; on any error nothing is written. Writing by an engine, once
    stopped, goes on where it was with the same command.

    [bold]With a recipe[/bold]

    [cyan]veil anonymize recipe.yaml[/cyan]

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
    [cyan]veil hierarchies[/cyan], [cyan]veil models[/cyan], [cyan]veil qualities[/cyan] and
    [cyan]veil strategies[/cyan] list what there is.
    """
    startup.quick()
    from veil.cli import anonymizing
    from veil.cli import places as engines

    options = {
        "qi": qi,
        "model": model,
        "sensitive": sensitive,
        "insensitive": insensitive,
        "identifying": identifying,
        "microaggregate": microaggregate,
        "others": others and others.value,
        "quality": quality,
        "suppression_limit": suppression_limit,
        "minimum_level": minimum_level,
        "maximum_level": maximum_level,
        "strategy": strategy,
        "time_limit": time_limit,
        "check_limit": check_limit,
        "local_recoding": local_recoding,
        "suppressed_rows": suppressed_rows and suppressed_rows.value,
        "marker": marker,
    }
    job = anonymizing.job_of(
        source,
        options,
        input=input,
        format=format,
        output=output,
        report=report,
        certificate=certificate,
        save_recipe=save_recipe,
        overwrite=overwrite,
        engine=engines.engine_of(engine and engine.value, memory, temporary),
    )
    anonymizing.run(job, threads=threads, quiet=quiet, budget=budget)


@command(RELEASE)
def budget(
    file: Annotated[Path, typer.Argument(metavar="TABLE", help="The data that the budget is for.")],
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help='Start a budget: 2, or "ln(3)".')
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Start a budget: 1e-4. Default: 0.")
    ] = None,
    at: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="Where it is kept. Default: next to the table."),
    ] = None,
) -> None:
    """Start the privacy budget of a table, or show what has been spent of it.

    Every release by [cyan]--model safe-pub:EPSILON --budget FILE[/cyan] is entered before it is made, and refused if
    the budget does not suffice.
    """
    startup.quick()
    from veil.cli import budget as budgets

    budgets.run(file, epsilon, delta, at)
