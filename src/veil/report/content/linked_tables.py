"""Facts about several tables, by name."""

from __future__ import annotations

from typing import Any

from veil.outcome.outcome import Outcome
from veil.plan.linked_tables import Stacked
from veil.report.certificate.digest import digest_of
from veil.report.content.withheld import spell_recipe
from veil.report.texts import text


def tables_of(outcome: Outcome, certificate: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the numbers of input and output rows, the columns and the output's fingerprint of each table."""
    tables = {name: (outcome.tables[name], each) for name, each in certificate.get("tables", {}).items()}
    return [
        {
            "name": name,
            "file": None if each.source.path is None else each.source.path.name,
            "rows_in": each.source.table.num_rows,
            "rows": each.table.num_rows,
            "columns": each.table.column_names,
            "sha256": certified["sha256"],
        }
        for name, (each, certified) in tables.items()
    ]


def output_of(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return the number of columns and the fingerprint of the output: one table, or several."""
    tables = certificate.get("tables")
    if tables is None:
        content = certificate["content"]
        return {"columns": len(content["columns"]), "sha256": content["sha256"]}
    rows = sum(each["rows"] for each in tables.values())
    return {
        "columns": sum(len(each["columns"]) for each in tables.values()),
        "sha256": digest_of({name: each["sha256"] for name, each in tables.items()}, rows),
    }


def further_columns(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the treatment of the columns of several tables that no model judges."""
    stacked = outcome.source
    if not isinstance(stacked, Stacked):
        return []
    plan, treatments = stacked.asked, []
    names = [name for each in stacked.sources.values() for name in each.table.column_names]
    for name in dict.fromkeys(names):
        if name not in outcome.columns:
            role = plan.role_of(name)
            treatment = plan.identifying.get(name, "remove" if role == "dropped" else "published")
            treatments.append({"column": name, "role": role, "treatment": text(f"treatment.{treatment}")})
    return treatments


def recipe_of(stacked: Stacked, outcome: Outcome) -> dict[str, Any]:
    """Return the recipe of several tables without original values; with files if all tables are files."""
    recipe = spell_recipe(stacked.asked, outcome.table)
    paths = {name: each.path for name, each in stacked.sources.items()}
    if all(paths.values()):
        recipe = {"tables": {name: str(path) for name, path in paths.items()}, **recipe}
    return recipe
