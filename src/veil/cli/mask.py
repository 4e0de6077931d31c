"""`veil mask`: masking methods from a recipe or options to files, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from veil.api.resolve import resolve
from veil.api.run import carry_out
from veil.cli import files, grammar
from veil.cli.run import show_done
from veil.cli.steps import read_step
from veil.errors import PlanError
from veil.recipe import Recipe


def mask_and_show(
    source: Path,
    steps: Sequence[str],
    *,
    input: Path | None,
    format: str | None,
    output: Path | None,
    order: str | None,
    person: str | None,
    quiet: bool,
    **places: Any,
) -> None:
    """Mask, write, and show a summary. `places` are those of `veil.run`."""
    places["about"] = grammar.about(places["about"])
    files.no_databases(source, input, output)
    reading = grammar.format(format)
    target = None if output is None else str(output)
    if files.is_recipe(source):
        if steps or order or person:
            flag = "--step" if steps else "--order" if order else "--person"
            raise PlanError(f"{flag} is only for a table, not for a recipe: change {source} instead")
        run = resolve(files.read_recipe(source, "mask"), input=input, format=reading, output=target, **places)
    else:
        if input is not None:
            raise PlanError(f"--input is only for recipes; {source} is already the table")
        if target is None:
            raise PlanError("say where to write the masked table: --output masked.csv")
        if not steps:
            raise PlanError(
                'say how to mask, such as --step "rank-swapping:age,p=10"; `veil list masks` lists methods'
            )
        recipe = Recipe(
            steps=[read_step(each) for each in steps],
            order=cast("Any", order or "random"),
            person=grammar.person(person),
        )
        run = resolve(recipe, input=source, format=reading, output=target, **places)
    with files.track_outputs(run.targets.values()):
        done = carry_out(run, progress=False if quiet else None)
        if not quiet:
            show_done(done, run)
