"""The commands that list models, methods and schemas, and the demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import LISTS, START, Threads, command

_Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show only this one, in full.")]


@command(LISTS)
def models(name: _Name = None) -> None:
    """List the privacy models with their parameters."""
    from veil.cli import reference
    from veil.recipe.parts import MODELS

    reference.listing(MODELS, name, "--model ")


@command(LISTS, "quality-models")
def quality_models(name: _Name = None) -> None:
    """List the quality models with their parameters."""
    from veil.cli import reference
    from veil.quality import QUALITIES

    reference.listing(QUALITIES, name, "--quality ")


@command(LISTS)
def strategies(name: _Name = None) -> None:
    """List the search strategies with their parameters."""
    from veil.cli import reference
    from veil.lattice import STRATEGIES

    reference.listing(STRATEGIES, name, "--strategy ")


@command(LISTS)
def hierarchies(name: _Name = None) -> None:
    """List the kinds of hierarchies with their parameters."""
    from veil.cli import reference
    from veil.hierarchies import BUILDERS

    reference.listing(BUILDERS, name, "--qi COLUMN=")


@command(LISTS)
def masks(
    name: _Name = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of masking recipes instead.")
    ] = False,
) -> None:
    """List the masking methods with their parameters."""
    from veil.cli import reference
    from veil.masking import METHODS

    if schema:
        import json

        from veil.recipe.masking import masking_schema

        typer.echo(json.dumps(masking_schema(), indent=2, ensure_ascii=False))
        return
    reference.listing(METHODS, name, "--step ")


@command(LISTS)
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


@command(START, "demo")
def run_demo(
    folder: Annotated[Path, typer.Argument(help="Where to put the files.")] = Path("veil-demo"),
    rows: Annotated[int, typer.Option(min=1, help="How many rows to make up.")] = 2000,
    threads: Threads = None,
) -> None:
    """Make up a table, anonymize it, and show the result, its risks and where the report is."""
    startup.quick()
    from veil.cli.demo import show_demo

    show_demo(folder, rows, threads)
