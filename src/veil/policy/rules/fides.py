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

_CATEGORIES: dict[Role, str] = {
    "identifying": "user.contact user.name user.unique_id user.account user.authorization user.government_id"
    " user.biometric user.device",
    "quasi-identifying": "user.contact.address.city user.contact.address.country user.contact.address.postal_code"
    " user.contact.address.state user.demographic user.date_of_birth user.gender user.race user.job_title"
    " user.employment user.workplace user.location",
    "sensitive": "user.criminal_history user.financial user.health_and_medical user.genetic"
    " user.demographic.political_opinion user.demographic.religious_belief user.demographic.sexual_orientation"
    " user.political_opinion user.religious_belief user.sexual_orientation",
    "insensitive": "system",
}
"""The categories of each role, the strictest first; a narrower one takes precedence."""

_ROLES = {category: role for role, categories in _CATEGORIES.items() for category in categories.split()}


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
    return next(each for each in _CATEGORIES if each in roles)


def _role_of(category: str) -> Role | None:
    while category and category not in _ROLES:
        category = category.rpartition(".")[0]
    return _ROLES.get(category)
