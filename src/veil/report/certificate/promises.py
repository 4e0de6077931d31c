"""The promises of a certificate on a table: what its maker states is found in the same way as recipients find it."""

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
from veil.published.finding import Finding
from veil.published.owners import owners_shown
from veil.published.table import Published
from veil.tables.rows import Rows
from veil.verification.without_input import Input, verify_without_input


def published_table(table: pa.Table, promises: Mapping[str, Any], weights: NDArray[Any] | None) -> Published:
    """See a table as a certificate says that it is to be seen."""
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
    """Return the model of a promise, or why it cannot be had. What is no model at all raises a ValueError.

    A certificate may come from anybody: files that it names are not opened.
    """
    from veil.recipe.parts import MODELS, ModelSpec

    if _withholds(spec):
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


def _withholds(spec: Any) -> bool:
    if isinstance(spec, Mapping):
        return "withheld" in spec or any(_withholds(each) for each in spec.values())
    return isinstance(spec, list) and any(_withholds(each) for each in spec)


def check_models(
    specs: list[dict[str, Any]], promises: list[str], published: Published, known: Input, *, several: bool
) -> list[Finding]:
    """Check each model on a table that stands alone; `promises` says what each of them promises, if nobody can tell.

    `several` says that people may have several rows.
    """
    findings = []
    known = replace(known, several=several and published.rows.owners.are_records)
    for spec, promise in zip(specs, promises, strict=True):
        model = read_model(spec)
        if isinstance(model, str):
            found = Finding.not_checked(promise, model)
        else:
            try:
                (found,) = verify_without_input(published, [model], known)
            except (VeilError, KeyError) as error:
                found = Finding(promise, False, f"cannot be checked on this table: {error}")
        findings.append(
            found
            if found.checked
            else Finding.not_checked(f"the certificate states: {promise}", found.measured)
        )
    return findings


def spell_finding(promise: str, found: Finding) -> dict[str, Any]:
    """Return what was found of a promise as plain data."""
    return {"promise": promise, "found": found.measured if found.holds else None, "checkable": found.checked}
