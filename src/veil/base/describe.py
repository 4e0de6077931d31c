"""Declared classes in words: their definitions, and their parameters with ranges and defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from veil.base.wording import Phrase

_WORDS = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "nothing",
}


@dataclass(frozen=True)
class Parameter:
    """The description of one parameter of a declared class."""

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


def definition(cls: type[Any]) -> str:
    """Return the first paragraph of the docstring of a class, in one line.

    >>> from veil import KAnonymity
    >>> definition(KAnonymity)
    'Every record is indistinguishable from at least k - 1 others by its quasi-identifiers.'
    """
    text = inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0]
    return " ".join(text.split())


def help_on(kind: str, part: str, english: str) -> Phrase:
    """Return the help of a declaration on a parameter, or its `definition`, with its place as a name.

    >>> help_on("KAnonymity", "k", "smallest allowed `class`").name
    'help.KAnonymity.k'
    """
    return Phrase("{english}", f"help.{kind}.{part}", english=english.replace("`", ""))


def _default(cls: type[Any], name: str) -> str:
    value = cls.__pydantic_fields__[name].get_default(call_default_factory=True)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "__dataclass_fields__"):
        parameters = TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)
        return ", ".join(str(each) for each in parameters.values()) or "none"
    return "empty" if value in ((), {}) else str(value)


def _values(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Describe in words what a JSON schema allows."""
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
            left_out = {"nothing", "integer"} if "number" in options else {"nothing"}
            return " or ".join(dict.fromkeys(each for each in options if each not in left_out))
    kind = schema.get("type", "")
    if kind == "array":
        items = _values(schema["items"], definitions) if "items" in schema else ""
        return f"list of {re.sub('^list of', 'lists of', items)}" if items else "list"
    if kind == "object":
        return "mapping"
    return _WORDS.get(kind, kind or "anything") + _range(schema)


def _range(schema: Mapping[str, Any]) -> str:
    """Describe the range of a number, with a comma in front; empty if it is unbounded.

    >>> _range({"minimum": 0, "exclusiveMinimum": 0, "maximum": 1}), _range({"minimum": 0, "maximum": 1})
    (', more than 0 and at most 1', ', 0 to 1')
    >>> _range({"exclusiveMinimum": 0, "exclusiveMaximum": 1}), _range({"maximum": 9})
    (', more than 0 and less than 1', ', 9 or less')
    """
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    if low is not None and above is not None:
        low, above = (None, above) if above >= low else (low, None)
    if high is not None and below is not None:
        high, below = (None, below) if below <= high else (high, None)
    if low is not None and high is not None:
        return f", {low:g} to {high:g}"
    if low is not None and below is None:
        return f", {low:g} or more"
    if high is not None and above is None:
        return f", {high:g} or less"
    words = {"at least": low, "more than": above, "at most": high, "less than": below}
    bounds = " and ".join(f"{word} {end:g}" for word, end in words.items() if end is not None)
    return f", {bounds}" if bounds else ""
