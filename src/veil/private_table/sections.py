"""The report of a private table, or of one that is not private: declarations, privacy loss and proof.

It is computed from the declarations and the published table alone, not from the confidential data.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from veil.private_table.release.result import PrivateTable
from veil.report.content.facts import versions
from veil.report.pages.blocks import Block, Cell, Paragraph, Section, TableBlock
from veil.report.pages.html import page
from veil.report.pages.pdf import bind
from veil.report.write import kind_of
from veil.tables import atomic
from veil.tables.spelling import spell_person

TITLE = "Report of a private table"
NOT_PRIVATE = "NOT PRIVATE"


def write_private_report(table: PrivateTable, path: Path) -> Path:
    """Write the report as HTML, PDF or JSON, by the ending of the name."""
    kind = kind_of(path)
    facts = private_facts(table)
    if kind == ".json":
        content = (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode()
    elif kind == ".pdf":
        content = bind(_sections(table), facts, title=TITLE)
    else:
        content = page(_sections(table), facts, title=TITLE).encode()
    with atomic(path) as temporary:
        temporary.write_bytes(content)
    return path


def private_facts(table: PrivateTable) -> dict[str, Any]:
    """Return the content of the report as plain data."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "is_private": table.is_private,
        "method": table.method,
        "loss": str(table.loss),
        "neighbours": table.neighbours,
        "person": table.unit.person and spell_person(table.unit.person),
        "rows_per_person": table.unit.rows,
        "whose": table.whose,
        "left": table.budget,
        "rows": table.records,
        "columns": dict(table.declared),
        "proof": table.proof,
        "notes": list(table.notes),
    }


_HIDDEN = {
    "one more or less": "whether any one person is in the table",
    "one changed": "what any one person has in it; the number of people is public",
}


def _sections(table: PrivateTable) -> list[Section]:
    if table.is_private:
        hidden = _HIDDEN[table.neighbours]
        verdict: Block = Paragraph(
            f"The table is differentially private as a whole: {table.loss}. It hides {hidden}.", "lead"
        )
    else:
        verdict = Paragraph(
            f"{NOT_PRIVATE}. This table must not be given away as a private one. {table.proof}", "notice"
        )
    rows = (
        ("differentially private", Cell("yes", "good") if table.is_private else Cell(NOT_PRIVATE, "bad")),
        ("method", table.method),
        ("privacy loss", str(table.loss)),
        ("neighbours", table.neighbours),
        ("whose rows", table.whose),
        ("left of the budget", table.budget or "no budget was given"),
        ("rows", f"{table.records:,}"),
    )
    about = "Bounds and domains were given by whoever made the table, and have to be public knowledge."
    columns = TableBlock(("column", "declared"), tuple(table.declared.items()))
    why = "Why it holds" if table.is_private else "Why it does not hold"
    notes = tuple(map(Paragraph, table.notes or ("Nothing to add.",)))
    return [
        Section("summary", "Summary", (verdict, TableBlock(("", ""), rows))),
        Section("declared", "What was known without the data", (Paragraph(about), columns)),
        Section("proof", why, (Paragraph(table.proof),)),
        Section("notes", "Before you use it", notes),
    ]
