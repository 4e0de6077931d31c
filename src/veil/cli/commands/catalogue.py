"""The commands that list models, methods and schemas, and the demo."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from veil.cli.base import LISTS, START, Options, Parallel, argument, declared, option


class Kind(StrEnum):
    """The families of declarations that can be listed."""

    models = "models"
    quality_models = "quality-models"
    strategies = "strategies"
    recodings = "recodings"
    hierarchies = "hierarchies"
    masks = "masks"


@declared(LISTS, "reference.listing", tables=False)
class List(Options):
    """List privacy models, quality models, strategies, recodings, hierarchies or masking methods with their parameters.

    [cyan]veil list models[/cyan], [cyan]veil list masks rank-swapping[/cyan]
    """

    kind: Kind = argument(f"What to list: {', '.join(Kind)}.", "KIND")
    name: str | None = argument("Show only this one, in full.", "[NAME]", None)


class SchemaName(StrEnum):
    """The documents that have a JSON schema."""

    recipe = "recipe"
    portable = "portable"


@declared(LISTS, "reference.schema", tables=False)
class Schema(Options):
    """Print the JSON schema of recipes, for editors and checks.

    [cyan]portable[/cyan] is the schema without paths, of documents that come from elsewhere: projects, and requests
    to the workbench.
    """

    document: SchemaName = argument(f"Of which: {', '.join(SchemaName)}.", "[DOCUMENT]", SchemaName.recipe)
    output: Path | None = option("A file instead of the terminal.", "FILE", None, "--output", "-o")


@declared(START, "demo.demo")
class Demo(Parallel):
    """Make up a table, anonymize it, and show the result, its risks and where the report is."""

    folder: Path = argument("Where to put the files.", None, Path("veil-demo"))
    rows: int = option("How many rows to make up.", None, 2000, min=1)
