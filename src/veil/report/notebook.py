"""How results look in a notebook: small HTML tables, with everything from a table escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from veil.report.blocks import percent
from veil.words import plural

if TYPE_CHECKING:
    from veil.anonymized import Anonymized
    from veil.api import Assessment
    from veil.verification import Verification

HEAD = 5
"""Rows of the table that are shown."""

MOST_COLUMNS = 20
"""Columns that are shown."""


def html_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> str:
    """Return an HTML table; a cell is shown as its text, whatever that is.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th style="text-align:left">a</th></tr></thead><tbody><tr><td style="text-align:left">&lt;b&gt;</td></tr></tbody></table>'
    """
    side = ' style="text-align:left"'
    head = "".join(f"<th{side}>{escape(str(each))}</th>" for each in headings)
    body = "".join(
        "<tr>"
        + "".join(f"<td{side}>{escape('·' if each is None else str(each))}</td>" for each in row)
        + "</tr>"
        for row in rows
    )
    caption = f"<p><b>{escape(title)}</b></p>" if title else ""
    top = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    return f"{caption}<table>{top}<tbody>{body}</tbody></table>"


def html_text(value: object) -> str:
    """Return what an object says of itself, as it would stand on a terminal."""
    return f"<pre>{escape(str(value))}</pre>"


def html_assessment(found: Assessment) -> str:
    """Return what a table fulfils already."""
    rows = [(each.model, each.attribute or "", str(each)) for each in found.strengths]
    return html_table(("Model", "Attribute", "Strongest parameter"), rows)


def html_verification(found: Verification) -> str:
    """Return every promise with what was found."""
    rows = [(each.promise, each.measured, "holds" if each.holds else "BROKEN") for each in found.findings]
    return html_table(("Promise", "Found", ""), rows)


def html_release(release: Anonymized) -> str:
    """Return what was done, what holds, what risk remains, and the first rows of the released table."""
    from veil.report.facts import done_to

    private = hasattr(release, "statement")
    done = [
        (
            each["column"],
            each["treatment"],
            each.get("level", ""),
            each.get("name", "") if each.get("level") else "",
        )
        for each in done_to(release, private)["columns"][:MOST_COLUMNS]
    ]
    models = release.verification.findings[: len(release.plan.models)]
    promises = [(each.promise, each.measured, "holds" if each.holds else "BROKEN") for each in models]
    _, after = release.risk()
    risks = [
        ("highest risk of a record", percent(after.highest)),
        ("average risk", percent(after.average)),
        ("unique records", percent(after.uniques)),
        ("classes", f"{after.classes:,}"),
    ]
    table = release.arrow
    shown = table.select(table.column_names[:MOST_COLUMNS]).slice(0, HEAD)
    rows = [list(row.values()) for row in shown.to_pylist()]
    if private:
        head = f"{plural(table.num_rows, 'row')} released privately"
    else:
        head = f"{plural(release.records, 'record')}, {release.suppressed:,} suppressed"
    return (
        f"<h4>{escape(type(release).__name__)}: {head}</h4>"
        + html_table(("Column", "Treatment", "Level", "Name"), done, "What was done")
        + html_table(("Promise", "Found", ""), promises, "Guarantees")
        + html_table(("", ""), risks, "Risks of the released table")
        + html_table(shown.column_names, rows, f"First rows of {table.num_rows:,}")
    )
