"""The sections on repeating and checking a release: versions, recipe and certificate."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from veil.base.wording import joined, plural
from veil.report.content.withheld import withholds_part
from veil.report.pages.blocks import Block, Code, Heading, Paragraph, Row, TableBlock, Verbatim, day
from veil.report.pages.first import has_only_masks
from veil.report.texts import text, texts


def repetition(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the input, the versions and the recipe."""
    rows: list[Row] = []
    source = facts["input"]
    if source is not None:
        if "file" in source:
            rows.append((text("again.input_file"), Verbatim(source["file"])))
        if source.get("file_sha256"):
            rows.append((text("again.sha256_of_file"), source["file_sha256"]))
        rows.append((text("again.input"), _size(source)))
        if source.get("sha256"):
            rows.append((text("again.sha256_of_input"), source["sha256"]))
    out = facts["output"]
    name = "again.released_tables" if facts["tables"] else "again.released_table"
    rows.append((text(name, count=len(facts["tables"])), _size(out)))
    rows.append((text("again.sha256_of_release"), out["sha256"] or text("common.sha256_not_computed")))
    request = facts["asked"]
    if not has_only_masks(facts) and facts["statement"] is None:
        parameters = [
            text(f"again.{name}", value=request[name])
            for name in ("strategy", "time_limit", "check_limit")
            if request[name] is not None
        ]
        rows.append((text("again.search"), joined(parameters, ", ")))
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    rows.append((text("again.made_with"), versions))
    rows.append((text("again.date"), Verbatim(day(facts["date"]))))
    return (
        TableBlock(("", ""), tuple(rows)),
        Heading(text("again.recipe")),
        *(Paragraph(note, "note") for note in _notes_on_recipe(facts)),
        Code(facts["recipe_text"]),
    )


def _size(table: dict[str, Any]) -> str:
    return joined([plural(table["rows"], "row"), plural(table["columns"], "column")], ", ")


def _notes_on_recipe(facts: dict[str, Any]) -> Iterator[str]:
    """Yield how to run the recipe again, and what has to be put back before."""
    yield text("again.put_back" if withholds_part(facts["recipe"]) else "again.run_again")
    if "apart" in facts["recipe"]:
        yield text("again.folders")
    if _is_pdf(facts):
        yield text("again.indented")


def _is_pdf(facts: dict[str, Any]) -> bool:
    return (facts.get("report") or "").lower().endswith(".pdf")


def certificate(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return how recipients check the table."""
    report, holder = facts.get("report") or "report.html", facts.get("certificate_file")
    opening = "certificate.beside"
    if holder is None and _is_pdf(facts):
        holder, opening = "certificate.json", "certificate.not_in_pdf"
    elif holder is None:
        holder, opening = report, "certificate.in_report"
    table = facts.get("table_file") or ("release" if facts["tables"] else "release.csv")
    tables, check = texts(
        "certificate.tables check_tables" if facts["tables"] else "certificate.table check_table"
    )
    if not facts["output"]["sha256"]:
        check = text("certificate.check_on_engine")
    signed = text("certificate.signed" if "signature" in facts["certificate"] else "certificate.not_signed")
    yes, no = texts("certificate.checkable not_checkable")
    rows = tuple(
        (each["promise"], each["found"] or "–", yes if each["checkable"] else no)
        for each in facts["certificate"]["found"]
    )
    return (
        Paragraph(text(opening, tables=tables, check=check)),
        Code(f"veil verify {shlex.quote(table)} --certificate {shlex.quote(holder)}"),
        TableBlock(texts("common.promise found certificate.checkable_alone"), rows)
        if rows
        else Paragraph(text("certificate.no_promise")),
        Paragraph(joined([signed, text("certificate.who_gets_it")]), "note"),
    )
