"""The section on privacy policies: requirements, records left out, and how the requirements were met."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import Block, Cell, Heading, Paragraph, TableBlock, cut, note_on, number


def account_of_policies(account: dict[str, Any]) -> tuple[Block, ...]:
    """Return the account of policies as blocks."""
    blocks: list[Block] = [
        Paragraph(
            f"{account['recipient']} asked for the purpose “{account['purpose']}” on {account['on']}. "
            f"{number(account['used'])} of {number(account['records'])} records could be used, under "
            f"{number(account['policies'])} policies. Everything that any of them asks was checked on the released table."
        )
    ]
    if account["left_out"]:
        blocks += [Heading("Records that were left out")]
        blocks += _grid(
            ("Reason", "Records"), [(why, number(count)) for why, count in account["left_out"].items()]
        )
    if account["asked"]:
        blocks += [Heading("What was asked")]
        blocks += _grid(
            ("Requirement", "Records whose policy asks it"),
            [(what, number(n)) for what, n in account["asked"]],
        )
    if account["withheld"]:
        blocks += [Heading("Cells that a person's own policy withholds")]
        blocks += _grid(("Column", "Records"), [(name, number(n)) for name, n in account["withheld"].items()])
    if account["coarser"]:
        blocks += [Heading("Cells that a person's own policy made coarser")]
        blocks += _grid(("Column", "Records"), [(name, number(n)) for name, n in account["coarser"].items()])
    if account["substituted"]:
        blocks += [
            Heading("What was searched for"),
            Paragraph("A smallest set of requirements, from which the others are proven to follow:"),
            *(Paragraph(line.strip()) for line in account["substituted"]),
        ]
    blocks += [Paragraph(note) for note in account["notes"]]
    return tuple(blocks)


def _grid(headings: tuple[str, ...], rows: list[tuple[str | Cell, ...]]) -> list[Block]:
    return [TableBlock(headings, cut(rows)), *note_on(rows)]
