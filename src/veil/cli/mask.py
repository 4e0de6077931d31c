"""`veil mask`: masking methods from a recipe or options to files, step by step."""

from __future__ import annotations

from typing import Any, cast

from veil.api.resolve import resolve
from veil.api.run import carry_out
from veil.cli import files, grammar
from veil.cli.base import Acknowledge, Documents, Overwrite
from veil.cli.commands.mask import Mask
from veil.cli.run import show_done
from veil.cli.steps import read_step
from veil.errors import PlanError
from veil.recipe import Recipe


def mask(options: Mask) -> None:
    """Mask, write, and show a summary."""
    source, steps = options.source, options.step
    files.no_databases(source, options.input, options.output)
    places: dict[str, Any] = {
        **options.of(Documents, Acknowledge, Overwrite),
        "about": grammar.about(options.about),
        "format": grammar.format(options.format),
        "output": None if options.output is None else str(options.output),
    }
    if files.is_recipe(source):
        if steps or options.order or options.person:
            flag = "--step" if steps else "--order" if options.order else "--person"
            raise PlanError(f"{flag} is only for a table, not for a recipe: change {source} instead")
        run = resolve(files.read_recipe(source, "mask"), input=options.input, **places)
    else:
        if options.input is not None:
            raise PlanError(f"--input is only for recipes; {source} is already the table")
        if options.output is None:
            raise PlanError("say where to write the masked table: --output masked.csv")
        if not steps:
            raise PlanError(
                'say how to mask, such as --step "rank-swapping:age,p=10"; `veil list masks` lists methods'
            )
        recipe = Recipe(
            steps=[read_step(each) for each in steps],
            order=cast("Any", options.order or "random"),
            person=grammar.person(options.person),
        )
        run = resolve(recipe, input=source, **places)
    with files.track_outputs(run.targets.values()):
        done = carry_out(run, progress=False if options.quiet else None)
        if not options.quiet:
            show_done(done, run)
