"""The section on alternatives: the costliest column, and releases that would keep more."""

from __future__ import annotations

from typing import Any

from veil.report.pages.blocks import (
    Block,
    Cell,
    Paragraph,
    Row,
    TableBlock,
    Verbatim,
    list_names,
    number,
    percent,
)
from veil.report.texts import text

MOST_COLUMNS = 6
"""Columns in the table of alternatives: those of which the release keeps least."""


def alternatives(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the advice as blocks; none if there is no advice."""
    advice = facts["advice"]
    if advice is None:
        return ()
    if "withheld" in advice:
        return (Paragraph(_little_left(advice)), Paragraph(text("advice.withheld")))
    release, costs = advice["released"], advice["costs"]
    blocks: list[Block] = []
    if advice["poor"]:
        blocks.append(Paragraph(_little_left(advice)))
    if costs:
        name, gain = next(iter(costs.items()))
        blocks.append(Paragraph(text("advice.column_costs_most", column=name, gain=percent(gain))))
    same = [each for each in advice["alternatives"] if not each["promises_less"]]
    if same and _average(same[0]) > _average(release):
        averages = {"then": percent(_average(same[0])), "now": percent(_average(release))}
        blocks.append(Paragraph(text("advice.most_would_help", what=same[0]["what"], **averages)))
    late = Paragraph(text("advice.late"), "note")
    if not advice["alternatives"]:
        return (*blocks, *([] if advice["complete"] else [late]))
    columns = sorted(release["kept"], key=release["kept"].__getitem__)[:MOST_COLUMNS]
    rows: list[Row] = [
        (
            Cell(each["what"], "good") if each is release else _name_of(each, facts),
            percent(_average(each)),
            *(percent(each["kept"].get(name, 0.0)) for name in columns),
            number(each["suppressed"]),
        )
        for each in (release, *advice["alternatives"])
    ]
    headings = ("", text("advice.kept_on_average"), *map(Verbatim, columns), text("common.suppressed"))
    blocks += [
        TableBlock(headings, tuple(rows), right=tuple(range(1, len(headings)))),
        Paragraph(text("advice.how_much_columns"), "note"),
    ]
    if not advice["complete"]:
        blocks.append(late)
    return tuple(blocks)


def _name_of(alternative: dict[str, Any], facts: dict[str, Any]) -> str:
    """Return the name of an alternative; if it drops or weakens a model, by the promise of the model."""
    what: str = alternative["what"]
    values = getattr(what, "values", {})
    if "weaker" in values:
        what = text("advice.weaker_k", weaker=values["weaker"].k, k=values["model"].k)
    elif "model" in values:
        kind = type(values["model"]).__name__
        promises = [each["promise"] for each in facts["asked"]["models"] if each["kind"] == kind]
        what = text("advice.without", promise=promises[0]) if len(promises) == 1 else what
    return text("advice.promises_less", what=what) if alternative["promises_less"] else what


def _little_left(advice: dict[str, Any]) -> str:
    name = "advice.little_left_others_tried" if advice.get("alternatives") else "advice.little_left"
    return text(name, columns=list_names(advice["poor"]))


def _average(alternative: dict[str, Any]) -> float:
    shares: dict[str, float] = alternative["kept"]
    return sum(shares.values()) / max(1, len(shares))
