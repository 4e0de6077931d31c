"""`veil anonymize`: from a recipe or options to files and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veil.api.open import place_of, target_place
from veil.api.resolve import Run, resolve
from veil.cli import files, grammar
from veil.cli.log import logging
from veil.cli.options import fields_of, flag_of
from veil.cli.places import warn_about_passwords
from veil.cli.run import carry_out_and_show
from veil.cli.streams import STREAM, Streams, streams
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
    with (
        logging(log, "anonymize", quiet=quiet) as logged,
        streams(reading, text, input, output=output) as piped,
    ):
        run = _resolve(piped, text, options, input, reading, output, places)
        carry_out_and_show(run, piped, logged, threads=threads, quiet=quiet, json=json, dry_run=dry_run)


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


def _refuse_plan(source: Path, options: Mapping[str, Any]) -> None:
    """Refuse options of the plan beside a recipe."""
    flags = [flag_of(name) for name, value in options.items() if value]
    if flags:
        raise PlanError(f"{', '.join(flags)} is only for a table, not for a recipe: change {source} instead")
