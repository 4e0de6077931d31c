"""The description of the API as a page for people: without scripts, and with an example for each verb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from veil.base.version import __version__
from veil.web.examples import EXAMPLES

METHODS = ("get", "post", "put", "patch", "delete")


def api_page(description: Mapping[str, Any]) -> str:
    """Write the page of an OpenAPI description."""
    definitions = description.get("components", {}).get("schemas", {})
    tags: dict[str, list[dict[str, Any]]] = {}
    for path, operations in description["paths"].items():
        for method in METHODS:
            if method in operations:
                each = operations[method]
                told = _operation(method, path, each, definitions)
                tags.setdefault(each.get("tags", ["other"])[0], []).append(told)
    template = files("veil.web").joinpath("templates/api.html").read_text("utf-8")
    page = Environment(autoescape=True).from_string(template)
    return page.render(version=__version__, examples=EXAMPLES, tags=list(tags.items()))


def _operation(
    method: str, path: str, each: Mapping[str, Any], definitions: Mapping[str, Any]
) -> dict[str, Any]:
    about = each.get("description", "").replace("`", "")
    return {
        "method": method.upper(),
        "path": path,
        "summary": about.split(". ")[0].split("\n")[0].rstrip(".:"),
        "about": about,
        "fields": [*_parameters(each, definitions), *_body(each, definitions)],
        "answers": ", ".join(
            f"{status} ({told['description']})" for status, told in each["responses"].items()
        ),
    }


def _parameters(each: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for given in each.get("parameters", ()):
        yield {
            "name": given["name"],
            "where": given["in"],
            "required": given.get("required", False),
            "allowed": _values(given.get("schema", {}), definitions),
            "about": given.get("description", ""),
        }


def _body(each: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    schema = each.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    found = _followed(schema, definitions)
    for name, inside in found.get("properties", {}).items():
        yield {
            "name": name,
            "where": "body",
            "required": name in found.get("required", ()),
            "allowed": _values(inside, definitions),
            "about": inside.get("description", ""),
        }


def _followed(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    named = schema.get("$ref")
    return schema if named is None else definitions[named.rsplit("/", 1)[-1]]


def _values(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Say in words what a schema allows for."""
    if "$ref" in schema:
        found = _followed(schema, definitions)
        inside = ", ".join(found.get("properties", ()))
        return f"object ({inside})" if inside else "object"
    if "anyOf" in schema:
        return " or ".join(_values(each, definitions) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        return f"list of {_values(schema.get('items', {}), definitions)}"
    least, most = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    ends = (
        ""
        if least is None and most is None
        else f" from {'…' if least is None else least} to {'…' if most is None else most}"
    )
    return f"{kind}{ends}"
