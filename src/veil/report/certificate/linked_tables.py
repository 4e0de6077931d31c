"""Certificates of several tables: the promises hold on all rows of a person in all tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.base.progress import Progress
from veil.engines.database import database_of
from veil.engines.fetch import fetch_rows
from veil.engines.relation import relation_of
from veil.errors import InputError
from veil.outcome.outcome import Outcome, outcome_of
from veil.plan.linked_tables import Stacked
from veil.published.finding import Finding
from veil.published.linked_tables import joined_view
from veil.published.table import Published
from veil.report.certificate.digest import fingerprint
from veil.report.certificate.disclosed_input import input_to_disclose, spell_input
from veil.report.certificate.promises import by_construction, check_models, read_model, spell_finding
from veil.report.content.withheld import spell_models
from veil.tables import read
from veil.tables.arrow import normalize
from veil.tables.source import Source
from veil.tables.writing import file_name
from veil.verification.without_input import Input


def certified_tables(outcome: Outcome) -> dict[str, Any]:
    """Return the promises, their findings on all tables, and the content of each table."""
    stacked = outcome.source
    assert isinstance(stacked, Stacked)
    plan, tables = stacked.asked, {name: normalize(each.table) for name, each in outcome.tables.items()}
    roles = {str(role): list(names) for role, names in plan.roles.items()}
    roles["quasi-identifying"] = [stacked.label, *plan.quasi_identifiers]
    published = dict.fromkeys(name for table in tables.values() for name in table.column_names)

    assigned = {name for names in roles.values() for name in names}
    roles["insensitive"] += [name for name in published if name not in assigned]
    promises: dict[str, Any] = {
        "quasi_identifiers": roles["quasi-identifying"],
        "label": stacked.label,
        "roles": {role: names for role, names in roles.items() if names},
        "identifying": dict(plan.identifying),
        "marker": plan.marker,
        "flag": None,
        "person": {"column": stacked.person, "knows": "all rows"},
        "models": spell_models(plan.models, outcome.table),
        **by_construction(outcome),
    }
    facts = Input()
    if any(model.compares_with for model in plan.models):
        facts = input_to_disclose(outcome)
        promises["input"] = spell_input(facts)
    stated = [each.promise for each in outcome.verification.findings[: len(plan.models)]]
    view, _ = view_of(tables, promises)
    findings = check_models(promises["models"], stated, view, facts, several=True)
    return {
        "promises": promises,
        "found": [spell_finding(promise, each) for promise, each in zip(stated, findings, strict=True)],
        "tables": {name: fingerprint(table) for name, table in tables.items()},
    }


def view_of(tables: Mapping[str, pa.Table], promises: Mapping[str, Any]) -> tuple[Published, Finding]:
    """Return released tables as one published table with the columns and roles of a certificate."""
    person, label = promises["person"]["column"], promises["label"]
    models = [model for model in map(read_model, promises["models"]) if not isinstance(model, str)]
    return joined_view(
        tables,
        label,
        quasi_identifiers=[name for name in promises["quasi_identifiers"] if name != label],
        sensitive=list(dict.fromkeys(name for model in models for name in model.attribute_names)),
        person=person,
        treatment=promises["identifying"][person],
        marker=promises["marker"],
    )


def open_tables(source: Any, names: list[str]) -> dict[str, Source]:
    """Read released tables: by name, of a release, from a folder of files, or from a database.

    From a folder all other files are read as well; in a database other tables may be unrelated.
    """
    if (outcome := outcome_of(source)) is not None:
        return {name: Source(normalize(each.table), "pyarrow") for name, each in outcome.tables.items()}
    if (database := database_of(source)) is not None:
        source = {name: database.with_table(name, database.schema) for name in names}
    elif isinstance(source, str | os.PathLike) and Path(source).is_dir():
        source = _files_of(Path(source), names)
    if not isinstance(source, Mapping):
        raise InputError(
            f"the certificate is for several tables ({', '.join(names)}): give them by name, or the folder "
            "or the database that holds them"
        )
    return {name: _read(each) for name, each in source.items()}


def _files_of(folder: Path, names: list[str]) -> dict[str, Path]:
    """Return the files of a folder by the names of their tables; other files by their own names."""
    stems = {file_name(name).removesuffix(".csv"): name for name in names}
    files = [each for each in sorted(folder.iterdir()) if not each.name.startswith(".")]
    return {stems.get(each.name.partition(".")[0], each.name): each for each in files}


def _read(source: Any) -> Source:
    if isinstance(source, Source):
        return source
    relation = relation_of(source)
    return read(source, may_be_empty=True) if relation is None else fetch_rows(relation, Progress())
