"""The description of the API as an HTML page, without scripts and with an example for each verb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment

from veil.base.version import __version__
from veil.web.examples import EXAMPLES

METHODS = ("get", "post", "put", "patch", "delete")


def api_page(description: Mapping[str, Any]) -> str:
    """Render the page of an OpenAPI description."""
    definitions = description.get("components", {}).get("schemas", {})
    tags: dict[str, list[dict[str, Any]]] = {}
    for path, operations in description["paths"].items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                described = _operation(method, path, operation, definitions)
                tags.setdefault(operation.get("tags", ["other"])[0], []).append(described)
    template = files("veil.web").joinpath("templates/api.html").read_text("utf-8")
    page = Environment(autoescape=True).from_string(template)
    return page.render(version=__version__, examples=EXAMPLES, tags=list(tags.items()))


def _operation(
    method: str, path: str, operation: Mapping[str, Any], definitions: Mapping[str, Any]
) -> dict[str, Any]:
    about = operation.get("description", "").replace("`", "")
    return {
        "method": method.upper(),
        "path": path,
        "summary": about.split(". ")[0].split("\n")[0].rstrip(".:"),
        "about": about,
        "fields": [*_parameters(operation, definitions), *_body(operation, definitions)],
        "answers": ", ".join(
            f"{status} ({response['description']})" for status, response in operation["responses"].items()
        ),
    }


def _parameters(operation: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for parameter in operation.get("parameters", ()):
        yield {
            "name": parameter["name"],
            "where": parameter["in"],
            "required": parameter.get("required", False),
            "allowed": _values(parameter.get("schema", {}), definitions),
            "about": parameter.get("description", ""),
        }


def _body(operation: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    target = _resolve_reference(schema, definitions)
    for name, field in target.get("properties", {}).items():
        yield {
            "name": name,
            "where": "body",
            "required": name in target.get("required", ()),
            "allowed": _values(field, definitions),
            "about": field.get("description", ""),
        }


def _resolve_reference(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return schema if reference is None else definitions[reference.rsplit("/", 1)[-1]]


def _values(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Describe the values that a schema allows."""
    if "$ref" in schema:
        target = _resolve_reference(schema, definitions)
        names = ", ".join(target.get("properties", ()))
        return f"object ({names})" if names else "object"
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
        schema.get(each, schema.get(f"exclusive{each.title()}")) for each in ("minimum", "maximum")
    )
    if least is None and most is None:
        return kind
    return f"{kind} from {'…' if least is None else least} to {'…' if most is None else most}"
