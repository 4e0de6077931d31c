"""Concerns to know before signing, which no guarantee covers, and how to fix or accept them."""

from __future__ import annotations

import shlex
from typing import Any

from veil.report.pages.blocks import Block, Cell, Heading, Paragraph, Row, TableBlock, Verbatim, long_table
from veil.report.pages.first import has_only_masks
from veil.report.texts import text, texts


def concerns(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the concerns that no model judges: first the open, then the acknowledged ones."""
    entries = facts["concerns"]
    of = "masks" if has_only_masks(facts) else "plan"
    blocks: list[Block] = [Paragraph(text(f"concerns.{of}_{'some' if entries else 'nothing'}"))]
    for acknowledged, title in enumerate(texts("concerns.open acknowledged")):
        rows: list[Row] = [
            (Cell(each["kind"], "" if acknowledged else "bad"), each["statement"], each["step"])
            for each in entries
            if each["acknowledged"] == acknowledged
        ]
        if rows:
            blocks += [Heading(title), *long_table(("", *texts("concerns.what_was_found how_fix")), rows)]
    if key := next((each["key"] for each in entries if not each["acknowledged"]), None):
        blocks += [
            Paragraph(text("concerns.how_to_acknowledge"), "note"),
            TableBlock(
                ("", ""),
                (
                    (text("concerns.in_python"), Verbatim(f"release.acknowledge({key!r})")),
                    (text("common.in_a_recipe"), Verbatim(f"acknowledge: [{key!r}]")),
                    (text("concerns.command_line"), Verbatim(f"--acknowledge {shlex.quote(key)}")),
                ),
            ),
        ]
    return tuple(blocks)
