"""`veil anonymize`: from a recipe or options to files and a summary."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from veil.api.open import place_of, target_place
from veil.api.rehearse import rehearse
from veil.api.resolve import Run, resolve
from veil.api.run import Done, carry_out
from veil.cli import failures, files, grammar, show
from veil.cli.json_result import as_json, as_text, summary_of
from veil.cli.log import Log, logging
from veil.cli.options import fields_of, flag_of
from veil.cli.places import warn_about_passwords
from veil.cli.streams import STREAM, Streams, streams
from veil.engines.database import Database
from veil.errors import ParameterError, PlanError
from veil.recipe import Recipe
from veil.recipe.generalize import COMMON
from veil.tables import Format


def anonymize_and_show(
    text: str,
    options: Mapping[str, Any],
    *,
    input: str | None,
    format: str | None,
    output: str | None,
    threads: int | None,
    quiet: bool,
    json: bool,
    dry_run: bool,
    log: Path | None,
    **places: Any,
) -> None:
    """Anonymize, write, and show a summary. `options` are the plan's; `places` are those of `veil.run`."""
    if json and output == STREAM:
        raise PlanError("--json and --output - both use standard output: write the release to a file")
    reading = grammar.format(format)
    places["about"] = grammar.about(places["about"])
    with logging(log, "anonymize", quiet=quiet) as logged, streams(reading, text, input, output) as piped:
        run = _resolve(piped, text, options, input, reading, output, places)
        if dry_run:
            _rehearse(run, logged, threads=threads, quiet=quiet, json=json)
            return
        with files.track_outputs(run.targets.values()) as outputs:
            progress = logged or (False if quiet else None)
            done = carry_out(run, threads=threads, progress=progress)
            outputs += [str(run.output)] if isinstance(run.output, Database) else []
            if logged is not None:
                logged.end_phase()
                logged.write("released", **summary_of(done))
            if output == STREAM:
                piped.send()
            if json:
                typer.echo(as_json(done, run))
            elif not quiet:
                _show(done, run, to_stream=output == STREAM)


def _resolve(
    piped: Streams,
    text: str,
    options: Mapping[str, Any],
    input: str | None,
    reading: Format | None,
    output: str | None,
    places: Mapping[str, Any],
) -> Run:
    """Read the recipe, or make one from the options, and resolve its places."""
    source = place_of(piped.read(text) or "")
    target_text = piped.target(output)
    target = None if target_text is None else target_place(target_text)
    input_text = piped.read(input)
    table = None if input_text is None else place_of(input_text)
    warn_about_passwords(source, target, table)
    if isinstance(source, Path) and files.is_recipe(source):
        _refuse_plan(source, {**options, "save_recipe": places["save_recipe"]})
        recipe = files.read_recipe(source, "anonymize")
        return resolve(recipe, input=table, format=reading, output=target, **places)
    if input is not None:
        raise PlanError(f"--input is only for recipes; {source} is already the table")
    if target is None:
        raise PlanError("say where to write the release: --output release.csv")
    recipe = recipe_of(fields_of(options))
    return resolve(recipe, input=source, format=reading, output=target, **places)


def recipe_of(fields: Mapping[str, Any]) -> Recipe:
    """Return the recipe of options: a step Generalize, local recoding if there is some, and common fields."""
    common = {name: fields[name] for name in COMMON if name in fields}
    step = {name: each for name, each in fields.items() if name not in (*COMMON, "local_recoding")}
    steps = [{"kind": "Generalize", **step}, fields.get("local_recoding")]
    try:
        return Recipe(steps=[each for each in steps if each is not None], **common)
    except ParameterError as error:
        raise ParameterError(str(error).replace("`steps[0].", "`")) from None  # options are in no step


def _rehearse(run: Run, logged: Log | None, *, threads: int | None, quiet: bool, json: bool) -> None:
    """Show the result of a dry run."""
    rehearsal = rehearse(run, threads=threads, progress=logged or (False if quiet else None))
    if json:
        typer.echo(as_text(dataclasses.asdict(rehearsal)))
    elif not quiet:
        console = show.output()
        sizes = {
            "records": rehearsal.records,
            "columns": rehearsal.columns,
            "possible transformations": rehearsal.transformations,
        }
        rows = [(what, f"{size:,}") for what, size in sizes.items() if size is not None]
        console.print("The plan fits the table; nothing was written.")
        console.print(show.table("", ("", ""), rows))
        show.files(console, ((f"would be {what}", Path(path)) for what, path in rehearsal.targets.items()))


def _refuse_plan(source: Path, options: Mapping[str, Any]) -> None:
    """Refuse options of the plan beside a recipe."""
    flags = [flag_of(name) for name, value in options.items() if value]
    if flags:
        raise PlanError(f"{', '.join(flags)} is only for a table, not for a recipe: change {source} instead")


def _show(done: Done, run: Run, *, to_stream: bool = False) -> None:
    console, release, relation = show.errors() if to_stream else show.output(), done.release, done.relation
    show.release(console, release)
    rows = "the output" if relation is None else "the different rows, before writing"
    show.verification(console, release.verification, rows)
    if release.statement is None:
        before, after = release.risk()
        show.risks(console, ("before", before), ("after", after))
    show.statement(console, release)
    show.concerns(console, release)
    targets = run.targets
    if to_stream:
        targets.pop("release")
    if relation is not None:
        show.release_of_engine(console, release, done.written, relation)
        targets.pop("release", None)
    show.files(console, [*targets.items(), *(("apart", path) for path in done.apart)])
    for note in release.notes if relation is None and release.statement is None else ():
        failures.print_note(f"note: {note}")
