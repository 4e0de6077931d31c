"""What another language says that has no place in a policy: listed, and carried along, never dropped.

It is kept in the policy itself, as an element that LPL does not know. So it survives being written and read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from veil.policy.elements import Policy

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
        Unmapped(
            str(each.get("path", "")), str(each.get("text", "")), str(each.get("narrows")).lower() != "false"
        )
        for each in (given if isinstance(given, list) else [given])
        if isinstance(each, dict)
    ]
