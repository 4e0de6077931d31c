"""The section on several tables."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import Block, Paragraph, Verbatim, number, table
from veil.report.texts import text


def linked_tables(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the input and the output of each table."""
    return (
        Paragraph(text("tables.about_the_same_people")),
        table(
            "tables.table tables.rows_input tables.rows_released tables.columns_released tables.sha256_of_content",
            (
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
