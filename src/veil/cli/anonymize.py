"""`veil anonymize`: from a recipe, or from options that say the same, to files and what there is to say about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from veil.api.job import Run, settle
from veil.api.open import place_of, target_place
from veil.api.rehearse import rehearse
from veil.api.run import Done, carry_out
from veil.cli import failures, files, grammar, show
from veil.cli.budget import account_of
from veil.cli.json_result import as_json, as_text, told_of
from veil.cli.log import Log, logging
from veil.cli.options import fields_of, flag_of
from veil.cli.places import warn_about_passwords
from veil.cli.streams import STREAM, Streams, streams
from veil.engines.database import Database
from veil.errors import PlanError
from veil.recipe import Recipe
from veil.recipe.masking import MaskingRecipe, read_recipe
from veil.tables import Format


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
    json: bool,
    dry_run: bool,
    log: Path | None,
    **places: Any,
) -> None:
    """Anonymize, write, and show what was done. `options` are the plan's; `places` are those of `veil.run`."""
    if json and output == STREAM:
        raise PlanError("--json and --output - both use standard output: write the release to a file")
    chosen = grammar.format(format) if format else None
    places["about"] = grammar.about(places["about"])
    with logging(log, "anonymize", quiet=quiet) as logged, streams(chosen, text, input, output) as piped:
        job = _job(piped, text, options, input, chosen, output, places)
        if dry_run:
            _rehearse(job, logged, threads=threads, quiet=quiet, json=json)
            return
        accountant = account_of(job.input, budget)
        with files.honest_about(job.targets.values()) as written:
            progress = logged or (False if quiet else None)
            done = carry_out(job, threads=threads, progress=progress, accountant=accountant)
            written += [str(job.output)] if isinstance(job.output, Database) else []
            if logged is not None:
                logged.end_phase()
                logged.write("released", **told_of(done))
            if output == STREAM:
                piped.send()
            if json:
                typer.echo(as_json(done, job))
            elif not quiet:
                _show(done, job, to_stream=output == STREAM)


def _job(
    piped: Streams,
    text: str,
    options: Mapping[str, Any],
    input: str | None,
    chosen: Format | None,
    output: str | None,
    places: Mapping[str, Any],
) -> Run:
    """Read the recipe, or make one of the options, and settle its places."""
    source = place_of(piped.read(text) or "")
    kept = piped.written(output)
    target = None if kept is None else target_place(kept)
    given = piped.read(input)
    table = None if given is None else place_of(given)
    warn_about_passwords(source, target, table)
    if isinstance(source, Path) and files.is_recipe(source):
        _refuse_plan(source, {**options, "save_recipe": places["save_recipe"]})
        recipe = _read_plan(source)
        return settle(recipe, input=table, format=chosen, output=target, **places)
    if input is not None:
        raise PlanError(f"--input is only for recipes; {source} is already the table")
    if target is None:
        raise PlanError("say where to write the release: --output release.csv")
    recipe = Recipe(**fields_of(options))
    return settle(recipe, input=source, format=chosen, output=target, **places)


def _read_plan(path: Path) -> Recipe:
    recipe = read_recipe(path)
    if isinstance(recipe, Recipe):
        return recipe
    command = "mask" if isinstance(recipe, MaskingRecipe) else "policy apply"
    raise PlanError(f"{path}: this recipe is for another command. Run `veil {command} {path}`")


def _rehearse(job: Run, logged: Log | None, *, threads: int | None, quiet: bool, json: bool) -> None:
    """Say what would be done."""
    found = rehearse(job, threads=threads, progress=logged or (False if quiet else None))
    if json:
        typer.echo(as_text(dataclasses.asdict(found)))
    elif not quiet:
        console = show.output()
        sizes = {
            "records": found.records,
            "columns": found.columns,
            "possible transformations": found.transformations,
        }
        rows = [(what, f"{size:,}") for what, size in sizes.items() if size is not None]
        console.print("The plan fits the table; nothing was written.")
        console.print(show.table("", ("", ""), rows))
        show.files(console, ((f"would be {what}", Path(path)) for what, path in found.targets.items()))


def _refuse_plan(source: Path, options: Mapping[str, Any]) -> None:
    """A recipe says it all but for the places."""
    given = [flag_of(name) for name, value in options.items() if value]
    if given:
        raise PlanError(f"{', '.join(given)} is only for a table, not for a recipe: change {source} instead")


def _show(done: Done, job: Run, *, to_stream: bool = False) -> None:
    console, made, relation = show.errors() if to_stream else show.output(), done.release, done.relation
    show.release(console, made)
    rows = "the output" if relation is None else "the different rows, before writing"
    show.verification(console, made.verification, rows)
    if made.statement is None:
        before, after = made.risk()
        show.risks(console, ("before", before), ("after", after))
    show.statement(console, made)
    show.concerns(console, made)
    targets = job.targets
    if to_stream:
        targets.pop("release")
    if relation is not None:
        show.release_of_engine(console, made, done.written, relation)
        targets.pop("release", None)
    show.files(console, [*targets.items(), *(("apart", path) for path in done.apart)])
    for note in made.notes if relation is None and made.statement is None else ():
        failures.say(f"note: {note}")
