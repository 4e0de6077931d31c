"""The certificate of a released table: its promises, for the recipients of the table.

It names the promises, the findings on the table, and the fingerprint of its content. A recipient can check
all of it again, without the original and without trusting the issuer: the fingerprint identifies the table,
and every promise is verified on it anew. Only a signature proves who issued the certificate.

A certificate is computed from the released table and the plan alone, apart from the number of records where
`disclosed_input` allows it. It holds no fingerprint of anything that the table does not show: an attacker who
knows most of it could confirm a guess about the rest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.base.version import __version__
from veil.engines.engine_source import EngineSource
from veil.outcome.outcome import Outcome, require_outcome
from veil.plan.linked_tables import Stacked
from veil.published.finding import BY_CONSTRUCTION
from veil.report.certificate.digest import fingerprint
from veil.report.certificate.disclosed_input import input_to_disclose, spell_input
from veil.report.certificate.keys import AnyKey, PrivateKey
from veil.report.certificate.linked_tables import certified_tables
from veil.report.certificate.promises import by_construction, check_models, published_table, spell_finding
from veil.report.certificate.signature import signed
from veil.report.content.withheld import spell_models
from veil.risk.concerns.collect import acknowledged_by
from veil.tables import atomic
from veil.tables.arrow import normalize
from veil.verification.steps.step import COMPARISONS
from veil.verification.without_input import Input

FORMAT = 1


def certificate_of(release: object, *, sign: PrivateKey | AnyKey | None = None) -> dict[str, Any]:
    """Return the certificate of a release as plain data, signed if there is a key."""
    outcome = require_outcome(release)
    certificate = {
        "veil_certificate": FORMAT,
        "veil": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **(certified_tables(outcome) if isinstance(outcome.source, Stacked) else _certified_table(outcome)),
        "acknowledged": acknowledged_by(outcome),
    }
    if further := {name: each for name, each in outcome.apart.items() if name not in outcome.secret}:
        certificate["apart"] = {name: fingerprint(normalize(each)) for name, each in further.items()}
    return signed(certificate, sign)


def _certified_table(outcome: Outcome) -> dict[str, Any]:
    """Return the promises, their findings, and the content of a table."""
    table, flag = normalize(outcome.table), _flag_of(outcome)
    table = table.rename_columns(
        [flag if flag and name == outcome.flag else name for name in table.column_names]
    )
    promises: dict[str, Any] = {
        "quasi_identifiers": list(outcome.by_records.names),
        "roles": roles_of(outcome),
        "identifying": dict(outcome.roles.identifying),
        "marker": outcome.marker,
        "flag": flag,
    }
    if outcome.person_column is not None:
        promises["person"] = {"column": outcome.person_column, "knows": outcome.roles.knows}
    find = _findings_of_mask if outcome.plan is None else _findings_of_plan
    findings = find(outcome, table, promises)
    return {"promises": promises, "found": findings, "content": _content_of(outcome, table, flag)}


def _findings_of_plan(outcome: Outcome, table: pa.Table, promises: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of each model that recipients can make on the table alone."""
    if outcome.roles.suppressed_rows == "keep cells":
        promises["every_row_judged"] = True
    specs = promises["models"] = spell_models(outcome.models, outcome.table)
    promises |= by_construction(outcome)
    stated = [each.promise for each in outcome.verification.findings[: len(specs)]]
    facts = Input()
    if any(model.compares_with for model in outcome.models):
        facts = input_to_disclose(outcome)
        promises["input"] = spell_input(facts)
    published = published_table(table, promises, outcome.after.weights.counts)
    findings = check_models(specs, stated, published, facts, several="person" in promises)
    return [spell_finding(promise, each) for promise, each in zip(stated, findings, strict=True)]


def _findings_of_mask(outcome: Outcome, table: pa.Table, promises: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of the promises of a mask. Models count if they hold after all steps."""
    promises["untouched"] = True  # no record is suppressed: missing cells are values
    published = published_table(table, promises, outcome.after.weights.counts)
    facts = Input(whole=True, records=published.records)
    promises["input"] = spell_input(facts)
    specs = spell_models(outcome.models, outcome.table)
    findings = check_models(
        specs, [each["kind"] for each in specs], published, facts, several="person" in promises
    )
    promises["models"] = [spec for spec, each in zip(specs, findings, strict=True) if each.holds]
    passed = [each for each in findings if each.holds]
    # Comparisons of the input with the table are not for recipients.
    promises["stated"] = [
        {"promise": each.promise, "found": "done"}
        for each in outcome.verification.findings
        if each.promise not in {every.promise for every in passed} and not each.promise.endswith(COMPARISONS)
    ] + [{"promise": each, "found": BY_CONSTRUCTION} for each in outcome.verification.open_questions]
    if not promises["models"] and not promises["stated"]:
        promises["stated"] = [
            {
                "promise": f"{type(method).__name__} of {', '.join(map(repr, method.column_names))}",
                "found": "done",
            }
            for method in outcome.methods
        ]
    return [spell_finding(each.promise, each) for each in passed]


def _flag_of(outcome: Outcome) -> str | None:
    """Return the name of the flag in the released table, free also among columns only an engine reads."""
    source = outcome.source
    return source.flag_of(outcome) if isinstance(source, EngineSource) else outcome.flag


def roles_of(outcome: Outcome) -> dict[str, list[str]]:
    """Return the columns by role; published columns without a role are insensitive."""
    columns: Mapping[Any, Sequence[str]] = {"quasi-identifying": outcome.quasi_identifiers, "insensitive": ()}
    if outcome.plan is not None:
        columns = outcome.plan.roles
    roles = {str(role): list(names) for role, names in columns.items()}
    assigned = {name for names in roles.values() for name in names}
    # A mask may add columns, such as the groups of Anatomy; a plan adds a flag alone, which has no role.
    added = outcome.table.column_names if outcome.plan is None and not outcome.is_condensed else []
    published = dict.fromkeys([*outcome.kept_columns, *added])
    roles["insensitive"] += [name for name in published if name not in assigned]
    return {role: names for role, names in roles.items() if names}


def _content_of(outcome: Outcome, table: pa.Table, flag: str | None) -> dict[str, Any]:
    """Return the fingerprint of the released table; without digests if an engine holds it."""
    if not outcome.is_condensed:
        return fingerprint(table)
    names = [*outcome.kept_columns, *([flag] if flag else [])]
    return {
        "sha256": None,
        "rows": outcome.by_records.records,
        "columns": [{"name": name} for name in names],
    }


def write_certificate(release: object, path: Path, *, sign: PrivateKey | AnyKey | None = None) -> Path:
    """Write the certificate of a release as a JSON file, signed if there is a key."""
    text = json.dumps(certificate_of(release, sign=sign), indent=2, ensure_ascii=False)
    with atomic(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return path
