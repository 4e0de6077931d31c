"""The sections on repeating and checking a release: versions, recipe and certificate."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from veil.base.wording import plural
from veil.report.pages.blocks import Block, Cell, Code, Heading, Paragraph, TableBlock, Verbatim, day


def repetition(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the input, the versions and the recipe."""
    rows: list[tuple[str | Cell, ...]] = []
    source = facts["input"]
    if source is not None:
        if "file" in source:
            rows.append(("Input file", Verbatim(source["file"])))
        if source.get("file_sha256"):
            rows.append(("SHA-256 of the input file", source["file_sha256"]))
        rows.append(("Input", f"{plural(source['rows'], 'row')}, {plural(source['columns'], 'column')}"))
        if source.get("sha256"):
            rows.append(("SHA-256 of the content of the input", source["sha256"]))
    out = facts["output"]
    release = f"Released {plural(len(facts['tables']), 'table')}" if facts["tables"] else "Released table"
    rows.append((release, f"{plural(out['rows'], 'row')}, {plural(out['columns'], 'column')}"))
    rows.append(
        ("SHA-256 of the content of the release", out["sha256"] or "not computed: an engine holds it")
    )
    request = facts["asked"]
    if not request["steps"] and facts["statement"] is None:
        limits = [
            f"{name.replace('_', ' ')} {request[name]:,}"
            for name in ("time_limit", "check_limit")
            if request[name] is not None
        ]
        rows.append(("Search", ", ".join([f"strategy {request['strategy']}", *limits])))
    rows.append(("Made with", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())))
    rows.append(("Date", Verbatim(day(facts["date"]))))
    return (
        TableBlock(("", ""), tuple(rows)),
        Heading("Recipe"),
        Paragraph(_withheld(facts) or _RUN_AGAIN.format("mask" if request["steps"] else "anonymize"), "note"),
        *([Paragraph(_FOLDERS, "note")] if "apart" in facts["recipe"] else []),
        *([Paragraph(_INDENTED, "note")] if _is_pdf(facts) else []),
        Code(facts["recipe_text"]),
    )


_RUN_AGAIN = (
    "To do it again, save this as recipe.yaml in the folder that its paths start from: veil {} recipe.yaml"
)
_FOLDERS = "The folders “release” and “kept” have to be there; what turns pseudonyms back goes into “kept”."
_INDENTED = "Copied out of a PDF, lines may lose their indentation: put back what you see here."
_PUT_BACK = (
    "The plan as a recipe file. It lists original values (hierarchies written down value by value, research subsets), "
    "which are withheld here and replaced by their number: put them back in to do it again."
)


def _is_pdf(facts: dict[str, Any]) -> bool:
    return (facts.get("report") or "").lower().endswith(".pdf")


def _withheld(facts: dict[str, Any]) -> str | None:
    """Return a note if the recipe withholds values."""
    return _PUT_BACK if _names_withheld(facts["recipe"]) else None


def _names_withheld(data: Any) -> bool:
    if isinstance(data, Mapping):
        return "withheld" in data or any(map(_names_withheld, data.values()))
    return isinstance(data, list | tuple) and any(map(_names_withheld, data))


_NO_PROMISE = "No promise can be checked on the table alone, so that the certificate shows only whether it is this table."


def certificate(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return how recipients check the table."""
    what = (
        "check that they have the right table, and verify the guarantees on it again:"
        if facts["output"]["sha256"]
        else "verify the guarantees on it again. An engine holds the table, so there is no fingerprint of its content: "
        "only the number of rows and the names of the columns show whether it is this table."
    )
    report, holder = facts.get("report") or "report.html", facts.get("certificate_file")
    opening = "A certificate was written along with this report,"
    if holder is None and _is_pdf(facts):
        holder = "certificate.json"
        opening = (
            'A PDF contains no certificate. Write one with release.certificate("certificate.json") or, on the command line, '
            "with --certificate certificate.json,"
        )
    elif holder is None:
        holder, opening = report, "This report contains a certificate"
    table = facts.get("table_file") or ("release" if facts["tables"] else "release.csv")
    whole = "released tables" if facts["tables"] else "released table"
    rows = tuple(
        (
            each["promise"],
            each["found"] or "–",
            "yes" if each["checkable"] else "no: that takes more than the table",
        )
        for each in facts["certificate"]["found"]
    )
    return (
        Paragraph(f"{opening} by which anybody who has the {whole} can {what}"),
        Code(f"veil verify {shlex.quote(table)} --certificate {shlex.quote(holder)}"),
        TableBlock(("Promise", "Found", "Checkable on the table alone"), rows)
        if rows
        else Paragraph(_NO_PROMISE),
        Paragraph(
            (
                "It is signed. "
                if "signature" in facts["certificate"]
                else "It is not signed, so it does not prove who made it. "
            )
            + "Give recipients the certificate, not this report.",
            "note",
        ),
    )
