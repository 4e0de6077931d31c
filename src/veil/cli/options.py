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
    "recoding": grammar.recoding,
    "minimum_levels": lambda texts: grammar.levels(texts, flag_of("minimum_levels")),
    "maximum_levels": lambda texts: grammar.levels(texts, flag_of("maximum_levels")),
}
"""Readers of the text of options. All others are text or numbers, which the plan reads itself."""


def plan_options() -> list[inspect.Parameter]:
    """Return an option for each field of a plan."""
    return [_parameter(Plan, field.name, PLAN) for field in dataclasses.fields(Plan)]


def step_options(*declarations: type[Any]) -> list[inspect.Parameter]:
    """Return an option for each field of the declarations of a step that says how it is one."""
    return [
        _parameter(declaration, field, _option(field, declaration).panel)
        for declaration in declarations
        for field in option_fields(declaration)
    ]


def option_fields(declaration: Any) -> list[str]:
    """Return the fields of a declaration that say how they are options."""
    return [
        name
        for name, kind in _types(declaration).items()
        if any(isinstance(each, Option) for each in get_args(kind))
    ]


def _parameter(declaration: Any, field: str, panel: str | None) -> inspect.Parameter:
    metavar = _option(field, declaration).metavar or "|".join(_choices(field, declaration))
    info = typer.Option(
        flag_of(field, declaration), metavar=metavar, help=_help(field, declaration), rich_help_panel=panel
    )
    kind = list[str] | None if _is_collection(field, declaration) else str | None
    return inspect.Parameter(
        field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, info]
    )


def flag_of(field: str, declaration: Any = Plan) -> str:
    """Return the option of a field.

    >>> flag_of("quasi_identifiers"), flag_of("suppression_limit")
    ('--qi', '--suppression-limit')
    """
    return _option(field, declaration).flag or "--" + field.replace("_", "-")


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
def _types(declaration: Any) -> dict[str, Any]:
    return get_type_hints(declaration, include_extras=True)


def _option(field: str, declaration: Any) -> Option:
    details = get_args(_types(declaration).get(field))
    return next((each for each in details if isinstance(each, Option)), Option())


def _is_collection(field: str, declaration: Any) -> bool:
    return any(get_origin(each) in _COLLECTIONS for each in _parts(_types(declaration)[field]))


_COLLECTIONS = (dict, list, tuple)


def _choices(field: str, declaration: Any) -> list[str]:
    return [
        str(word)
        for each in _parts(_types(declaration)[field])
        if get_origin(each) is Literal
        for word in get_args(each)
    ]


def _parts(annotation: Any) -> list[Any]:
    """Return a type with its members, but without those inside of collections."""
    inner = get_args(annotation) if get_origin(annotation) not in (*_COLLECTIONS, Literal) else ()
    return [annotation, *(part for each in inner for part in _parts(each))]


def _help(field: str, declaration: Any) -> str:
    declared = declaration.__pydantic_fields__[field]
    option, default = _option(field, declaration), declared.get_default(call_default_factory=True)
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
