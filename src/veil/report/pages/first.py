"""The first page of a report: release and recipient, promises and attackers, limits, and signatures."""

from __future__ import annotations

import re
from typing import Any

from veil.base.wording import Phrase, joined, plural
from veil.report.pages.blocks import (
    Block,
    Heading,
    Paragraph,
    Points,
    Row,
    Signatures,
    TableBlock,
    Verbatim,
    list_names,
    percent,
    table,
    verdict,
)
from veil.report.pages.measured import as_before
from veil.report.texts import has_text, text, texts


def first_page(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the page that is signed."""
    blocks: list[Block] = []
    if facts["not_anonymous"] is not None:
        blocks += [
            Paragraph(text("first.not_anonymous"), "notice"),
            Paragraph(Verbatim(facts["not_anonymous"]), "lead"),
        ]
    blocks.append(TableBlock(("", ""), tuple(_description_rows(facts))))
    if facts["notice"]:
        blocks.append(Paragraph(facts["notice"], "notice"))
    blocks += [Heading(text("first.what_is_promised")), *_promises(facts)]
    if aims := _attackers(facts):
        heading, lead = texts(
            "first.methods_make_harder first.harder_but_possible"
            if has_only_masks(facts)
            else "first.against_whom first.somebody_wants"
        )
        blocks += [Heading(heading), Paragraph(lead), Points(tuple(aims))]
    blocks += [Heading(text("first.what_is_not_promised")), Points(tuple(_not_promised(facts)))]
    blocks += [
        *_samples(facts["sample"]),
        Heading(text("first.approval")),
        Paragraph(text("first.declaration")),
    ]
    about = facts["about"]
    people = (
        (text("first.prepared_by"), about["prepared_by"]),
        (text("first.approved_by"), about["approved_by"]),
    )
    return (*blocks, Signatures(people))


def _description_rows(facts: dict[str, Any]) -> list[Row]:
    about, out = facts["about"], facts["output"]
    file = (facts["input"] or {}).get("file")
    descriptions = {**about, "data_set": about["data_set"] or file}
    rows: list[Row] = [
        (
            text(f"first.{name}"),
            text("first.not_stated") if descriptions[name] is None else Verbatim(descriptions[name]),
        )
        for name in ("data_set", "purpose", "recipient", "legal_basis", "version")
    ]
    size = joined([plural(out["rows"], "row"), plural(out["columns"], "column")], ", ")
    if facts["tables"]:
        size = joined([plural(len(facts["tables"]), "table"), size], ": ")
    rows.append((text("first.released"), size))
    if facts["summary"].get("suppressed"):
        rows.append((text("common.suppressed"), _suppressed(facts)))
    rows.append((text("first.sha256_of_content"), out["sha256"] or text("common.sha256_not_computed")))
    return rows


def _suppressed(facts: dict[str, Any]) -> str:
    summary = facts["summary"]
    share = percent(summary["suppressed"] / max(1, summary["chosen"]))
    treatment = text(f"first.rows.{facts['asked']['suppressed_rows']}")
    return Phrase(
        "{records} ({share}): {treatment}",
        records=plural(summary["suppressed"], "record"),
        share=share,
        treatment=treatment,
    )


# Promises


def _promises(facts: dict[str, Any]) -> list[Block]:
    models, verification = facts["asked"]["models"], facts["verification"]
    if not models:
        return _promises_of_methods(facts)
    holds = {each["promise"]: each["holds"] for each in verification}
    verdicts = [verdict(holds.get(each["promise"], True)) for each in models]
    if facts["statement"]:
        rows = [(each["promise"], cell) for each, cell in zip(models, verdicts, strict=True)]
        return [Paragraph(facts["statement"]), table("first.what_the_table_shows common.verified", rows)]
    knowledge = Paragraph(text("first.knowledge", columns=list_names(_known_columns(facts), 12)))
    promise_rows = [
        (each["promise"], explain_model(each, facts), cell)
        for each, cell in zip(models, verdicts, strict=True)
    ]
    return [knowledge, table("common.promise first.in_plain_words common.verified", promise_rows)]


def _promises_of_methods(facts: dict[str, Any]) -> list[Block]:
    """Return the promises of masking methods, and the remaining share of unique records."""
    verification = facts["verification"]
    blocks: list[Block] = [
        Paragraph(text("first.masking_promises") if verification else text("common.no_guarantee"))
    ]
    if verification:
        rows = [
            (each["promise"], _explain_method_promise(each["promise"]), verdict(each["holds"]))
            for each in verification
        ]
        headings = texts("common.promise first.in_plain_words common.verified")
        if not any(words for _, words, _ in rows):
            blocks.append(TableBlock(headings[::2], tuple(row[::2] for row in rows)))
        else:
            blocks.append(TableBlock(headings, tuple(rows)))
    risks, quasi_identifiers = facts["risks"], _known_columns(facts)
    if quasi_identifiers and risks["before"] is not None:
        shares = {when: percent(risks[when]["sample_uniques"]["share"]) for when in ("before", "after")}
        columns = list_names(quasi_identifiers, 12)
        blocks.append(Paragraph(text("first.unique_combinations", columns=columns, **shares)))
    return blocks


_ANONYMITY = re.compile(r"(?:.*: )?(\d+)-anonymity in ('.*')")


def _explain_method_promise(promise: str) -> str:
    """Explain k-anonymity as promised by a method; other promises are in plain words already.

    >>> _explain_method_promise("after step 2, Rounding: 5-anonymity in 'age', 'stay'")
    "After this step, every combination of 'age', 'stay' occurs at least 5 times."
    """
    match = _ANONYMITY.fullmatch(promise)
    return text("first.combinations_after_step", columns=match[2], k=match[1]) if match else ""


def explain_model(model: dict[str, Any], facts: dict[str, Any]) -> str:
    """Explain the promise of a model with its columns and parameters; by default return its definition."""
    who = "records" if facts["asked"].get("person") is None else "people"
    values = {
        name: Verbatim(each) if isinstance(each, str) else each for name, each in model["given"].items()
    }
    for name in (f"explained.{model['kind']}", f"explained.{model['kind']}.{who}"):
        if has_text(name):
            return text(name, **values)
    definition: str = model["definition"]
    return definition


_AIMS = ("record linkage", "attribute linkage", "probabilistic", "table linkage")
_SAME = {"identity linkage": "record linkage"}


def _aims(facts: dict[str, Any]) -> set[str]:
    """Return the attacks that the promises defend against."""
    request = facts["asked"]
    if has_only_masks(facts) and not facts["verification"]:
        return set()
    sources = [*request["models"], *(request["steps"] if has_only_masks(facts) else ())]
    every = [aim for each in sources for aim in each["attacks"]]
    return set(map(attack, every))


def has_only_masks(facts: dict[str, Any]) -> bool:
    """Whether nothing but masking methods was asked for; a search after them has promises of its own."""
    return "quality" not in facts["asked"]


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
    unknown = set() if secret else {"attribute linkage", "probabilistic"}
    return [
        text(f"first.aim_of_unknown.{aim}" if aim in unknown else f"first.aim.{aim}", secret=secret)
        for aim in _AIMS
        if aim in aims
    ]


def _not_promised(facts: dict[str, Any]) -> list[str]:
    request, aims = facts["asked"], set() if has_only_masks(facts) else _aims(facts)
    points: list[str] = []
    open_ones = sum(not each["acknowledged"] for each in facts["concerns"])
    accepted = len(facts["concerns"]) - open_ones
    if open_ones:
        points.append(text("first.open_concerns", count=open_ones))
    if accepted:
        points.append(text("first.accepted_concerns", count=accepted))
    if "attribute linkage" not in aims:
        points.append(text("first.not_attribute_linkage"))
    if "table linkage" not in aims:
        points.append(text("first.not_table_linkage"))
    if has_only_masks(facts):
        points.append(text("first.not_record_linkage"))
    changed = {each["column"] for each in facts["done"]["columns"]} - as_before(facts)
    if unchanged := [name for name in request["roles"].get("insensitive", []) if name not in changed]:
        points.append(text("first.not_unchanged_columns", columns=list_names(unchanged, 12)))
    budget = facts["statement"] is not None
    return [*points, text("first.not_further_releases" if budget else "first.not_other_releases")]


# A few rows of the release


def _samples(samples: list[dict[str, Any]]) -> list[Block]:
    if not samples:
        return []
    blocks: list[Block] = [Heading(text("first.rows_release"))]
    for each in samples:
        if each["table"] is not None:
            blocks.append(Paragraph(Verbatim(each["table"]), "note"))
        rows = tuple(tuple(Verbatim(cell) for cell in row) for row in each["rows"])
        blocks.append(TableBlock(tuple(Verbatim(name) for name in each["columns"]), rows))
        counts = {"rows": len(each["rows"]), "all": plural(each["of"], "row")}
        further = plural(each["further"], "further column")
        note = text("first.sample_cut" if each["further"] else "first.sample", **counts, columns=further)
        blocks.append(Paragraph(note, "note"))
    return blocks
