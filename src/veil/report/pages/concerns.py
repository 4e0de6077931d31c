"""Concerns to know before signing, which no guarantee covers, and how to fix or accept them."""

from __future__ import annotations

import shlex
from typing import Any

from veil.report.pages.blocks import Block, Cell, Heading, Paragraph, TableBlock, Verbatim, cut, note_on


def concerns(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the concerns that no model judges: first the open, then the acknowledged ones."""
    entries = facts["concerns"]
    if not entries:
        return (Paragraph(_NOTHING_PROMISED if facts["asked"]["steps"] else f"{_COVERED} {_NO_CONCERN}"),)
    blocks: list[Block] = [Paragraph(_OF_A_MASK if facts["asked"]["steps"] else f"{_COVERED} {_CONCERNS}")]
    for acknowledged, title in ((False, "Open"), (True, "Acknowledged")):
        rows: list[tuple[str | Cell, ...]] = [
            (Cell(each["kind"], "" if acknowledged else "bad"), each["statement"], each["step"])
            for each in entries
            if each["acknowledged"] == acknowledged
        ]
        if rows:
            blocks += [
                Heading(title),
                TableBlock(("", "What was found", "How to fix it"), cut(rows)),
                *note_on(rows),
            ]
    if open_ones := [each["key"] for each in entries if not each["acknowledged"]]:
        key = open_ones[0]
        blocks += [
            Paragraph(
                "Concerns that are known and accepted can be acknowledged; this report and the certificate then say so.",
                "note",
            ),
            TableBlock(
                ("", ""),
                (
                    ("In Python", Verbatim(f"release.acknowledge({key!r})")),
                    ("In a recipe", Verbatim(f"acknowledge: [{key!r}]")),
                    ("On the command line", Verbatim(f"--acknowledge {shlex.quote(key)}")),
                ),
            ),
        ]
    return tuple(blocks)


_COVERED = (
    "The guarantees cover the columns that the plan calls quasi-identifying or sensitive, and nothing else."
)
_CONCERNS = "The following was found as well, and no guarantee covers it."
_NO_CONCERN = (
    "Apart from that, nothing was found: no published column is nearly unique or reveals another, there are no contact "
    "data and no free text, every sensitive column has a model, and the rows are in random order."
)
_OF_A_MASK = "The following was found on the masked table, and nothing that the methods promise covers it."
_NOTHING_PROMISED = (
    "Apart from the columns that were masked, nothing was found: no published column is nearly unique or reveals another, and "
    "there are no contact data and no free text."
)
