"""The section on privacy policies: requirements, records left out, and how the requirements were met."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import Block, Heading, Paragraph, Row, Verbatim, long_table, number
from veil.report.texts import text, texts


def account_of_policies(account: dict[str, Any]) -> tuple[Block, ...]:
    """Return the account of policies as blocks."""
    figures = ("recipient", "purpose", "on", "used", "records", "policies")
    values = {name: _value(account[name]) for name in figures}
    blocks: list[Block] = [Paragraph(text("policies.account", **values))]
    for part, headings in _GRIDS.items():
        entries = dict(account[part]).items()
        if entries:
            rows: list[Row] = [(name, number(count)) for name, count in entries]
            blocks += [Heading(text(f"policies.{part}")), *long_table(texts(headings), rows)]
    if account["substituted"]:
        blocks += [
            Heading(text("policies.substituted")),
            Paragraph(text("policies.smallest_set")),
            *(Paragraph(line.strip()) for line in account["substituted"]),
        ]
    blocks += [Paragraph(note) for note in account["notes"]]
    return tuple(blocks)


def _value(value: Any) -> str:
    return number(value) if isinstance(value, int) else Verbatim(value)


_GRIDS = {
    "left_out": "policies.reason common.records",
    "asked": "policies.requirement records_of_requirement",
    "withheld": "common.column records",
    "coarser": "common.column records",
}
"""The tables of an account, with their headings."""
