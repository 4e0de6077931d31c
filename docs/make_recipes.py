"""Write docs/recipes.md from the declarations of recipes, with an example for each field: `python docs/make_recipes.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from veil.base.describe import parameters
from veil.recipe.generalize import GeneralizeSpec
from veil.recipe.recipe import Recipe
from veil.recipe.steps import annexes

PAGE = Path(__file__).parent / "recipes.md"

_INTRODUCTION = """# Recipes

A recipe is a YAML file that describes a run completely: where the table is, what is done with it in which `steps`, where the
results go. It can be reviewed, versioned and run again, with `veil run recipe.yaml`, or `veil.run("recipe.yaml")` in
Python. Paths are relative to the recipe. Do not put passwords or keys in a recipe.

Generated from the declarations by `docs/make_recipes.py`; the [reference](reference.md) lists what `kind` may be in models,
hierarchies, quality models, strategies and masking methods, with their parameters. Editors read
[recipe.schema.json](recipe.schema.json) (`veil schema`). Documents that come from elsewhere (projects, requests to the
workbench) have no place for a path: [portable-recipe.schema.json](portable-recipe.schema.json) (`veil schema portable`).
"""

WHOLE = {
    "A search that recodes what it would suppress": """input: patients.csv
output: release.csv
report: report.html
steps:
  - kind: Generalize
    quasi_identifiers: {age: {kind: intervals, widths: [10, 20]}, zip: redaction}
    sensitive: [diagnosis]
    identifying: [name]
    models: [{kind: KAnonymity, k: 5}, {kind: DistinctLDiversity, attribute: diagnosis, l: 3}]
    suppression_limit: 0.05
    recoding: {kind: FastIterative, share: 0.01}
""",
    "Masking methods": """input: patients.csv
output: published/masked.csv
apart: secret/
steps:
  - {kind: RandomPseudonyms, columns: name}
  - {kind: RankSwapping, columns: [income], p: 10}
""",
    "Masking methods, then a search": """input: patients.csv
output: release.csv
steps:
  - {kind: Rounding, columns: income, base: 100}
  - kind: Generalize
    quasi_identifiers: {age: {kind: intervals, widths: [10, 20]}, zip: redaction}
    identifying: [name]
    models: [{kind: KAnonymity, k: 5}]
    others: keep
    suppression_limit: 0.05
    recoding: single-pass
""",
    "Several tables about the same people": """tables: {patients: patients.csv, visits: visits.csv}
person: patient_id
output: released/
steps:
  - kind: Generalize
    quasi_identifiers: {age: {kind: intervals, widths: [10]}, ward: suppression}
    identifying: {patient_id: pseudonym}
    models: [{kind: KAnonymity, k: 3}]
""",
    "SafePub, with a budget": """input: patients.csv
output: release.csv
budget: patients.csv.budget.json
person: null
steps:
  - {kind: Generalize, quasi_identifiers: {zip: redaction}, models: [{kind: SafePub, epsilon: ln(2), delta: 1.0e-6}], others: drop}
""",
    "A private table": """input: patients.csv
output: private.csv
budget: patients.csv.budget.json
person: null
steps:
  - kind: PrivateTable
    neighbours: one changed
    bounds: {age: [0, 120]}
    domains: {sex: [f, m]}
    method: {kind: IndividualRanking, k: 100}
    epsilon: 1
""",
    "Questions": """input: patients.csv
budget: patients.csv.budget.json
person: null
questions:
  neighbours: one more or less
  bounds: {age: [0, 120]}
  ask:
    - {ask: count, where: age >= 65, epsilon: 0.1}
    - {ask: quantiles, of: age, shares: [0.25, 0.5, 0.75], epsilon: 0.3}
""",
    "Policies": """input: patients.csv
output: release.csv
steps:
  - {kind: ByPolicies, policies: policies/, purpose: research, recipient: lab}
