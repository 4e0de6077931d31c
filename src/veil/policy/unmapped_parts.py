"""What another language says that has no place in a policy: listed, and carried along, never dropped.

It is kept in the policy itself, as an element that LPL does not know. So it survives being written and read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from veil.errors import VeilError
from veil.policy.consent import inner, is_limiting
from veil.policy.elements import ELEMENTS, Policy, Purpose, Text, once, spelled
from veil.policy.retention import day

ELEMENT = "unmapped"


class Unmapped(NamedTuple):
    """A statement that has no place in a policy."""

    path: str
    text: str
    narrows: bool
    """Whether it allows less than the policy says without it. Such a policy is not carried out as it stands."""


def with_unmapped(found: Iterable[Unmapped]) -> dict[str, Any]:
    """Return what a policy keeps of statements that have no place in it."""
    listed = [each._asdict() for each in sorted(set(found))]
    return {ELEMENT: listed} if listed else {}


def unmapped(policy: Policy) -> list[Unmapped]:
    """List what the document of a policy says beyond what the policy holds.

    >>> unmapped(Policy("p"))
    []
    """
    given = policy.extra.get(ELEMENT, [])
    return [
        *(Unmapped(path or "policy", text, True) for path, text in _unreadable(policy)),
        *_listed(given if isinstance(given, list) else [given]),
    ]


def _listed(given: list[Any]) -> list[Unmapped]:
    return [
        Unmapped(
            str(each.get("path", "")), str(each.get("text", "")), str(each.get("narrows")).lower() != "false"
        )
        for each in given
        if isinstance(each, dict)
    ]


def _unreadable(element: Any) -> Iterator[tuple[str, str]]:
    """List what cannot be read and may allow less: days of acceptance, and what a document says in words of its own."""
    moment = getattr(element, "point_of_acceptance", None)
    if moment:
        try:
            day(moment)
        except VeilError as error:
            yield "pointOfAcceptance", str(error)
    for path, extra in _extras(element):
        for key in filter(is_limiting, _keys(extra)):
            text = f"{key!r} may allow less, and is not known. Say it by accepted, pointOfAcceptance or retention"
            yield path, f"{text}, or leave it out"
    for _, step, each in inner(element):
        found = _unreadable(each) if isinstance(each, Purpose) else _remembered(each)
        for path, text in found:
            yield f"{step}.{path}".rstrip("."), text


@once
def _remembered(element: Any) -> tuple[tuple[str, str], ...]:
    return tuple(_unreadable(element))


@functools.cache
def _texts(kind: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, each.name) for name, each in spelled(ELEMENTS[kind]).items() if each.kind == "texts")


def _extras(element: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if element.extra:
        yield "", element.extra
    for name, step in _texts(type(element).__name__):
        for at, each in enumerate(getattr(element, name)):
            if isinstance(each, Text):
                yield f"{step}[{at}]", each.extra


def _keys(tree: Any) -> Iterator[str]:
    """Yield the names of all elements and attributes in a tree."""
    for each in tree if isinstance(tree, list) else []:
        yield from _keys(each)
    for key, value in tree.items() if isinstance(tree, dict) else []:
        yield key
        yield from _keys(value)
