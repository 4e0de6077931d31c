"""Write docs/recipes.md from the declarations of recipes, with an example for each field: `python docs/make_recipes.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from veil.base.describe import parameters
from veil.recipe.asking import AskingRecipe
from veil.recipe.masking import MaskingRecipe
from veil.recipe.policy import PolicyRecipe
from veil.recipe.private_table import PrivateTableRecipe
from veil.recipe.recipe import Recipe

PAGE = Path(__file__).parent / "recipes.md"

_INTRODUCTION = """# Recipes

A recipe is a YAML file that describes a run completely: where the table is, what must hold, where the results go. It can be
reviewed, versioned and run again. There are five kinds; `veil.run("recipe.yaml")` does in Python what `veil anonymize`,
`veil mask` and `veil policy apply` do. Paths are relative to the recipe. Do not put passwords or keys in a recipe.

Generated from the declarations by `docs/make_recipes.py`; the [reference](reference.md) lists what `kind` may be in models,
hierarchies, quality models, strategies and masking methods, with their parameters. The JSON schemas are for editors.
"""

# Each example is a whole value of its field. The tests put it into the recipe of its kind and read that.
_FILES = {
    "input": "patients.csv",
    "output": "release.csv",
    "report": "report.html",
    "key": "kept/key.csv",
    "certificate": "certificate.json",
    "sign": "kept/signing-key.pem",
    "acknowledge": ["no model: income"],
    "overwrite": True,
}
_ABOUT = {"about": {"purpose": "study of waiting times", "recipient": "the university", "language": "en"}}

EXAMPLES: dict[type[Any], dict[str, Any]] = {
    Recipe: {
        **_FILES,
        **_ABOUT,
        "tables": {"patients": "patients.csv", "visits": "visits.csv"},
        "engine": {"memory": "2GB", "temporary": "scratch"},
        "local_recoding": {"kind": "FastIterative", "share": 0.01},
        "quasi_identifiers": {
            "age": {"kind": "intervals", "widths": [5, 10, 20]},
            "sex": "suppression",
            "zip": "redaction",
            "job": "hierarchies/job.csv",
        },
        "models": [
            {"kind": "KAnonymity", "k": 5},
            {"kind": "TCloseness", "attribute": "diagnosis", "t": 0.4},
        ],
        "microaggregated": {"age": "mean"},
        "sensitive": ["diagnosis"],
        "items": {"drugs": "hierarchies/drugs.csv"},
        "insensitive": ["ward"],
        "identifying": {"name": "remove", "email": "mask"},
        "pseudonym_key": "kept/pseudonyms.key",
        "person": "patient",
        "knows": "all rows",
        "others": "drop",
        "quality": "loss",
        "suppression_limit": 0.05,
        "minimum_levels": {"zip": 2},
        "maximum_levels": {"age": 3},
        "strategy": {"kind": "Lightning"},
        "time_limit": 60,
        "check_limit": 10000,
        "suppressed_rows": "drop",
        "choose_by": "quasi-identifiers",
        "marker": "suppressed",
        "order": "input",
    },
    MaskingRecipe: {
        **_FILES,
        **_ABOUT,
        "output": "masked.csv",
        "apart": "kept",
        "person": "patient",
        "order": "input",
        "steps": [
            {"kind": "RandomPseudonyms", "columns": "name"},
            {"kind": "RankSwapping", "columns": ["age", "cost"], "p": 5},
        ],
    },
    AskingRecipe: {
        "input": "patients.csv",
        "budget": "patients.csv.budget.json",
        "neighbours": "one more or less",
        "bounds": {"age": [0, 120]},
        "keys": {"sex": ["f", "m"]},
        "missing": {"age": 40},
        "outside": "leave out",
        "person": "patient",
        "rows_per_person": 5,
        "questions": [
            {"ask": "count", "where": "age >= 65", "epsilon": 0.1},
            {"ask": "quantiles", "of": "age", "shares": [0.25, 0.5, 0.75], "epsilon": 0.2},
        ],
    },
    PrivateTableRecipe: {
        **_FILES,
        "output": "private.csv",
        "budget": "patients.csv.budget.json",
        "person": "patient",
        "rows_per_person": 5,
        "neighbours": "one changed",
        "bounds": {"age": [0, 120]},
        "domains": {"sex": ["f", "m"]},
        "columns": ["age", "sex"],
        "missing": {"age": 40},
        "method": {"kind": "MarginalTree", "breaks": {"age": [18, 40, 65]}},
        "epsilon": 1,
        "delta": "1e-9",
        "rho": "1/64",
    },
    PolicyRecipe: {
        **_FILES,
        **_ABOUT,
        "apart": "kept",
        "processing_record": "processing.ttl",
        "policy": {"policies": "policies", "purpose": "research", "recipient": "university"},
        "suppression_limit": 0.05,
    },
}

_KINDS = {
    Recipe: ("Anonymize", "veil anonymize recipe.yaml", "recipe"),
    MaskingRecipe: ("Mask", "veil mask recipe.yaml", "masking"),
    AskingRecipe: ("Ask questions under a budget", "veil ask questions.yaml", "asking"),
    PrivateTableRecipe: ("Make a private table", "veil private-table recipe.yaml", "private-table"),
    PolicyRecipe: ("Carry out policies", "veil policy apply recipe.yaml", "policy-recipe"),
}


def text() -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    for kind, (heading, command, schema) in _KINDS.items():
        parts.append(f"## {heading}\n")
        parts.append(f"`{command}`; [{schema}.schema.json]({schema}.schema.json) describes it for editors.\n")
        for each in parameters(kind):
            if each.name in EXAMPLES[kind]:
                default = "required" if each.default == "required" else f"default: {each.default}"
                about = each.about or "the table"
                parts.append(
                    f"### {each.name}\n\n{about[0].upper()}{about[1:]}. *{each.values}; {default}*\n"
                )
                parts.append(f"```yaml\n{example(kind, each.name)}```\n")
    return "\n".join(parts)


def example(kind: type[Any], field: str) -> str:
    """One field as it stands in a recipe."""
    value = EXAMPLES[kind][field]
    flow = None if isinstance(value, dict | list) else False
    return yaml.safe_dump({field: value}, sort_keys=False, default_flow_style=flow, width=100)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
