"""Write docs/reference.md and the JSON schemas from the declarations themselves: `python docs/make_reference.py`."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

from veil import hierarchies, lattice, masking, models, quality, recipe
from veil.base.describe import parameters
from veil.dp import SafePub
from veil.models.base import monotonicity
from veil.plan.recoding import RECODINGS
from veil.policy.documents import schema as policy_schema
from veil.private_table.mechanisms import METHODS as PRIVATE_TABLES

PAGE = Path(__file__).parent / "reference.md"


def text() -> str:
    """The whole page."""
    parts = [
        "# Reference",
        "",
        (
            "Generated from the declarations by `docs/make_reference.py`. In Python, the names below are classes of "
            "`veil.models`, `veil.quality`, `veil.recoding`, `veil.lattice`, `veil.masking`, `veil.dp` and `veil.hierarchies`; in a recipe, `kind` tells them apart. "
            "The fields of a "
            "recipe are described by [recipe.schema.json](recipe.schema.json)."
        ),
        "",
        "## Privacy models",
        "",
    ]
    for model in (*models.MODELS.values(), SafePub):
        parts += section(model)
    parts += ["## Quality models", ""]
    for measure in quality.QUALITIES.values():
        parts += section(measure)
    parts += ["## Ways of recoding", ""]
    for recoding in RECODINGS.values():
        parts += section(recoding)
    parts += ["## Search strategies", ""]
    for strategy in lattice.STRATEGIES.values():
        parts += section(strategy)
    parts += ["## Masking methods", ""]
    for method in masking.METHODS.values():
        parts += section(method)
    parts += ["## Private tables", ""]
    for way in PRIVATE_TABLES.values():
        parts += section(way)
    parts += ["## Hierarchies", ""]
    for builder in hierarchies.BUILDERS.values():
        parts += section(builder)
    return "\n".join(parts).rstrip() + "\n"


def section(cls: type[Any]) -> list[str]:
    """Name, definition, facts and parameters of one declared class."""
    lines = [f"### {cls.__name__}", "", definition(cls), ""]
    if issubclass(cls, models.PrivacyModel):
        known = monotonicity(cls)
        facts = [
            f"Protects against {', '.join(cls.attacks)}." if cls.attacks else "",
            f"Monotone under generalization: {known['generalization']}; under suppression: {known['suppression']}.",
        ]
        lines += [" ".join(filter(None, facts)), ""]
    rows = parameters(cls)
    if rows:
        lines += ["| parameter | values | default | |", "|---|---|---|---|"]
        lines += [
            f"| `{row.name}` | {cell(row.values)} | {cell(row.default)} | {cell(row.about)} |" for row in rows
        ]
        lines.append("")
    return lines


def definition(cls: type[Any]) -> str:
    """The docstring up to its examples, without what is meant for readers of the code."""
    doc = inspect.getdoc(cls) or ""
    return re.split(r"\n(?=>>>|Examples\n|Attributes\n|Parameters\n)", doc)[0].strip()


def cell(content: str) -> str:
    return content.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    schemas = {
        "recipe": recipe.schema(),
        "portable-recipe": recipe.schema(paths=False),
        "policy": policy_schema.json_schema(),
    }
    for name, schema in schemas.items():
        made = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        (PAGE.parent / f"{name}.schema.json").write_text(made, encoding="utf-8")
    (PAGE.parent / "policy.xsd").write_text(policy_schema.xml_schema(), encoding="utf-8")