""",
}
"""Whole recipes, by what they are for."""

# Each example is a whole value of its field. The tests put it into the recipe of its kind and read that.
EXAMPLES: dict[type[Any], dict[str, Any]] = {
    Recipe: {
        "input": "patients.csv",
        "tables": {"patients": "patients.csv", "visits": "visits.csv"},
        "person": "patient",
        "knows": "all rows",
        "order": "input",
        "engine": {"memory": "2GB", "temporary": "scratch"},
        "output": "release.csv",
        "overwrite": True,
        "report": "report.html",
        "certificate": "certificate.json",
        "sign": "kept/signing-key.pem",
        "apart": "kept",
        "origins": "kept/origins.csv",
        "about": {"purpose": "study of waiting times", "recipient": "the university", "language": "en"},
        "acknowledge": ["no model: income"],
        "budget": "patients.csv.budget.json",
        "steps": [
            {"kind": "RandomPseudonyms", "columns": "name"},
            {"kind": "RankSwapping", "columns": ["age", "cost"], "p": 5},
        ],
        "questions": {
            "neighbours": "one more or less",
            "ask": [{"ask": "count", "where": "age >= 65", "epsilon": 0.1}],
        },
    },
    GeneralizeSpec: {
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
        "insensitive": ["ward"],
        "identifying": {"name": "remove", "email": "mask"},
        "items": {"drugs": "hierarchies/drugs.csv"},
        "pseudonym_key": "kept/pseudonyms.key",
        "others": "drop",
        "recoding": "cells",
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
    },
    annexes()["PrivateTable"]: {
        "neighbours": "one changed",
        "method": {"kind": "MarginalTree", "breaks": {"age": [18, 40, 65]}},
        "rows_per_person": 5,
        "bounds": {"age": [0, 120]},
        "domains": {"sex": ["f", "m"]},
        "columns": ["age", "sex"],
        "missing": {"age": 40},
        "epsilon": 1,
        "delta": "1e-9",
        "rho": "1/64",
    },
    annexes()["ByPolicies"]: {
        "policies": "policies",
        "purpose": "research",
        "recipient": "university",
        "link": "policy_id",
        "population": "everybody.csv",
        "on": "2026-12-31",
        "ended": "2026-06-30",
        "withdrawn": {"A17": "2026-03-01"},
        "keys": {"clinic": {"key_file": "kept/clinic.key"}},
        "credential_variable": "VEIL_CREDENTIAL",
        "if_impossible": "leave out",
        "suppression_limit": 0.05,
        "processing_record": "processing.ttl",
    },
    annexes()["Questions"]: {
        "neighbours": "one more or less",
        "ask": [
            {"ask": "count", "where": "age >= 65", "epsilon": 0.1},
            {"ask": "quantiles", "of": "age", "shares": [0.25, 0.5, 0.75], "epsilon": 0.2},
        ],
        "rows_per_person": 5,
        "bounds": {"age": [0, 120]},
        "keys": {"sex": ["f", "m"]},
        "missing": {"age": 40},
        "outside": "leave out",
    },
}

_KINDS = {
    Recipe: (
        "The file",
        (
            "Either `steps` or `questions` say what is done. A recipe has masking methods, then one step Generalize, each of them if you "
            "like; or one PrivateTable or ByPolicies. `veil run recipe.yaml` carries out all of them."
        ),
    ),
    GeneralizeSpec: (
        "The step Generalize",
        "`veil anonymize recipe.yaml`. In Python: the keywords of `veil.anonymize`.",
    ),
    annexes()["PrivateTable"]: ("The step PrivateTable", "`veil private-table recipe.yaml`"),
    annexes()["ByPolicies"]: ("The step ByPolicies", "`veil run recipe.yaml`"),
    annexes()["Questions"]: ("Questions", "`veil ask recipe.yaml`"),
}


def text() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, "## Whole recipes\n"]
    parts += [f"{about}:\n\n```yaml\n{recipe}```\n" for about, recipe in WHOLE.items()]
    for kind, (heading, about) in _KINDS.items():
        parts.append(f"## {heading}\n\n{about}\n")
        for each in parameters(kind):
            default = "required" if each.default == "required" else f"default: {each.default}"
            description = each.about or "the table"
            parts.append(
                f"### {each.name}\n\n{description[0].upper()}{description[1:]}. *{each.values}; {default}*\n"
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
