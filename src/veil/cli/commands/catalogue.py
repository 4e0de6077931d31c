"""The commands that list models, methods and schemas, and the demo."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import LISTS, START, Threads, command


class Kind(StrEnum):
    """The families of declarations that can be listed."""

    models = "models"
    quality_models = "quality-models"
    strategies = "strategies"
    hierarchies = "hierarchies"
    masks = "masks"


_FAMILIES = {
    Kind.models: ("veil.recipe.parts", "MODELS", "--model "),
    Kind.quality_models: ("veil.quality", "QUALITIES", "--quality "),
    Kind.strategies: ("veil.lattice", "STRATEGIES", "--strategy "),
    Kind.hierarchies: ("veil.hierarchies", "BUILDERS", "--qi COLUMN="),
    Kind.masks: ("veil.masking", "METHODS", "--step "),
}
"""Where each family is declared, and how its members are written as an option."""


@command(LISTS, "list")
def list_kind(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help=f"What to list: {', '.join(Kind)}.")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show only this one, in full.")] = None,
) -> None:
    """List privacy models, quality models, strategies, hierarchies or masking methods with their parameters.

    [cyan]veil list models[/cyan], [cyan]veil list masks rank-swapping[/cyan]
    """
    import importlib

    from veil.cli import reference

    room, family, option = _FAMILIES[kind]
    reference.listing(getattr(importlib.import_module(room), family), name, option)


class SchemaName(StrEnum):
    """The documents that have a JSON schema."""

    recipe = "recipe"
    portable = "portable"


@command(LISTS)
def schema(
    document: Annotated[
        SchemaName, typer.Argument(metavar="[DOCUMENT]", help=f"Of which: {', '.join(SchemaName)}.")
    ] = SchemaName.recipe,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A file instead of the terminal.")
    ] = None,
) -> None:
    """Print the JSON schema of recipes, for editors and checks.

    [cyan]portable[/cyan] is the schema without paths, of documents that come from elsewhere: projects, and requests
    to the workbench.
    """
    import json

    from veil.recipe import schema
    from veil.tables import atomic

    content = schema(paths=document is SchemaName.recipe)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
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
