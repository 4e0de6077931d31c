"""A recipe as Python code, to be run without the workbench."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from veil.plan.recoding import Recoding
from veil.recipe.generalize import COMMON
from veil.recipe.recipe import Recipe

_PACKAGES = (
    "veil.dp",
    "veil.hierarchies",
    "veil.lattice",
    "veil.masking",
    "veil.models",
    "veil.quality",
)
"""Packages from which declared classes are imported."""


def python_code(recipe: Recipe, table: str, *, without: Sequence[str] = ()) -> str:
    """Write a recipe as a call of `veil.anonymize` or `veil.mask`, without defaults and without some columns.

    >>> step = {"kind": "Generalize", "quasi_identifiers": {"sex": "suppression"}}
    >>> recipe = Recipe(steps=[step | {"models": [{"kind": "KAnonymity", "k": 2}]}])
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
    common = {name: getattr(recipe, name) for name in COMMON if name in recipe.spell()}
    if recipe.command == "mask":
        arguments: dict[str, Any] = {"steps": list(recipe.steps)}
    else:
        step = recipe.spell()["steps"][recipe.steps.index(recipe.generalize)]
        arguments = {name: getattr(recipe.generalize, name) for name in step if name != "kind"}
    arguments |= common
    imports = _imports(arguments)
    opening, source = [], repr(table)
    if without:
        imports.add(("veil.tables", ("read",)))
        opening, source = [f"table = read({table!r}).table.drop_columns({list(without)!r})"], "table"
    lines = [
        "import veil",
        *(f"from {package} import {', '.join(names)}" for package, names in sorted(imports)),
    ]
    lines += ["", *opening, f"release = veil.{recipe.command}(", f"    {source},"]
    for name, value in arguments.items():
        lines += _argument(name, value)
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
    if issubclass(kind, Recoding):
        return "veil.recoding"
    package = ".".join(kind.__module__.split(".")[:2])
    return package if package in _PACKAGES else kind.__module__
