"""`veil list` and `veil schema`: lists and schemas made from declarations."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from veil.base.describe import definition, parameters
from veil.base.registry import find, kind_of
from veil.cli import show
from veil.cli.commands.catalogue import Kind, List, Schema, SchemaName
from veil.cli.grammar import kebab
from veil.errors import PlanError, did_you_mean
from veil.models.base import PrivacyModel, monotonicity

_FAMILIES = {
    Kind.models: ("veil.recipe.parts", "MODELS", "--model "),
    Kind.quality_models: ("veil.quality", "QUALITIES", "--quality "),
    Kind.strategies: ("veil.lattice", "STRATEGIES", "--strategy "),
    Kind.recodings: ("veil.plan.recoding", "RECODINGS", "--recoding "),
    Kind.hierarchies: ("veil.hierarchies", "BUILDERS", "--qi COLUMN="),
    Kind.masks: ("veil.masking", "METHODS", "--step "),
}
"""Where each family is declared, and how its members are written as an option."""


def listing(options: List) -> None:
    """Show every class of a family, or one of them."""
    room, name, flag = _FAMILIES[options.kind]
    family: Mapping[str, type[Any]] = getattr(importlib.import_module(room), name)
    classes = dict(family)
    if options.name is not None:
        match = find(family, options.name)
        if match is None:
            raise PlanError(f"there is no {options.name!r}.{did_you_mean(options.name, map(kebab, family))}")
        classes = {kind_of(match): match}
    console = show.output()
    for kind, cls in classes.items():
        _describe(console, kind, cls, flag, whole=options.name is not None)


def schema(options: Schema) -> None:
    """Write the JSON schema of recipes."""
    from veil.recipe import schema as json_schema  # here, as lists need none of it
    from veil.tables import atomic

    content = json_schema(paths=options.document is SchemaName.recipe)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if options.output is None:
        typer.echo(text, nl=False)
        return
    with atomic(options.output) as temporary:
        temporary.write_text(text, encoding="utf-8")


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
