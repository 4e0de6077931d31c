"""Statements of other languages that have no place in a policy: listed and carried along, never dropped.

They are kept in the policy itself, as an element that LPL does not know, so they survive writing and reading.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from veil.errors import VeilError
from veil.policy.documents.elements import ELEMENTS, Policy, Purpose, Text, cached_by_identity, spellings
from veil.policy.rules.consent import elements_in, is_limiting
from veil.policy.rules.retention import day

ELEMENT = "unmapped"


class Unmapped(NamedTuple):
    """A statement that has no place in a policy."""

    path: str
    text: str
    narrows: bool
    """Whether the policy allows less with it than without it. Such a policy is refused."""


def with_unmapped(statements: Iterable[Unmapped]) -> dict[str, Any]:
    """Return the element in which a policy keeps statements that have no place in it."""
    trees = [each._asdict() for each in sorted(set(statements))]
    return {ELEMENT: trees} if trees else {}


def unmapped(policy: Policy) -> list[Unmapped]:
    """List the statements of a policy's document that the policy does not hold.

    >>> unmapped(Policy("p"))
    []
    """
    trees = policy.extra.get(ELEMENT, [])
    return [
        *(Unmapped(path or "policy", text, True) for path, text in _unreadable_parts(policy)),
        *_from_trees(trees if isinstance(trees, list) else [trees]),
    ]


def _from_trees(trees: list[Any]) -> list[Unmapped]:
    return [
        Unmapped(
            str(each.get("path", "")), str(each.get("text", "")), str(each.get("narrows")).lower() != "false"
        )
        for each in trees
        if isinstance(each, dict)
    ]


def _unreadable_parts(element: Any) -> Iterator[tuple[str, str]]:
    """List unreadable parts that may allow less: days of acceptance, and unknown elements."""
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
    for _, step, each in elements_in(element):
        problems = _unreadable_parts(each) if isinstance(each, Purpose) else _cached_problems(each)
        for path, text in problems:
            yield f"{step}.{path}".rstrip("."), text


@cached_by_identity
def _cached_problems(element: Any) -> tuple[tuple[str, str], ...]:
    return tuple(_unreadable_parts(element))


@functools.cache
def _texts(kind: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, each.name) for name, each in spellings(ELEMENTS[kind]).items() if each.kind == "texts"
    )


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
