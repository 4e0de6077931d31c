"""`veil run`: any recipe."""

from __future__ import annotations

from pathlib import Path

from veil.cli.base import RELEASE, Releasing, TableFormat, argument, declared


@declared(RELEASE, "run.run")
class RunCommand(Releasing, TableFormat):
    """Carry out a recipe of any kind: masks, a search, policies, a private table or questions.

    [cyan]veil run recipe.yaml[/cyan]

    All results are written together, or nothing is.
    """

    recipe: Path = argument("A recipe (.yaml, .json).", "RECIPE")
