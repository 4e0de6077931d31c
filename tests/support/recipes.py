"""Recipes of one step Generalize, written by its fields alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from support.untrusted import variants
from veil.recipe import Recipe, schema

COMMON = tuple(Recipe.model_fields)


def generalize(text: str, *further: str) -> str:
    """Return the text of a recipe: lines of common fields stay, all others go into a step Generalize.

    >>> print(generalize("input: a.csv\\nmodels: [{kind: KAnonymity, k: 2}]\\n", "{kind: Rounding, columns: age, base: 5}"), end="")
    input: a.csv
    steps:
      - kind: Generalize
        models: [{kind: KAnonymity, k: 2}]
      - {kind: Rounding, columns: age, base: 5}
    """
    common, step, part = [], [], []
    for line in text.splitlines():
        if name := re.match(r"([\w ]+):", line):
            part = common if name[1] in COMMON else step
        part.append(line)
    lines = [*common, "steps:", "  - kind: Generalize", *(f"    {each}" for each in step)]
    return "\n".join([*lines, *(f"  - {each}" for each in further)]) + "\n"


def generalize_data(**fields: Any) -> dict[str, Any]:
    """Return a recipe as data: common fields stay, all others go into a step Generalize."""
    common = {name: value for name, value in fields.items() if name in COMMON}
    step = {name: value for name, value in fields.items() if name not in COMMON}
    return {**common, "steps": [{"kind": "Generalize", **step}]}


_STEP = {"kind": "RankSwapping", "columns": ["age"], "p": 10}


def common_documents(canary: str) -> Iterator[tuple[str, Any]]:
    """Return recipes with a canary in one of the common fields, and where that is."""
    whole = schema()
    common = {name: each for name, each in whole["properties"].items() if name not in ("steps", "questions")}
    for place, each in variants({"$defs": whole["$defs"], "properties": common}, canary):
        yield place, {**each, "steps": [_STEP]}


def step_documents(definition: str, canary: str) -> Iterator[tuple[str, Any]]:
    """Return recipes with a canary in one step of a class, or in the questions, and where that is."""
    whole = schema()
    inner = (
        whole["properties"]["questions"] if definition == "Questions" else {"$ref": f"#/$defs/{definition}"}
    )
    for place, each in variants({"$defs": whole["$defs"], **inner}, canary):
        yield (
            place,
            {"person": None, **({"questions": each} if definition == "Questions" else {"steps": [each]})},
        )
