"""How results look in a notebook: small HTML tables, with everything from a table escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from veil.base.html import html_table
from veil.base.wording import plural
from veil.report.pages.blocks import percent

if TYPE_CHECKING:
    from veil.api.face import Anonymized

HEAD = 5
"""Rows of the table that are shown."""

MOST_COLUMNS = 20
"""Columns that are shown."""


def html_release(release: Anonymized) -> str:
    """Return what was done, what holds, what risk remains, and the first rows of the released table."""
    from veil.report.content.facts import done_to

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
