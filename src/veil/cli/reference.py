"""`veil models`, `veil qualities`, `veil hierarchies`: what there is, told by the declarations themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from veil.cli import show
from veil.cli.grammar import kebab
from veil.errors import PlanError, did_you_mean

_WORDS = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "nothing",
}


@dataclass(frozen=True)
class Parameter:
    """What a declaration says about one parameter."""

    name: str
    values: str
    default: str
    about: str


def parameters(cls: type[Any]) -> list[Parameter]:
    """List the parameters of a declared class.

    >>> from veil import KAnonymity
    >>> parameters(KAnonymity)[0].values
    'integer, 1 or more'
    """
    schema = TypeAdapter(cls).json_schema()
    required = schema.get("required", [])
    return [
        Parameter(
            name,
            _values(each, schema.get("$defs", {})),
            "required" if name in required else _default(cls, name),
            each.get("description", ""),
        )
        for name, each in schema["properties"].items()
        if name != "kind"
    ]


def listing(known: Mapping[str, type[Any]], name: str | None, option: str) -> None:
    """Show every class, or one of them."""
    chosen = dict(known)
    if name is not None:
        plain = {re.sub(r"[\s_-]", "", kind).lower(): kind for kind in known}
        kind = plain.get(re.sub(r"[\s_-]", "", name).lower())
        if kind is None:
            raise PlanError(f"there is no {name!r}.{did_you_mean(name, map(kebab, known))}")
        chosen = {kind: known[kind]}
    console = show.output()
    for kind, cls in chosen.items():
        _describe(console, kind, cls, option, whole=name is not None)


def _describe(console: Console, kind: str, cls: type[Any], option: str, *, whole: bool) -> None:
    text = inspect.getdoc(cls) or ""
    about = text.split("\n>>>")[0] if whole else text.split("\n\n")[0].replace("\n", " ")
    console.print(Text(kebab(kind), style="bold cyan") + Text(f"  {about.strip()}"))
    attacks = getattr(cls, "attacks", ())
    if attacks:
        console.print(Text(f"  protects against {', '.join(attacks)}"))
    listed = parameters(cls)
    if listed:
        rows = [(each.name, each.values, each.default, each.about) for each in listed]
        console.print(show.table("", ("parameter", "values", "default", "about"), rows))
    needed = [each for each in listed if each.default == "required"]
    recipe = ", ".join([f"kind: {kind}", *(f"{each.name}: …" for each in needed)])
    # A list that comes first takes all values in order: what follows it is given by key.
    keyed = bool(needed) and "list of" in needed[0].values
    words = [
        f"{each.name}={each.name.upper()}" if keyed and at else each.name.upper()
        for at, each in enumerate(needed)
    ]
    values = ":" + ",".join(words) if words else ""
    if not needed and listed and listed[0].values.startswith("list"):
        values = f"[:{listed[0].name.upper()}]"
    console.print(Text(f"  in a recipe: {{{recipe}}}   as an option: {option}{kebab(kind)}{values}"))
    console.print()


def _default(cls: type[Any], name: str) -> str:
    value = cls.__pydantic_fields__[name].get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "__dataclass_fields__"):
        given = TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)
        return ", ".join(str(each) for each in given.values()) or "none"
    return "empty" if value in ((), {}) else str(value)


def _values(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Say in words what a JSON schema allows."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        target = definitions[name]
        return "mapping" if target.get("type") == "object" else _values(target, {})
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            options = [_values(each, definitions) for each in schema[key]]
            return " or ".join(dict.fromkeys(each for each in options if each != "nothing"))
    kind = schema.get("type", "")
    if kind == "array":
        return f"list of {_values(schema['items'], definitions)}" if "items" in schema else "list"
    if kind == "object":
        return "mapping"
    return _WORDS.get(kind, kind or "anything") + _range(schema)


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f", {low:g} to {high:g}"
    if low is not None:
        return f", {low:g} or more"
    if high is not None:
        return f", {high:g} or less"
    if "exclusiveMinimum" in schema:
        return f", more than {schema['exclusiveMinimum']:g}"
    return ""
