"""`veil anonymize`: from a recipe, or from options that say the same, to files and what there is to say about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veil.api.job import Job, settle
from veil.api.open import place_of, target_place
from veil.api.release import Release
from veil.api.run import Done, carry_out, run
from veil.cli import failures, files, grammar
from veil.cli.budget import account_of
from veil.cli.options import fields_of, flag_of
from veil.cli.places import warn_about_passwords
from veil.engines.database import Database
from veil.errors import PlanError
from veil.hierarchies.notes import notes
from veil.recipe import Recipe


def anonymize_and_show(
    text: str,
    options: Mapping[str, Any],
    *,
    input: str | None,
    format: str | None,
    output: str | None,
    budget: Path | None,
    threads: int | None,
    quiet: bool,
    **places: Any,
) -> None:
    """Anonymize, write, and show what was done. `options` are the plan's; `places` are those of `veil.run`."""
    source, target = place_of(text), None if output is None else target_place(output)
    table = None if input is None else place_of(input)
    warn_about_passwords(source, target, table)
    chosen = grammar.format(format) if format else None
    if isinstance(source, Path) and files.is_recipe(source):
        _refuse_plan(source, {**options, "save_recipe": places["save_recipe"]})
        recipe = Recipe.read(source)
        if recipe.tables is not None:
            _show_several(
                run(recipe, input=table, format=chosen, output=target, threads=threads,
                    progress=False if quiet else None, **places),
                quiet,
            )  # fmt: skip
            return
        job = settle(recipe, input=table, format=chosen, output=target, **places)
    else:
        if input is not None:
            raise PlanError(f"--input goes with a recipe; {source} is the table already")
        if target is None:
            raise PlanError("say where to write the release: --output release.csv")
        recipe = Recipe(**fields_of(options))
        job = settle(recipe, input=source, format=chosen, output=target, **places)
    accountant = account_of(job.input, budget)
    with files.honest_about(job.targets.values()) as written:
        done = carry_out(job, threads=threads, progress=False if quiet else None, accountant=accountant)
        written += [str(job.output)] if isinstance(job.output, Database) else []
        if not quiet:
            _show(done, job)


def _refuse_plan(source: Path, options: Mapping[str, Any]) -> None:
    """A recipe says it all but for the places."""
    given = [flag_of(name) for name, value in options.items() if value]
    if given:
        raise PlanError(f"{', '.join(given)} goes with a table, not with a recipe: change {source} instead")


def _show_several(made: Release, quiet: bool) -> None:
    """Show what became of several tables."""
    if not quiet:
        from veil.cli import show

        console = show.output()
        show.release(console, made)
        show.verification(console, made.verification, "the output")


def _show(done: Done, job: Job) -> None:
    from veil.cli import show

    console, made, relation = show.output(), done.release, done.relation
    show.release(console, made)
    rows = "the output" if relation is None else "the different rows, before writing"
    show.verification(console, made.verification, rows)
    before, after = made.risk()
    show.risks(console, ("before", before), ("after", after))
    show.statement(console, made)
    show.concerns(console, made)
    targets = job.targets
    if relation is not None:
        show.release_of_engine(console, made, done.written, relation)
        targets.pop("release", None)
    show.files(console, targets.items())
    if relation is None and made.plan is not None:
        source = made.outcome.source
        for note in notes(source.table, made.plan.quasi_identifiers, source.format):
            failures.say(f"note: {note}")
