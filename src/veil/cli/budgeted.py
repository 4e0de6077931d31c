"""What `veil ask` and `veil private-table` share: a recipe, or a table and options that are fields of a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veil.api.open import Place, place_of
from veil.api.resolve import table_of
from veil.cli import files, grammar
from veil.cli.options import flag_of, option_fields
from veil.cli.places import warn_about_passwords
from veil.engines.database import is_url
from veil.errors import PlanError
from veil.recipe import Recipe
from veil.recipe.parts import is_path
from veil.tables import Format

if TYPE_CHECKING:
    from veil.cli.commands.ask import Budgeted


def table_and_recipe(
    options: Budgeted, command: str, fields: Collection[Any], what: str
) -> tuple[Place, Format | None, Recipe | None]:
    """Return the table, its format, and the recipe; None if options say what to do.

    `what` a recipe holds cannot be options, too: they may give no `fields`.
    """
    format, recipe = grammar.format(options.format), None
    if is_url(options.source) or not files.is_recipe(Path(options.source)):
        place = place_of(options.source)
    elif fields:
        raise PlanError(f"{what} in the recipe: change {options.source} instead of giving options")
    else:
        recipe = files.read_recipe(Path(options.source), command)
        place, format = table_of(recipe, format=format)
    warn_about_passwords(place)
    return place, format, recipe


def fields_of(options: Budgeted, declaration: type[Any]) -> dict[str, Any]:
    """Return the fields of a declaration that options give."""
    values = {name: getattr(options, name) for name in option_fields(declaration)}
    return {name: _read(name, value) for name, value in values.items() if value}


def person_of(options: Budgeted) -> dict[str, Any]:
    """Return the field `person` of a recipe, if it is given."""
    return {"person": grammar.person(options.person)} if options.person else {}


def _read(field: str, value: Any) -> Any:
    if field in _PAIRS:
        return dict(_read_pair(field, text) for text in value)
    return grammar.names(value) if field == "columns" else value


def _read_pair(field: str, text: str) -> tuple[str, Any]:
    """Read COLUMN=VALUE."""
    example, read = _PAIRS[field]
    name, separator, value = text.partition("=")
    if not separator or not value:
        flag = flag_of(field)
        raise PlanError(f"{flag} {text!r}: write COLUMN=…, such as {flag} {example}")
    return name, read(name, value)


def _bounds(name: str, text: str) -> tuple[Any, Any]:
    low, separator, high = text.partition(":")
    if not separator:
        raise PlanError(f"--bounds {name}={text}: write the lower and the higher bound, such as {name}=0:120")
    return grammar.value_of(low), grammar.value_of(high)


def _domain(name: str, text: str) -> str | Sequence[str]:
    return text if is_path(text) and "|" not in text else text.split("|")


_PAIRS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "bounds": ("age=0:120", _bounds),
    "keys": ("'sex=f|m'", lambda name, text: text.split("|")),
    "missing": ("'age=leave out'", lambda name, text: grammar.value_of(text)),
    "domains": ("'sex=f|m'", _domain),
}
"""Fields that map columns to values: an example, and the reader of a value."""
