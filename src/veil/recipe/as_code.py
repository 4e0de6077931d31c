"""A recipe as Python code: what was chosen on a page, to be run without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veil.plan.plan import ASK
from veil.recipe.recipe import PLAN_FIELDS, Recipe

_ROOMS = (
    "veil.dp",
    "veil.hierarchies",
    "veil.lattice",
    "veil.local_recoding",
    "veil.masking",
    "veil.models",
    "veil.quality",
)
"""Rooms that what is declared in them can be fetched from."""


def python_code(recipe: Recipe, table: str) -> str:
    """Write a recipe as a call of `veil.anonymize`, with what is as by default left out.

    >>> recipe = Recipe(quasi_identifiers={"sex": "suppression"}, models=[{"kind": "KAnonymity", "k": 2}])
    >>> print(python_code(recipe, "patients.csv"))
    import veil
    from veil.hierarchies import Suppression
    from veil.models import KAnonymity
    <BLANKLINE>
    release = veil.anonymize(
        'patients.csv',
        quasi_identifiers={
            'sex': Suppression(),
        },
        models=[
            KAnonymity(k=2),
        ],
    )
    release.save('release.csv')
    release.certificate('certificate.json')
    <BLANKLINE>
    """
    given = {name: getattr(recipe, name) for name in PLAN_FIELDS if name in recipe.spell()}
    if recipe.local_recoding is not None:
        given["local"] = recipe.local_recoding
    imports = sorted(_imports(given))
    lines = ["import veil", *(f"from {room} import {', '.join(names)}" for room, names in imports), ""]
    lines += ["release = veil.anonymize(", f"    {table!r},"]
    for name, value in given.items():
        lines += _argument(name, value)
    lines += [")", "release.save('release.csv')", "release.certificate('certificate.json')", ""]
    return "\n".join(lines)


def masking_code(
    steps: Sequence[Any],
    table: str,
    *,
    person: str | None = ASK,
    without: Sequence[str] = (),
    order: str = "random",
) -> str:
    """Write masking methods as a call of `veil.mask`, on a table without some columns.

    >>> from veil.masking import RankSwapping
    >>> print(masking_code([RankSwapping("age", p=10)], "patients.csv", without=["name"]))
    import veil
    from veil.masking import RankSwapping
    from veil.tables import read
    <BLANKLINE>
    table = read('patients.csv').table.drop_columns(['name'])
    release = veil.mask(
        table,
        steps=[
            RankSwapping(columns=('age',), p=10.0),
        ],
    )
    release.save('release.csv')
    release.certificate('certificate.json')
    <BLANKLINE>
    """
    imports = sorted({*_imports(list(steps)), ("veil.tables", ("read",))})
    lines = ["import veil", *(f"from {room} import {', '.join(names)}" for room, names in imports), ""]
    lines += [f"table = read({table!r}).table" + (f".drop_columns({list(without)!r})" if without else "")]
    lines += ["release = veil.mask(", "    table,", *_argument("steps", list(steps))]
    if person != ASK:
        lines += _argument("person", person)
    if order != "random":
        lines += _argument("order", order)
    lines += [")", "release.save('release.csv')", "release.certificate('certificate.json')", ""]
    return "\n".join(lines)


def _argument(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        inside = [f"        {key!r}: {_short(each)}," for key, each in value.items()]
        return [f"    {name}={{", *inside, "    },"]
    if isinstance(value, list | tuple):
        return [f"    {name}=[", *(f"        {_short(each)}," for each in value), "    ],"]
    return [f"    {name}={_short(value)},"]


def _short(value: Any) -> str:
    """Write a value; a declared one with what is not as by default."""
    if not _is_declared(value):
        return repr(value)
    given = [f"{name}={each!r}" for name, each in _given(value).items()]
    return f"{type(value).__name__}({', '.join(given)})"


def _given(value: Any) -> dict[str, Any]:
    """Return the parameters of a declared value that are not as by default."""
    return {
        name: getattr(value, name)
        for name, field in type(value).__pydantic_fields__.items()
        if name != "kind" and getattr(value, name) != field.get_default(call_default_factory=True)
    }


def _is_declared(value: Any) -> bool:
    return hasattr(type(value), "__pydantic_fields__") and hasattr(value, "kind")


def _imports(value: Any) -> set[tuple[str, tuple[str, ...]]]:
    found: dict[str, set[str]] = {}

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                look(each)
        elif isinstance(value, list | tuple):
            for each in value:
                look(each)
        elif hasattr(type(value), "__pydantic_fields__"):
            look(list(_given(value).values()))
            found.setdefault(_room(type(value)), set()).add(type(value).__name__)
        elif type(value).__module__ == "decimal":
            found.setdefault(type(value).__module__, set()).add(type(value).__name__)

    look(value)
    return {(room, tuple(sorted(names))) for room, names in found.items()}


def _room(kind: type[Any]) -> str:
    room = ".".join(kind.__module__.split(".")[:2])
    return room if room in _ROOMS else kind.__module__
