"""A recipe as Python code, to be run without the workbench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veil.plan.plan import ASK
from veil.recipe.recipe import PLAN_FIELDS, Recipe

_PACKAGES = (
    "veil.dp",
    "veil.hierarchies",
    "veil.lattice",
    "veil.local_recoding",
    "veil.masking",
    "veil.models",
    "veil.quality",
)
"""Packages from which declared classes are imported."""


def python_code(recipe: Recipe, table: str) -> str:
    """Write a recipe as a call of `veil.anonymize`, without defaults.

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
    arguments = {name: getattr(recipe, name) for name in PLAN_FIELDS if name in recipe.spell()}
    if recipe.local_recoding is not None:
        arguments["local"] = recipe.local_recoding
    imports = sorted(_imports(arguments))
    lines = ["import veil", *(f"from {package} import {', '.join(names)}" for package, names in imports), ""]
    lines += ["release = veil.anonymize(", f"    {table!r},"]
    for name, value in arguments.items():
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
    lines = ["import veil", *(f"from {package} import {', '.join(names)}" for package, names in imports), ""]
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
    """Write a value; a declared one without defaults."""
    if not _is_declared(value):
        return repr(value)
    arguments = [f"{name}={each!r}" for name, each in _parameters(value).items()]
    return f"{type(value).__name__}({', '.join(arguments)})"


def _parameters(value: Any) -> dict[str, Any]:
    """Return the parameters of a declared value that differ from their defaults."""
    return {
        name: getattr(value, name)
        for name, field in type(value).__pydantic_fields__.items()
        if name != "kind" and getattr(value, name) != field.get_default(call_default_factory=True)
    }


def _is_declared(value: Any) -> bool:
    return hasattr(type(value), "__pydantic_fields__") and hasattr(value, "kind")


def _imports(value: Any) -> set[tuple[str, tuple[str, ...]]]:
    names_by_package: dict[str, set[str]] = {}

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                collect(each)
        elif isinstance(value, list | tuple):
            for each in value:
                collect(each)
        elif hasattr(type(value), "__pydantic_fields__"):
            collect(list(_parameters(value).values()))
            names_by_package.setdefault(_package(type(value)), set()).add(type(value).__name__)
        elif type(value).__module__ == "decimal":
            names_by_package.setdefault(type(value).__module__, set()).add(type(value).__name__)

    collect(value)
    return {(package, tuple(sorted(names))) for package, names in names_by_package.items()}


def _package(kind: type[Any]) -> str:
    package = ".".join(kind.__module__.split(".")[:2])
    return package if package in _PACKAGES else kind.__module__
