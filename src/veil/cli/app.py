"""The commands and their options. What they do is in the modules beside this one."""

from __future__ import annotations

import functools
import inspect
import re
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from veil.cli import failures, startup

app = typer.Typer(
    name="veil",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    # A scheduler that loses patience gets the same clean end as a person who presses Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    startup.own_process = True
    app(prog_name="veil")


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a command whose failures are explained."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with failures.explained():
            return function(*args, **kwargs)

    app.command(help=_flowing(function.__doc__ or ""))(guarded)
    return guarded


def _flowing(text: str) -> str:
    """Join the lines of each paragraph, so that they fill whatever width the terminal has."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))


class Fate(StrEnum):
    """What becomes of rows or columns."""

    keep = "keep"
    drop = "drop"


def _version(wanted: bool) -> None:
    if wanted:
        from veil import __version__

        typer.echo(f"veil {__version__}")
        raise typer.Exit


@app.callback()
def veil(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of unexpected errors.")] = False,
) -> None:
    """Anonymize tables about people, with guarantees that are proven and verified.

    Start with [bold]veil demo[/bold].

    Exit codes: 0 done; 1 no solution, or a broken promise; 2 wrong input; 130 Ctrl-C.
    """
    failures.show_tracebacks = debug


_PLAN = "The plan, instead of a recipe"
_RUN = "Running"

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="How to read the table where that is unclear: [cyan]csv:separator=;,encoding=latin-1[/cyan], "
        "[cyan]csv:header=false,columns=age|sex[/cyan], [cyan]excel:Sheet1[/cyan].",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Threads to use; the result is the same.", rich_help_panel=_RUN),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist already.")]


def _planned(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text, rich_help_panel=_PLAN)


@command
def anonymize(
    source: Annotated[
        Path,
        typer.Argument(metavar="RECIPE|TABLE", help="A recipe (.yaml), or a table and the plan as options."),
    ],
    input: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The table, instead of the recipe's.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write a report (HTML).")
    ] = None,
    overwrite: Overwrite = False,
    format: FormatOption = None,
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
            "--time-limit", "SECONDS", "Then the best so far is taken. Default: 30, except for optimal."
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
            rich_help_panel=_RUN,
        ),
    ] = None,
    threads: Threads = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=_RUN)
    ] = False,
) -> None:
    """Anonymize a table as a recipe says, or as options say.

    The output is verified before it is written; on any error nothing is written.

    [bold]With a recipe[/bold]

    [cyan]veil anonymize recipe.yaml[/cyan]

    [bold]With options[/bold]

    [cyan]veil anonymize patients.csv -o release.csv --qi age=intervals:5,10,20 --qi sex=suppression
    --qi zip=redaction --qi job=job.csv --sensitive diagnosis --identifying name --others keep
    --model k-anonymity:5 --quality loss --suppression-limit 0.05[/cyan]

    HIERARCHY, MODEL, QUALITY and FORMAT are a name, with parameters after a colon: values in their order
    ([cyan]intervals:5,10,20[/cyan]) or by key ([cyan]redaction:start=left,character=x[/cyan]). Lists given by
    key have | between entries; quotes keep commas together. COLUMNS are names with commas between them.
    [cyan]veil hierarchies[/cyan], [cyan]veil models[/cyan], [cyan]veil qualities[/cyan] and
    [cyan]veil strategies[/cyan] list what there is.
    """
    startup.quick()
    from veil.cli import anonymizing

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
        save_recipe=save_recipe,
        overwrite=overwrite,
    )
    anonymizing.run(job, threads=threads, quiet=quiet, budget=budget)


@command
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


@command
def assess(
    file: Annotated[Path, typer.Argument(metavar="TABLE", help="The table to look at.")],
    qi: Annotated[
        list[str],
        typer.Option(
            "--qi", metavar="COLUMNS", help="Columns that an attacker may know, such as age,sex,zip."
        ),
    ],
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Columns that an attacker must not learn.")
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=HIERARCHY", help="Hierarchy of a sensitive column, for hierarchical t-closeness."
        ),
    ] = None,
    subset: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY|FILE", help="The rows that would be released; the whole table is their population."
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE|REGION", help="The people the table was drawn from, such as 80000 or USA."
        ),
    ] = None,
    format: FormatOption = None,
) -> None:
    """Show what a table fulfils already, and the risks of the people in it."""
    startup.quick()
    from veil.cli import checking

    checking.assess(
        file, qi, sensitive or [], format, hierarchies=hierarchy or [], subset=subset, population=population
    )


@command
def verify(
    file: Annotated[Path, typer.Argument(metavar="TABLE", help="The published table.")],
    recipe: Annotated[Path, typer.Option(metavar="FILE", help="The recipe whose promises it should keep.")],
    format: FormatOption = None,
) -> None:
    """Check on a published table that it keeps the promises of a recipe. Exit code 1 if one is broken."""
    startup.quick()
    from veil.cli import checking

    raise typer.Exit(checking.verify(file, recipe, format))


@command
def mask(
    source: Annotated[
        Path,
        typer.Argument(metavar="RECIPE|TABLE", help="A masking recipe (.yaml), or a table and the steps."),
    ],
    step: Annotated[
        list[str] | None,
        typer.Option("--step", metavar="METHOD", help="A masking method. Repeat for more, in their order."),
    ] = None,
    input: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The table, instead of the recipe's.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")
    ] = None,
    apart: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where to keep what does not go with the release, as pseudonyms."
        ),
    ] = None,
    overwrite: Overwrite = False,
    format: FormatOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Mask a table with one or more methods, as a recipe says, or as options say.

    Shows for each step what was lost and what risk is left. On any error nothing is written.

    [bold]With a recipe[/bold]

    [cyan]veil mask steps.yaml[/cyan]

    [bold]With options[/bold]

    [cyan]veil mask patients.csv -o masked.csv --step random-pseudonyms:name --apart secret
    --step rank-swapping:age,income,p=10 --step "top-coding:stay,quantile=0.99"[/cyan]

    METHOD is a name, with parameters after a colon, as for [cyan]veil anonymize[/cyan]: columns first, the others
    by key. [cyan]veil masks[/cyan] lists what there is.
    """
    startup.quick()
    from veil.cli import mask as masking

    job = masking.job_of(
        source, step or [], input=input, format=format, output=output, apart=apart, overwrite=overwrite
    )
    masking.run(job, quiet=quiet)


@command
def hierarchy(
    file: Annotated[Path, typer.Argument(metavar="TABLE", help="The table with the column.")],
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="The column.")],
    using: Annotated[
        str, typer.Option(metavar="HIERARCHY", help="Kind and parameters, such as intervals:5,10.")
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to save it.")
    ] = None,
    overwrite: Overwrite = False,
    format: FormatOption = None,
) -> None:
    """Build the hierarchy of a column, look at it, and save it as a file to edit and use."""
    startup.quick()
    from veil.cli import checking

    checking.hierarchy(file, column, using, format, output, overwrite)


_Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Only this one, with all there is to say.")
]


@command
def models(name: _Name = None) -> None:
    """List the privacy models with their parameters."""
    from veil.cli import reference
    from veil.recipe._parts import MODELS

    reference.listing(MODELS, name, "--model ")


@command
def qualities(name: _Name = None) -> None:
    """List the quality models with their parameters."""
    from veil.cli import reference
    from veil.recipe._parts import QUALITIES

    reference.listing(QUALITIES, name, "--quality ")


@command
def strategies(name: _Name = None) -> None:
    """List the search strategies with their parameters."""
    from veil.cli import reference
    from veil.recipe._parts import STRATEGIES

    reference.listing(STRATEGIES, name, "--strategy ")


@command
def hierarchies(name: _Name = None) -> None:
    """List the kinds of hierarchies with their parameters."""
    from veil.cli import reference
    from veil.recipe._parts import BUILDERS

    reference.listing(BUILDERS, name, "--qi COLUMN=")


@command
def masks(
    name: _Name = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of masking recipes instead.")
    ] = False,
) -> None:
    """List the masking methods with their parameters."""
    from veil.cli import reference
    from veil.recipe.masking import MASKINGS, masking_schema

    if schema:
        import json

        typer.echo(json.dumps(masking_schema(), indent=2, ensure_ascii=False))
        return
    reference.listing(MASKINGS, name, "--step ")


@command
def schema(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A file instead of the terminal.")
    ] = None,
) -> None:
    """Print the JSON schema of recipes, for editors and checks."""
    import json

    from veil.recipe import schema
    from veil.tables import atomic

    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    with atomic(output) as temporary:
        temporary.write_text(text, encoding="utf-8")


@command
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to put the files.")] = Path("veil-demo"),
    rows: Annotated[int, typer.Option(min=1, help="How many rows to make up.")] = 2000,
    threads: Threads = None,
) -> None:
    """Make a table, anonymize it, and show the result, its risks and where the report is."""
    startup.quick()
    from veil.cli import demo

    demo.demo(folder, rows, threads)
