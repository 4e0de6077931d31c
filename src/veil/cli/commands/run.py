"""`veil run`: any recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veil.cli import startup
from veil.cli.base import (
    RELEASE,
    Acknowledge,
    AnyInput,
    AnyOutput,
    DryRun,
    Json,
    Log,
    Overwrite,
    Quiet,
    Threads,
    command,
)


@command(RELEASE, "run")
def run_recipe(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A recipe (.yaml, .json).")],
    input: AnyInput = None,
    output: AnyOutput = None,
    acknowledge: Acknowledge = None,
    overwrite: Overwrite = False,
    threads: Threads = None,
    json: Json = False,
    dry_run: DryRun = False,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Carry out a recipe of any kind: masks, a search, policies, a private table or questions.

    [cyan]veil run recipe.yaml[/cyan]

    All results are written together, or nothing is.
    """
    startup.quick()
    from veil.cli.run import run_and_show

    run_and_show(
        recipe,
        input=input,
        output=output,
        acknowledge=acknowledge or (),
        overwrite=overwrite,
        threads=threads,
        json=json,
        dry_run=dry_run,
        log=log,
        quiet=quiet,
    )
