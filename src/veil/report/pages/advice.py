"""The section on alternatives: the costliest column, and releases that would keep more."""

from __future__ import annotations

import re
from typing import Any

from veil.report.pages.blocks import Block, Cell, Paragraph, TableBlock, Verbatim, list_names, number, percent

_WITHHELD = (
    "Which column or parameter costs most is not in this report, as it would depend on sensitive values of suppressed "
    "records. The data holder finds out with veil advise recipe.yaml, or in Python with release.advice()."
)

MOST_COLUMNS = 6
"""Columns in the table of alternatives: those of which the release keeps least."""


def alternatives(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the advice as blocks; none if there is no advice."""
    advice = facts["advice"]
    if advice is None:
        return ()
    if "withheld" in advice:
        return (Paragraph(f"Little is left of {list_names(advice['poor'])}."), Paragraph(_WITHHELD))
    release, costs = advice["released"], advice["costs"]
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
    if same and _average(same[0]) > _average(release):
        blocks.append(
            Paragraph(
                f"Most would help: {same[0]['what']}. Columns would then keep {percent(_average(same[0]))} on average, "
                f"instead of {percent(_average(release))}."
            )
        )
    late = Paragraph("There was no time for more; release.advice(time_limit=…) tries longer.", "note")
    if not advice["alternatives"]:
        return (*blocks, *([] if advice["complete"] else [late]))
    columns = sorted(release["kept"], key=release["kept"].__getitem__)[:MOST_COLUMNS]
    rows: list[tuple[str | Cell, ...]] = [
        (
            Cell(each["what"], "good") if each is release else _name_of(each, facts),
            percent(_average(each)),
            *(percent(each["kept"].get(name, 0.0)) for name in columns),
            number(each["suppressed"]),
        )
        for each in (release, *advice["alternatives"])
    ]
    headings = ("", "Kept on average", *map(Verbatim, columns), "Suppressed")
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


def _name_of(alternative: dict[str, Any], facts: dict[str, Any]) -> str:
    """Return the name of an alternative; if it drops or weakens a model, by the promise of the model."""
    what: str = alternative["what"]
    if match := _WEAKER.fullmatch(what):
        what = f"{match[1]}-anonymity instead of {match[2]}-anonymity"
    else:
        dropped = what.removeprefix("without ").split("(", 1)[0]
        promises = [each["promise"] for each in facts["asked"]["models"] if each["kind"] == dropped]
        what = f"without {promises[0]}" if what.startswith("without ") and len(promises) == 1 else what
    return f"{what} (promises less)" if alternative["promises_less"] else what


_WEAKER = re.compile(r"with KAnonymity\(k=(\d+)\) instead of KAnonymity\(k=(\d+)\)")


def _average(alternative: dict[str, Any]) -> float:
    shares: dict[str, float] = alternative["kept"]
    return sum(shares.values()) / max(1, len(shares))
