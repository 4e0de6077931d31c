"""The numbers and hashes of a document, with the places where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

TOKEN = re.compile(r"[0-9a-f]{16,}|[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")


def tokens(value: Any) -> set[str]:
    """The numbers and hashes in a value, as text."""
    if isinstance(value, bool) or value is None:
        return set()
    return {each.removesuffix(".0") for each in TOKEN.findall(str(value).replace(",", ""))}


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value and every name in a document, with its path; places in lists do not count."""
    if isinstance(tree, dict):
        for key, each in tree.items():
            yield f"{path}.{key}".lstrip("."), key
            yield from leaves(each, f"{path}.{key}".lstrip("."))
    elif isinstance(tree, list):
        for each in tree:
            yield from leaves(each, f"{path}[]")
    else:
        yield path, tree
