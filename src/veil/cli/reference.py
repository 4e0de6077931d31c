"""`veil list models`, `veil list quality-models`, `veil list hierarchies`: lists made from declarations."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from veil.base.describe import definition, parameters
from veil.base.registry import find, kind_of
from veil.cli import show
from veil.cli.grammar import kebab
from veil.errors import PlanError, did_you_mean
from veil.models.base import PrivacyModel, monotonicity


def listing(family: Mapping[str, type[Any]], name: str | None, option: str) -> None:
    """Show every class, or one of them."""
    classes = dict(family)
    if name is not None:
        match = find(family, name)
        if match is None:
            raise PlanError(f"there is no {name!r}.{did_you_mean(name, map(kebab, family))}")
        classes = {kind_of(match): match}
    console = show.output()
    for kind, cls in classes.items():
        _describe(console, kind, cls, option, whole=name is not None)


def _describe(console: Console, kind: str, cls: type[Any], option: str, *, whole: bool) -> None:
    about = (inspect.getdoc(cls) or "").split("\n>>>")[0] if whole else definition(cls)
    console.print(Text(kebab(kind), style="bold cyan") + Text(f"  {about.strip()}"))
    if issubclass(cls, PrivacyModel):
        if cls.attacks:
            console.print(Text(f"  protects against {', '.join(cls.attacks)}"))
        monotone = monotonicity(cls)
        console.print(
            Text(
                f"  monotone under generalization: {monotone['generalization']}; suppression: {monotone['suppression']}"
            )
        )
    fields = parameters(cls)
    if fields:
        rows = [(each.name, each.values, each.default, each.about) for each in fields]
        console.print(show.table("", ("parameter", "values", "default", "about"), rows))
    needed = [each for each in fields if each.default == "required"]
    recipe = ", ".join([f"kind: {kind}", *(f"{each.name}: …" for each in needed)])
    # A list that comes first takes all values in order: parameters after it are given by key.
    keyed = bool(needed) and "list of" in needed[0].values
    words = [
        f"{each.name}={each.name.upper()}" if keyed and at else each.name.upper()
        for at, each in enumerate(needed)
    ]
    values = ":" + ",".join(words) if words else ""
    if not needed and fields and fields[0].values.startswith("list"):
        values = f"[:{fields[0].name.upper()}]"
    console.print(Text(f"  in a recipe: {{{recipe}}}   as an option: {option}{kebab(kind)}{values}"))
    console.print()
