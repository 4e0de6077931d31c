"""Documents with a canary in every place that can hold text, made from the schemas, and files that must not be touched."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SECRET = "canary-7d1f"
"""What stands in the files that nobody may open."""

_opened: list[str] = []
_watching = False


def watch() -> list[str]:
    """Return a list to which every path with the canary in it is added that Python opens or lists from now on."""
    global _watching
    if not _watching:
        sys.addaudithook(_note)
        _watching = True
    _opened.clear()
    return _opened


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir", "glob.glob", "socket.connect", "sqlite3.connect"):
        named = str(arguments[0] if event != "socket.connect" else arguments[1])
        if "canary" in named or named.startswith(("/proc/self/environ", "/dev/zero")):
            _opened.append(f"{event} {named}")


def canaries(folder: Path, *, pipe: bool = True) -> list[str]:
    """Make files with a secret in `folder`, and return names for them, and for other things of a machine."""
    file = folder / "canary.csv"
    file.write_text(f"{SECRET};*\nflu;*\n")
    (folder / "canary-link.csv").symlink_to(file)
    names = [
        str(file),
        "canary.csv",
        "./canary.csv",
        "~/canary.csv",
        f"file://{file}",
        str(folder / "canary-link.csv"),
    ]
    if pipe and hasattr(os, "mkfifo"):
        os.mkfifo(folder / "canary-pipe.csv")
        names.append(str(folder / "canary-pipe.csv"))
    elsewhere = [
        r"\\host\share\canary.csv",
        "http://127.0.0.1:9/canary.csv",
        "/proc/self/environ",
        "/dev/zero",
    ]
    return [*names, *elsewhere, "env:VEIL_CANARY", f"sqlite:///{folder}/canary.db#t", f"{folder}/canary*.csv"]


def variants(schema: Mapping[str, Any], canary: str) -> Iterator[tuple[str, Any]]:
    """Return documents that fit a schema, each with the canary in one place, and where that is."""
    yield from _variants(schema, schema, canary, "", 6)


def _variants(
    schema: Mapping[str, Any], root: Mapping[str, Any], canary: str, place: str, depth: int
) -> Iterator[tuple[str, Any]]:
    schema = _resolved(schema, root)
    if depth == 0:
        return
    for choice in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        yield from _variants(choice, root, canary, place, depth)
    kind = schema.get("type")
    if kind == "string" and "const" not in schema and "enum" not in schema:
        yield place, canary
    elif kind == "array":
        items = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        for where, each in _variants(items, root, canary, f"{place}[]", depth - 1):
            yield where, [each]
    elif kind == "object" or "properties" in schema:
        base = _example(schema, root, 6)
        for name, inner in schema.get("properties", {}).items():
            for where, each in _variants(inner, root, canary, f"{place}.{name}", depth - 1):
                yield where, {**copy.deepcopy(base), name: each}
        further = schema.get("additionalProperties")
        if isinstance(further, Mapping):
            for where, each in _variants(further, root, canary, f"{place}.*", depth - 1):
                yield where, {**copy.deepcopy(base), "age": each}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _example(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    """Return the plainest value that fits a schema."""
    schema = _resolved(schema, root)
    for name in ("const", "default"):
        if schema.get(name) is not None:
            return schema[name]
    if "enum" in schema:
        return schema["enum"][0]
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if choices:
        return _example(choices[0], root, depth)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        known = schema.get("properties", {})
        names = {*schema.get("required", ()), *({"kind"} & set(known))}
        made = {name: _example(known[name], root, depth - 1) for name in known if name in names and depth}
        if schema.get("minProperties") and not made:
            made["age"] = _example(schema.get("additionalProperties", {}), root, depth - 1)
        return made
    if kind == "array":
        items = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return [_example(items, root, depth - 1)] if schema.get("minItems") and depth else []
    numbers = {"integer": 2, "number": 0.5, "boolean": False, "null": None}
    return numbers.get(kind, "age")
