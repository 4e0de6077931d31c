"""The section on alternatives: what a release lost most by, and what would keep more."""

from __future__ import annotations

import re
from typing import Any

from veil.report.pages.blocks import Block, Cell, Paragraph, TableBlock, Verbatim, list_names, number, percent

_WITHHELD = (
    "Which column or parameter costs most is not in this report, as it would depend on sensitive values of suppressed "
    "records. The data holder finds out with veil explore recipe.yaml, or in Python with release.advice()."
)

MOST_COLUMNS = 6
"""Columns of which each alternative tells what it keeps: those of which the release keeps least."""


def alternatives(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Put the advice into words; nothing where there is none to give."""
    advice = facts["advice"]
    if advice is None:
        return ()
    if "withheld" in advice:
        return (Paragraph(f"Little is left of {list_names(advice['poor'])}."), Paragraph(_WITHHELD))
    released, costs = advice["released"], advice["costs"]
    blocks: list[Block] = []
    tried = " Other releases of the same table were tried out:" if advice["alternatives"] else ""
    if advice["poor"]:
        blocks.append(Paragraph(f"Little is left of {list_names(advice['poor'])}.{tried}"))
    if costs:
        name, gain = next(iter(costs.items()))
        blocks.append(
            Paragraph(
                f"Column {name!r} costs most: if it were given up, the others would keep {percent(gain)} more on average."
            )
        )
    same = [each for each in advice["alternatives"] if not each["promises_less"]]
    if same and _average(same[0]) > _average(released):
        blocks.append(
            Paragraph(
                f"Most would help: {same[0]['what']}. Columns would then keep {percent(_average(same[0]))} on average, "
                f"instead of {percent(_average(released))}."
            )
        )
    late = Paragraph("There was no time for more; release.advice(time_limit=…) tries longer.", "note")
    if not advice["alternatives"]:
        return (*blocks, *([] if advice["complete"] else [late]))
    shown = sorted(released["kept"], key=released["kept"].__getitem__)[:MOST_COLUMNS]
    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(each["what"], "good") if each is released else _named(each, facts),
            percent(_average(each)),
            *(percent(each["kept"].get(name, 0.0)) for name in shown),
            number(each["suppressed"]),
        )
        for each in (released, *advice["alternatives"])
    ]
    headings = ("", "Kept on average", *map(Verbatim, shown), "Suppressed")
    blocks += [
        TableBlock(headings, tuple(rows), right=tuple(range(1, len(headings)))),
        Paragraph(
            "How much columns keep, from 0 % (nothing) to 100 % (all); suppressed records keep nothing. Each alternative was "
            "verified like the release; release.advice() says how to get it.",
            "note",
        ),
    ]
    if not advice["complete"]:
        blocks.append(late)
    return tuple(blocks)


def _named(alternative: dict[str, Any], facts: dict[str, Any]) -> str:
    """Name an alternative; where it drops or weakens a model, by what that model promises."""
    what: str = alternative["what"]
    if found := _WEAKER.fullmatch(what):
        what = f"{found[1]}-anonymity instead of {found[2]}-anonymity"
    else:
        dropped = what.removeprefix("without ").split("(", 1)[0]
        told = [each["promise"] for each in facts["asked"]["models"] if each["kind"] == dropped]
        what = f"without {told[0]}" if what.startswith("without ") and len(told) == 1 else what
    return f"{what} (promises less)" if alternative["promises_less"] else what


_WEAKER = re.compile(r"with KAnonymity\(k=(\d+)\) instead of KAnonymity\(k=(\d+)\)")


def _average(alternative: dict[str, Any]) -> float:
    kept: dict[str, float] = alternative["kept"]
    return sum(kept.values()) / max(1, len(kept))
