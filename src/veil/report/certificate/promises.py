"""The promises of a certificate on a table: issuers and recipients check them in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from veil.base.references import untrusted
from veil.errors import VeilError
from veil.models.base import PrivacyModel
from veil.outcome.outcome import Outcome
from veil.published.finding import BY_CONSTRUCTION, Finding
from veil.published.owners import owners_shown
from veil.published.table import Published
from veil.report.content.withheld import withholds_part
from veil.tables.rows import Rows
from veil.verification.without_input import Input, verify_without_input


def published_table(table: pa.Table, promises: Mapping[str, Any], weights: NDArray[Any] | None) -> Published:
    """Return a table as published, with the columns and roles of a certificate."""
    person = promises.get("person") or {"column": None, "knows": None}
    treatment = promises["identifying"].get(person["column"])
    return Published(
        Rows.of(
            table,
            weights,
            owners_shown(table, person["column"], treatment, person["knows"] or "one row"),
        ),
        promises["quasi_identifiers"],
        marker=promises["marker"],
        flag=promises["flag"] if promises["flag"] in table.column_names else None,
        suppressed="none"
        if bool(promises.get("untouched") or promises.get("every_row_judged"))
        else "by cells",
    )


def read_model(spec: Mapping[str, Any]) -> PrivacyModel | str:
    """Return the model of a promise, or why it is not available; raise a ValueError if the spec is malformed.

    A certificate is untrusted: files that it names are not opened.
    """
    from veil.recipe.parts import MODELS, ModelSpec

    if withholds_part(spec):
        return "that takes what the certificate withholds"
    if spec["kind"] not in MODELS:
        return f"this Veil knows no model {spec['kind']!r}"
    with untrusted() as refused:
        try:
            model: PrivacyModel = TypeAdapter(ModelSpec).validate_python(spec)
        except (VeilError, ValidationError) as error:
            if refused:
                return "that takes a file, which is not part of the certificate"
            raise ValueError(f"the model {spec['kind']} is misspelled") from error
    return model


def check_models(
    specs: list[dict[str, Any]], promises: list[str], published: Published, facts: Input, *, several: bool
) -> list[Finding]:
    """Check each model on a table without its input; `promises` are the texts for models that cannot be read.

    `several`: people may have several rows.
    """
    findings = []
    facts = replace(facts, several=several and published.rows.owners.are_records)
    for spec, promise in zip(specs, promises, strict=True):
        model = read_model(spec)
        if isinstance(model, str):
            finding = Finding.not_checked(promise, model)
        else:
            try:
                (finding,) = verify_without_input(published, [model], facts)
            except (VeilError, KeyError) as error:
                finding = Finding(promise, False, f"cannot be checked on this table: {error}")
        findings.append(
            finding
            if finding.checked
            else Finding.not_checked(f"the certificate states: {promise}", finding.measured)
        )
    return findings


def spell_finding(promise: str, finding: Finding) -> dict[str, Any]:
    """Return the finding of a promise as plain data."""
    measured = finding.measured if finding.holds else None
    return {"promise": promise, "found": measured, "checkable": finding.checked}


def by_construction(outcome: Outcome) -> dict[str, Any]:
    """Return what the recoding of a plan does and no table shows, as a part of the promises of a certificate."""
    done = () if outcome.recoding is None else outcome.recoding.by_construction
    return {"stated": [{"promise": each, "found": BY_CONSTRUCTION} for each in done]} if done else {}
