"""The first page of a report: release and recipient, promises and attackers, limits, and signatures."""

from __future__ import annotations

import re
from typing import Any

from veil.base.wording import plural
from veil.report.pages.blocks import (
    Block,
    Cell,
    Heading,
    Paragraph,
    Points,
    Signatures,
    TableBlock,
    Verbatim,
    list_names,
    percent,
    verdict,
)
from veil.report.pages.measured import as_before

_NOT_STATED = "not stated"


def first_page(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the page that is signed."""
    blocks: list[Block] = []
    if facts["not_anonymous"] is not None:
        blocks += [Paragraph(_NOT_ANONYMOUS, "notice"), Paragraph(Verbatim(facts["not_anonymous"]), "lead")]
    blocks.append(TableBlock(("", ""), tuple(_description_rows(facts))))
    if facts["notice"]:
        blocks.append(Paragraph(facts["notice"], "notice"))
    blocks += [Heading("What is promised"), *_promises(facts)]
    if aims := _attackers(facts):
        masked = bool(facts["asked"]["steps"])
        heading = "What the methods make harder" if masked else "Against whom"
        lead = "They make it harder, but not impossible, to" if masked else "Somebody who wants to"
        blocks += [Heading(heading), Paragraph(lead), Points(tuple(aims))]
    blocks += [Heading("What is not promised"), Points(tuple(_not_promised(facts)))]
    blocks += [*_samples(facts["sample"]), Heading("Approval"), Paragraph(_DECLARATION)]
    about = facts["about"]
    people = (("Prepared by", about["prepared_by"]), ("Approved by (data protection)", about["approved_by"]))
    return (*blocks, Signatures(people))


_NOT_ANONYMOUS = (
    "NOT ANONYMOUS. This table does not keep every promise, or suppresses more records than the plan allows. It stays "
    "personal data, and was taken all the same, for this reason:"
)

_DECLARATION = (
    "I have read this report. The guarantees named in it are those that were asked for, and the remaining "
    "risks are acceptable for the intended recipients and purpose."
)


def _description_rows(facts: dict[str, Any]) -> list[tuple[str | Cell, ...]]:
    about, out = facts["about"], facts["output"]
    file = (facts["input"] or {}).get("file")
    descriptions = [
        ("Data set", about["data_set"] or file),
        ("Purpose", about["purpose"]),
        ("Recipient", about["recipient"]),
        ("Legal basis", about["legal_basis"]),
        ("Version", about["version"]),
    ]
    rows: list[tuple[str | Cell, ...]] = [
        (name, _NOT_STATED if value is None else Verbatim(value)) for name, value in descriptions
    ]
    size = f"{plural(out['rows'], 'row')}, {plural(out['columns'], 'column')}"
    if facts["tables"]:
        size = f"{plural(len(facts['tables']), 'table')}: {size}"
    rows.append(("Released", size))
    if facts["summary"].get("suppressed"):
        rows.append(("Suppressed", _suppressed(facts)))
    rows.append(("SHA-256 of its content", out["sha256"] or "not computed: an engine holds it"))
    return rows


def _suppressed(facts: dict[str, Any]) -> str:
    summary = facts["summary"]
    share = percent(summary["suppressed"] / max(1, summary["chosen"]))
    return f"{plural(summary['suppressed'], 'record')} ({share}): {_SUPPRESSED[facts['asked']['suppressed_rows']]}"


_SUPPRESSED = {
    "blank": "their rows are there, with every cell blank",
    "keep cells": "their rows are there, with blank quasi-identifiers",
    "drop": "their rows are left out",
}


# Promises


def _promises(facts: dict[str, Any]) -> list[Block]:
    models, verification = facts["asked"]["models"], facts["verification"]
    if not models:
        return _promises_of_methods(facts)
    holds = {each["promise"]: each["holds"] for each in verification}
    verdicts = [verdict(holds.get(each["promise"], True)) for each in models]
    if facts["statement"]:
        rows = [(each["promise"], cell) for each, cell in zip(models, verdicts, strict=True)]
        return [
            Paragraph(facts["statement"]),
            TableBlock(("What the table shows of it", "Verified"), tuple(rows)),
        ]
    knowledge = Paragraph(f"An attacker may know about a person: {list_names(_known_columns(facts), 12)}.")
    promise_rows = [
        (each["promise"], explain_model(each, facts), cell)
        for each, cell in zip(models, verdicts, strict=True)
    ]
    return [knowledge, TableBlock(("Promise", "In plain words", "Verified"), tuple(promise_rows))]


def _promises_of_methods(facts: dict[str, Any]) -> list[Block]:
    """Return the promises of masking methods, and the remaining share of unique records."""
    verification = facts["verification"]
    blocks: list[Block] = [
        Paragraph(
            "Masking makes attacks harder, and this report says by how much. It promises the following, and nothing else:"
            if verification
            else "The methods give no guarantee: they make an attack harder, and say by how much."
        )
    ]
    if verification:
        texts = [_explain_method_promise(each["promise"]) for each in verification]
        rows = [
            (each["promise"], *([words] if any(texts) else []), verdict(each["holds"]))
            for each, words in zip(verification, texts, strict=True)
        ]
        blocks.append(
            TableBlock(("Promise", *(["In plain words"] if any(texts) else []), "Verified"), tuple(rows))
        )
    risks, quasi_identifiers = facts["risks"], _known_columns(facts)
    if quasi_identifiers and risks["before"] is not None:
        before, after = (percent(risks[which]["sample_uniques"]["share"]) for which in ("before", "after"))
        blocks.append(
            Paragraph(
                f"Records with a unique combination of {list_names(quasi_identifiers, 12)}: {after} of the release, {before} of the input."
            )
        )
    return blocks


_ANONYMITY = re.compile(r"(?:.*: )?(\d+)-anonymity in ('.*')")


def _explain_method_promise(promise: str) -> str:
    """Explain k-anonymity as promised by a method; other promises are in plain words already.

    >>> _explain_method_promise("after step 2, Rounding: 5-anonymity in 'age', 'stay'")
    "After this step, every combination of 'age', 'stay' occurs at least 5 times."
    """
    match = _ANONYMITY.fullmatch(promise)
    return (
        f"After this step, every combination of {match[2]} occurs at least {match[1]} times." if match else ""
    )


def explain_model(model: dict[str, Any], facts: dict[str, Any]) -> str:
    """Explain the promise of a model with its columns and parameters; by default return its definition."""
    parameters, who = model["given"], "people" if facts["asked"].get("person") is not None else "records"
    explanations = {
        "KAnonymity": f"At least {parameters.get('k')} {who} look the same in what an attacker may know, so nobody can tell "
        "which one is whose.",
        "DistinctLDiversity": f"Those who look the same have at least {parameters.get('l')} different values of "
        f"{parameters.get('attribute')}.",
        "TCloseness": f"Among those who look the same, {parameters.get('attribute')} is distributed almost as in the whole table: "
        f"the distance is at most {parameters.get('t')}, on a scale from 0 (equal) to 1.",
        "AlphaKAnonymity": f"At least {parameters.get('k')} look the same, and no value of {parameters.get('attribute')} belongs to "
        f"more than a share of {parameters.get('alpha')} of them.",
    }
    explanations["EntropyLDiversity"] = (
        f"Among those who look the same, {parameters.get('attribute')} is at least as uncertain as {parameters.get('l')} equally "
        "frequent values."
    )
    return str(explanations.get(model["kind"], model["definition"]))


_AIMS = {
    "record linkage": "find a person's record",
    "attribute linkage": "learn {secret} about a person",
    "probabilistic": "guess {secret} more accurately than the whole table allows",
    "table linkage": "find out whether a person is in the table",
}
_SAME = {"identity linkage": "record linkage"}


def _aims(facts: dict[str, Any]) -> set[str]:
    """Return the attacks that the promises defend against."""
    request = facts["asked"]
    if request["steps"] and not facts["verification"]:
        return set()
    every = [aim for each in (*request["models"], *request["steps"]) for aim in each["attacks"]]
    return set(map(attack, every))


def attack(name: str) -> str:
    """Return the name of an attack in reports."""
    return _SAME.get(name, name)


def _known_columns(facts: dict[str, Any]) -> list[str]:
    """Return the columns that attackers know, without the column that names the table of a row."""
    names: list[str] = facts["asked"]["roles"].get("quasi-identifying", [])
    return [name for name in names if not (facts["tables"] and name == "table")]


def _attackers(facts: dict[str, Any]) -> list[str]:
    """Return the aims of the attackers that are defended against; none for masks without a promise."""
    aims, secret = _aims(facts), list_names(facts["asked"]["roles"].get("sensitive", []), 12)
    return [text.format(secret=secret or "something else") for aim, text in _AIMS.items() if aim in aims]


def _not_promised(facts: dict[str, Any]) -> list[str]:
    request, aims = facts["asked"], set() if facts["asked"]["steps"] else _aims(facts)
    points = []
    open_ones = sum(not each["acknowledged"] for each in facts["concerns"])
    accepted = len(facts["concerns"]) - open_ones
    if open_ones:
        points.append(f"{plural(open_ones, 'concern')} that no promise covers: see “Before you sign”.")
    if accepted:
        points.append(f"{plural(accepted, 'concern')} known and accepted: see “Before you sign”.")
    if "attribute linkage" not in aims:
        points.append(
            "That nobody can learn something about a person without finding their record: people who look the same may share "
            "a secret."
        )
    if "table linkage" not in aims:
        points.append("That nobody can find out whether a person is in the table.")
    if request["steps"]:
        points.append("That nobody can find a person's record, beyond what is promised above.")
    changed = {each["column"] for each in facts["done"]["columns"]} - as_before(facts)
    if unchanged := [name for name in request["roles"].get("insensitive", []) if name not in changed]:
        points.append(
            f"Protection against attackers who also know columns that are published unchanged: {list_names(unchanged, 12)}."
        )
    if facts["statement"] is None:
        points.append("Protection against combining this release with other releases about the same people.")
    else:
        points.append("That further releases about the same people cost nothing: their ε and δ add up.")
    return points


# A few rows of the release


def _samples(samples: list[dict[str, Any]]) -> list[Block]:
    if not samples:
        return []
    blocks: list[Block] = [Heading("Rows of the release")]
    for each in samples:
        if each["table"] is not None:
            blocks.append(Paragraph(Verbatim(each["table"]), "note"))
        rows = tuple(tuple(Verbatim(cell) for cell in row) for row in each["rows"])
        blocks.append(TableBlock(tuple(Verbatim(name) for name in each["columns"]), rows))
        note = f"{len(each['rows'])} of {plural(each['of'], 'row')}, as delivered"
        more = f"; {plural(each['further'], 'further column')} not shown" if each["further"] else ""
        blocks.append(Paragraph(f"{note}{more}.", "note"))
    return blocks
