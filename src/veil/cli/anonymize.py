"""`veil anonymize`: from a recipe or options to files and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veil.api.open import place_of
from veil.api.resolve import Run, resolve
from veil.cli import files, grammar
from veil.cli.base import Acknowledge, Documents, Overwrite
from veil.cli.commands.anonymize import Anonymize
from veil.cli.options import fields_of, flag_of
from veil.cli.places import engine_of, warn_about_passwords
from veil.cli.run import carry_out_and_show, places_of, started
from veil.cli.streams import Streams
from veil.errors import ParameterError, PlanError
from veil.recipe import Recipe
from veil.recipe.generalize import COMMON
from veil.tables import Format


def anonymize(options: Anonymize) -> None:
    """Anonymize, write, and show a summary."""
    reading = grammar.format(options.format)
    with started(options, "anonymize", reading, options.source) as (piped, logged):
        run = _resolve(piped, options, reading)
        carry_out_and_show(run, options, piped, logged)


def _resolve(piped: Streams, options: Anonymize, reading: Format | None) -> Run:
    """Read the recipe, or make one from the options, and resolve its places."""
    source = place_of(piped.read(options.source) or "")
    table, target = places_of(options, piped)
    warn_about_passwords(source, target, table)
    places: dict[str, Any] = {
        **options.of(Documents, Acknowledge, Overwrite),
        "about": grammar.about(options.about),
        "engine": engine_of(options),
        "save_recipe": options.save_recipe,
        "format": reading,
        "output": target,
    }
    fields = options.further
    if isinstance(source, Path) and files.is_recipe(source):
        _refuse_plan(source, {**fields, "save_recipe": options.save_recipe})
        return resolve(files.read_recipe(source, "anonymize"), input=table, **places)
    if options.input is not None:
        raise PlanError(f"--input is only for recipes; {source} is already the table")
    if target is None:
        raise PlanError("say where to write the release: --output release.csv")
    return resolve(recipe_of(fields_of(fields)), input=source, **places)


def recipe_of(fields: Mapping[str, Any]) -> Recipe:
    """Return the recipe of options: a step Generalize, and common fields."""
    common = {name: fields[name] for name in COMMON if name in fields}
    step = {name: each for name, each in fields.items() if name not in COMMON}
    try:
        return Recipe(steps=[{"kind": "Generalize", **step}], **common)
    except ParameterError as error:
        raise ParameterError(str(error).replace("`steps[0].", "`")) from None  # options are in no step


def _refuse_plan(source: Path, options: Mapping[str, Any]) -> None:
    """Refuse options of the plan beside a recipe."""
    flags = [flag_of(name) for name, value in options.items() if value]
    if flags:
        raise PlanError(f"{', '.join(flags)} is only for a table, not for a recipe: change {source} instead")
