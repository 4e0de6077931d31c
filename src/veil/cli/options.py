"""The options of a plan: derived from its fields, and read by the grammar of each."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from veil.cli import grammar
from veil.cli.base import PLAN
from veil.errors import PlanError, Say
from veil.plan.plan import Option, Plan

_READERS: dict[str, Callable[[Any], Any]] = {
    "quasi_identifiers": grammar.hierarchies,
    "models": lambda texts: [grammar.model(text) for text in texts],
    "sensitive": grammar.names,
    "insensitive": grammar.names,
    "identifying": grammar.treatments,
    "microaggregated": grammar.aggregations,
    "items": grammar.columns,
    "person": grammar.person,
    "quality": grammar.quality,
    "strategy": grammar.strategy,
    "local_recoding": grammar.local_recoding,
    "minimum_levels": lambda texts: grammar.levels(texts, flag_of("minimum_levels")),
    "maximum_levels": lambda texts: grammar.levels(texts, flag_of("maximum_levels")),
}
"""Readers of the text of options. All others are text or numbers, which the plan reads itself."""


def plan_options() -> list[inspect.Parameter]:
    """Return an option for each field of a plan."""
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                list[str] | None if _is_collection(field.name) else str | None,
                typer.Option(
                    flag_of(field.name),
                    metavar=_option(field.name).metavar or "|".join(_choices(field.name)),
                    help=_help(field.name),
                    rich_help_panel=PLAN,
                ),
            ],
        )
        for field in dataclasses.fields(Plan)
    ]


def flag_of(field: str) -> str:
    """Return the option of a field.

    >>> flag_of("quasi_identifiers"), flag_of("suppression_limit")
    ('--qi', '--suppression-limit')
    """
    return _option(field).flag or "--" + field.replace("_", "-")


def fields_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options of a plan; the plan has the defaults."""
    fields = {
        name: _READERS.get(name, lambda value: value)(value)
        for name, value in options.items()
        if value is not None and value != []
    }
    if "quasi_identifiers" not in fields:
        raise PlanError(
            "the plan has no quasi-identifier: name at least one column an attacker may know, such as "
            "--qi age=intervals:5,10. `veil identify` suggests columns, with a command to continue"
        )
    if "models" not in fields:
        raise PlanError("the plan has no privacy model: say what must hold, such as --model k-anonymity:5")
    return fields


def spell_option(way: Say) -> str:
    """Return a way out in the form of options.

    >>> print(spell_option(Say("others", "keep")), spell_option(Say("overwrite", True)), spell_option(Say("sensitive")))
    --others keep --overwrite --sensitive
    >>> spell_option(Say("format", "Csv", encoding="latin-1")), spell_option(Say("engine", "Settings", memory=...))
    ('--format csv:encoding=latin-1', '--memory ...')
    >>> print(spell_option(Say("format", "Csv", separator=";", decimal=",")))
    --format 'csv:separator=;,decimal=","'
    """
    parameters = {name: _as_text(value) for name, value in way.parameters.items()}
    if way.value == "Settings":
        return " ".join(f"--{name} {value}" for name, value in parameters.items())
    if parameters:
        spellings = [grammar.spell_parameter(name, value) for name, value in parameters.items()]
        spec = f"{grammar.kebab(str(way.value))}:{','.join([*way.beside, *spellings])}"
        return f"{flag_of(way.field)} " + (
            f"'COLUMN={spec}'" if way.field == "quasi_identifiers" else shlex.quote(spec)
        )
    return flag_of(way.field) if way.value in (None, True) else f"{flag_of(way.field)} {way.value}"


def _as_text(value: Any) -> str:
    if value is ...:
        return "..."
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Plan, include_extras=True)


def _option(field: str) -> Option:
    declared = get_args(_types().get(field))
    return next((each for each in declared if isinstance(each, Option)), Option())


def _is_collection(field: str) -> bool:
    return any(get_origin(each) in (dict, tuple) for each in _parts(_types()[field]))


def _choices(field: str) -> list[str]:
    return [
        str(word)
        for each in _parts(_types()[field])
        if get_origin(each) is Literal
        for word in get_args(each)
    ]


def _parts(annotation: Any) -> list[Any]:
    """Return a type with its members, but without those inside of collections."""
    inner = get_args(annotation) if get_origin(annotation) not in (dict, tuple, Literal) else ()
    return [annotation, *(part for each in inner for part in _parts(each))]


def _help(field: str) -> str:
    declared = Plan.__pydantic_fields__[field]  # type: ignore[attr-defined]
    option, default = _option(field), declared.get_default(call_default_factory=True)
    about = option.about or re.split(r"\. (?=[A-Z])", str(declared.description))[0]
    sentences = [about[0].upper() + about[1:] + ".", option.hint]
    if not declared.is_required() and default not in (None, {}, ()):
        text = (
            grammar.kebab(default.kind)
            if hasattr(default, "kind")
            else f"{default:g}"
            if isinstance(default, float)
            else default
        )
        sentences.append(f"Default: {text}.")
    return " ".join(filter(None, sentences))
