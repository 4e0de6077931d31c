"""A release in the Data Privacy Vocabulary, for the record of processing activities (Article 30 GDPR).

It states who gets which columns, for what purpose, under which guarantees, and holds no value of a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from veil.api.release import Release
from veil.dp.safepub import SafePub
from veil.errors import OutputError, ParameterError, did_you_mean
from veil.models import PrivacyModel
from veil.outcome.account import Account
from veil.outcome.outcome import Outcome
from veil.policy.linked.graphs import to_turtle
from veil.policy.linked.reading import text_of_model
from veil.policy.linked.terms import LEGAL_BASES, PREFIXES, PURPOSES
from veil.policy.rules.names import element_of
from veil.recipe.places import PROCESSING_RECORDS
from veil.tables import atomic


def processing_record(
    release: Release,
    path: str | Path,
    *,
    purpose: str | None = None,
    recipient: str | None = None,
    controller: str | None = None,
    legal_basis: str | Iterable[str] = (),
    overwrite: bool = False,
) -> Path:
    """Write a record of processing activities for a release, in W3C's Data Privacy Vocabulary.

    It is JSON-LD (.jsonld) or Turtle (.ttl, with the extra `policy`). Under policies, purpose, recipient and
    legal bases are those of the request; otherwise give them. It contains nothing about any record.
    """
    path = Path(path)
    release._check_target(path, "record of processing", overwrite=overwrite)
    if path.suffix not in PROCESSING_RECORDS:
        raise OutputError(
            f"{path}: a record of processing ends in {' or '.join(PROCESSING_RECORDS)}, not in {path.suffix!r}. Choose another name"
        )
    bases = [_basis(each) for each in ([legal_basis] if isinstance(legal_basis, str) else legal_basis)]
    tree = _statement(release.outcome, purpose, recipient, controller, bases)
    text = (
        json.dumps(tree, indent=2, ensure_ascii=False) + "\n" if path.suffix == ".jsonld" else to_turtle(tree)
    )
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def _statement(
    outcome: Outcome, purpose: str | None, recipient: str | None, controller: str | None, bases: list[str]
) -> dict[str, Any]:
    """Return the statement as a tree of JSON-LD; the defaults come from the policies."""
    account = outcome.trace(Account)
    purpose = purpose or (None if account is None else account.purpose)
    recipient = recipient or (None if account is None else account.recipient)
    if purpose is None or recipient is None:
        raise ParameterError(
            "a record of processing needs `purpose` and `recipient`, because there are no policies that state them"
        )
    if not bases and account is not None:
        bases = sorted({_BASES.get(each, "LegalBasis") for each in account.legal_bases})
    on = date.today() if account is None else account.on
    used = ("dpv", "dct", "xsd")
    tree: dict[str, Any] = {
        "@context": {prefix: PREFIXES[prefix] for prefix in used},
        "@type": "dpv:Process",
        "dct:title": f"release for {purpose}, to {recipient}",
        "dct:issued": {"@value": on.isoformat(), "@type": "xsd:date"},
        "dpv:hasPurpose": _purpose(purpose),
        "dpv:hasRecipient": {"@type": "dpv:Recipient", "dct:title": recipient},
        "dpv:hasProcessing": [{"@id": "dpv:Anonymise"}, {"@id": "dpv:Share"}],
        "dpv:hasPersonalData": [_column(name, outcome) for name in outcome.table.column_names],
        "dpv:hasTechnicalMeasure": _measures(outcome),
    }
    if controller is not None:
        tree["dpv:hasDataController"] = {"@type": "dpv:DataController", "dct:title": controller}
    if bases:
        tree["dpv:hasLegalBasis"] = [{"@id": f"dpv:{each}"} for each in bases]
    return tree


def _purpose(name: str) -> dict[str, Any]:
    """Return a purpose of the vocabulary, or one with a title of its own."""
    return {"@id": f"dpv:{name}"} if name in PURPOSES else {"@type": "dpv:Purpose", "dct:title": name}


_BASES: dict[str, str] = {}
for _term, _name in LEGAL_BASES.items():
    _BASES.setdefault(_name, _term)
    _BASES.setdefault(_term, _term)


def _basis(name: str) -> str:
    if name not in _BASES:
        raise ParameterError(f"{name!r} is not a legal basis.{did_you_mean(name, sorted(_BASES))}")
    return _BASES[name]


def _column(name: str, outcome: Outcome) -> dict[str, Any]:
    is_sensitive = name in outcome.roles.sensitive
    kinds = ["dpv:PersonalData", *(["dpv:SensitivePersonalData"] if is_sensitive else [])]
    return {"@type": kinds, "dct:title": name}


def _measures(outcome: Outcome) -> list[dict[str, Any]]:
    measures = [_measure(each) for each in outcome.models] or [{"@id": "dpv:Deidentification"}]
    account = outcome.trace(Account)
    if outcome.secret or (account is not None and "pseudonym" in account.columns.values()):
        measures.append({"@id": "dpv:Pseudonymisation"})
    return measures


def _measure(model: PrivacyModel) -> dict[str, Any]:
    element = element_of(model)
    title = str(model) if element is None else text_of_model(element)
    kind = "dpv:DifferentialPrivacy" if isinstance(model, SafePub) else "dpv:Anonymisation"
    return {"@type": kind, "dct:title": title}
