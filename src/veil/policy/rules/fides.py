"""Fides dataset files: which roles their data categories propose for columns.

Categories such as `user.contact.email` describe the contents of a field, not the knowledge of an attacker: so
roles are proposals, and a person decides. Fields that no rule knows are listed as such.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from veil.base.untrusted import parse_yaml
from veil.errors import InputError

Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive"]

_RULES: tuple[tuple[str, Role], ...] = (
    ("user.contact.address.city", "quasi-identifying"),
    ("user.contact.address.country", "quasi-identifying"),
    ("user.contact.address.postal_code", "quasi-identifying"),
    ("user.contact.address.state", "quasi-identifying"),
    ("user.contact", "identifying"),
    ("user.name", "identifying"),
    ("user.unique_id", "identifying"),
    ("user.account", "identifying"),
    ("user.authorization", "identifying"),
    ("user.government_id", "identifying"),
    ("user.biometric", "identifying"),
    ("user.device", "identifying"),
    ("user.criminal_history", "sensitive"),
    ("user.financial", "sensitive"),
    ("user.health_and_medical", "sensitive"),
    ("user.genetic", "sensitive"),
    ("user.demographic.political_opinion", "sensitive"),
    ("user.demographic.religious_belief", "sensitive"),
    ("user.demographic.sexual_orientation", "sensitive"),
    ("user.political_opinion", "sensitive"),
    ("user.religious_belief", "sensitive"),
    ("user.sexual_orientation", "sensitive"),
    ("user.demographic", "quasi-identifying"),
    ("user.date_of_birth", "quasi-identifying"),
    ("user.gender", "quasi-identifying"),
    ("user.race", "quasi-identifying"),
    ("user.job_title", "quasi-identifying"),
    ("user.employment", "quasi-identifying"),
    ("user.workplace", "quasi-identifying"),
    ("user.location", "quasi-identifying"),
    ("system", "insensitive"),
)
_ORDER: tuple[Role, ...] = ("identifying", "quasi-identifying", "sensitive", "insensitive")


class FidesField(NamedTuple):
    """A field of a Fides data set."""

    collection: str
    column: str
    categories: tuple[str, ...]
    role: Role | None
    """None if no rule knows one of its categories, or it has none: a person has to decide."""


def propose_roles(path: str | os.PathLike[str]) -> list[FidesField]:
    """Read a Fides dataset file, and propose a role for each field.

    The strictest role of its categories counts, and a category that no rule knows leaves the role open.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    data = parse_yaml(content, str(path))
    sets = data.get("dataset") if isinstance(data, dict) else None
    if not isinstance(sets, list):
        raise InputError(f"{path}: is not a Fides dataset file, which begins with `dataset:`")
    return [
        field
        for each in sets
        for collection in _list(each, "collections")
        for field in _fields(collection, str(collection.get("name")), "")
    ]


def _list(tree: Any, key: str) -> list[Any]:
    members = tree.get(key) if isinstance(tree, dict) else None
    return [each for each in members if isinstance(each, dict)] if isinstance(members, list) else []


def _fields(tree: Any, collection: str, prefix: str) -> Iterator[FidesField]:
    for each in _list(tree, "fields"):
        name = prefix + str(each.get("name"))
        inner = _list(each, "fields")
        if inner:
            yield from _fields(each, collection, f"{name}.")
        else:
            marks = each.get("data_categories")
            categories = tuple(map(str, marks)) if isinstance(marks, list) else ()
            yield FidesField(collection, name, categories, _role(categories))


def _role(categories: tuple[str, ...]) -> Role | None:
    """Return the strictest role of some categories.

    >>> _role(("user.contact.email",)), _role(("user.gender", "user.genetic")), _role(("user.hobby",))
    ('identifying', 'quasi-identifying', None)
    """
    roles = [_role_of(each) for each in categories]
    if not roles or None in roles:
        return None
    return next(each for each in _ORDER if each in roles)


def _role_of(category: str) -> Role | None:
    return next(
        (role for start, role in _RULES if category == start or category.startswith(start + ".")), None
    )
