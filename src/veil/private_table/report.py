"""The report of a private table, or of one that is not private: declarations, privacy loss and proof.

It is computed from the declarations and the published table alone, not from the confidential data.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from veil.private_table.release import PrivateTable
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
        content = bind(_sections(facts), facts, title=TITLE)
    else:
        content = page(_sections(facts), facts, title=TITLE).encode()
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


def _sections(facts: dict[str, Any]) -> list[Section]:
    hidden = {
        "one more or less": "whether any one person is in the table",
        "one changed": "what any one person has in it; the number of people is public",
    }[facts["neighbours"]]
    if facts["is_private"]:
        verdict: Block = Paragraph(
            f"The table is differentially private as a whole: {facts['loss']}. It hides {hidden}.", "lead"
        )
    else:
        verdict = Paragraph(
            f"{NOT_PRIVATE}. This table must not be given away as a private one. {facts['proof']}", "notice"
        )
    rows = (
        ("differentially private", Cell("yes", "good") if facts["is_private"] else Cell(NOT_PRIVATE, "bad")),
        ("method", facts["method"]),
        ("privacy loss", facts["loss"]),
        ("neighbours", facts["neighbours"]),
        ("whose rows", facts["whose"]),
        ("left of the budget", facts["left"] or "no budget was given"),
        ("rows", f"{facts['rows']:,}"),
    )
    columns = tuple(facts["columns"].items())
    return [
        Section("summary", "Summary", (verdict, TableBlock(("", ""), rows))),
        Section(
            "declared",
            "What was known without the data",
            (
                Paragraph(
                    "Bounds and domains were given by whoever made the table, and have to be public knowledge."
                ),
                TableBlock(("column", "declared"), columns),
            ),
        ),
        Section(
            "proof",
            "Why it holds" if facts["is_private"] else "Why it does not hold",
            (Paragraph(facts["proof"]),),
        ),
        Section("notes", "Before you use it", tuple(map(Paragraph, facts["notes"] or ("Nothing to add.",)))),
    ]
