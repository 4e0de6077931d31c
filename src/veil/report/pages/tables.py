"""The section on several tables."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import Block, Paragraph, TableBlock, Verbatim, number


def linked_tables(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the input and the output of each table."""
    return (
        Paragraph(
            "These tables are about the same people, and were anonymized together. An attacker is assumed to know the "
            "quasi-identifiers of all rows of a person in all tables; a person is suppressed in all tables or in none."
        ),
        TableBlock(
            ("Table", "Rows in the input", "Rows released", "Columns released", "SHA-256 of the content"),
            tuple(
                (
                    Verbatim(each["name"]),
                    number(each["rows_in"]),
                    number(each["rows"]),
                    Verbatim(", ".join(each["columns"])),
                    each["sha256"],
                )
                for each in facts["tables"]
            ),
            right=(1, 2),
        ),
    )
