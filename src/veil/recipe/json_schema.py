"""The JSON schemas of recipes (draft 2020-12): of files, and of documents that have no place for a path."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DecimalSchema

from veil.base.references import MARK
from veil.recipe.places import SOURCES
from veil.recipe.recipe import PLACES, Recipe


class _Generator(GenerateJsonSchema):
    """A generator with the same schema for all versions of pydantic: before 2.14, decimals have a pattern."""

    def decimal_schema(self, schema: DecimalSchema) -> JsonSchemaValue:
        result = super().decimal_schema(schema)
        for each in result.get("anyOf", [result]):
            each.pop("pattern", None)
        return result


def schema(*, paths: bool = True) -> dict[str, Any]:
    """Return the schema of recipe files, or of documents without paths: projects, the workbench, certificates.

    >>> sorted(set(schema()["properties"]) - set(schema(paths=False)["properties"]))[:3]
    ['acknowledge', 'apart', 'budget']
    """
    result = Recipe.model_json_schema(schema_generator=_Generator)
    result["description"] = result["description"].split("\n\n")[0]
    clear = {each.__name__ for each in SOURCES.values()} | {"Settings", "Questions"}
    for name, definition in result["$defs"].items():
        definition["description"] = " ".join(definition.get("description", name).split("\n\n")[0].split())
        fields = definition.get("properties", {})
        if name != "KeyPlace" and "key_file" in fields:
            fields.pop("key", None)  # which recipes refuse
        # In Python, `kind` has a default; a recipe has to name it, unless a path or a URL is enough.
        if "const" in fields.get("kind", {}) and name not in clear:
            definition["required"] = ["kind", *definition.get("required", [])]
    result["oneOf"] = [{"required": ["steps"]}, {"required": ["questions"]}]
    if not paths:
        result["title"] = "Veil recipe without paths"
        result["oneOf"] = [{"required": ["steps"]}]
        for name in (*PLACES, "questions"):
            del result["properties"][name]
        result = _without_paths(result)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_without_marks(result)}


_GONE = object()
"""A part of a schema that names a path."""


def _without_marks(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _without_marks(each) for name, each in node.items() if name != MARK}
    return [_without_marks(each) for each in node] if isinstance(node, list) else node


def _without_paths(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without the values that name a path, and without what needs one or is not used then."""
    refused: set[str] = set()
    while True:
        result = _cut(schema, refused)
        lost = {name for name, each in schema["$defs"].items() if _cut(each, refused) is _GONE}
        if lost <= refused:
            break
        refused |= lost
    definitions = result.pop("$defs")
    used = _references(result)
    while further := {each for name in used for each in _references(definitions[name])} - used:
        used |= further
    return {"$defs": {name: each for name, each in definitions.items() if name in used}, **result}


def _cut(node: Any, refused: set[str]) -> Any:
    """Return a part of a schema without paths; _GONE if nothing is left of it."""
    if isinstance(node, list):
        return [each for each in (_cut(each, refused) for each in node) if each is not _GONE]
    if not isinstance(node, dict):
        return node
    if MARK in node or str(node.get("$ref", "")).removeprefix("#/$defs/") in refused:
        return _GONE
    result = {}
    for name, each in node.items():
        if name in ("properties", "$defs", "mapping"):
            fields = {field: _cut(value, refused) for field, value in each.items()}
            result[name] = {field: value for field, value in fields.items() if value is not _GONE}
            if name == "properties" and set(node.get("required", ())) - set(result[name]):
                return _GONE
        elif name in ("anyOf", "oneOf") and isinstance(each, list):
            result[name] = _cut(each, refused)
            if len(result[name]) < len(each) and all(left == {"type": "null"} for left in result[name]):
                return _GONE
        elif (value := _cut(each, refused)) is _GONE:
            return _GONE
        else:
            result[name] = value
    return result


def _references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"].removeprefix("#/$defs/")} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(_references, node.values()))
    return set().union(*map(_references, node)) if isinstance(node, list) else set()
