"""The section on masking steps: methods, columns, losses and remaining risks."""

from __future__ import annotations

from typing import Any

from veil.base.wording import joined
from veil.report.pages.blocks import (
    Block,
    Heading,
    Paragraph,
    Row,
    Verbatim,
    list_names,
    number,
    percent,
    spell_parameter,
    table,
)
from veil.report.pages.first import attack
from veil.report.texts import methods_in_order, text


def summarize(facts: dict[str, Any]) -> str:
    """Summarize a mask in a few sentences."""
    summary, steps = facts["summary"], facts["asked"]["steps"]
    methods = methods_in_order([step["kind"] for step in steps])
    masked = text("mask.masked", count=summary["records"], released=summary["released_rows"], methods=methods)
    promises = joined((each["promise"] for each in facts["verification"]), "; ")
    fulfilled = text("summary.fulfilled", promises=promises) if promises else text("mask.no_guarantee")
    return joined([masked, fulfilled])


def request(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the methods with their parameters and figures."""
    steps = [(str(at), step) for at, step in enumerate(facts["asked"]["steps"], 1)]
    blocks: list[Block] = [
        Paragraph(text("mask.methods_asked")),
        table(
            "mask.step method what_it_does common.defends_against",
            (
                (at, step["kind"], step["definition"], joined(map(attack, step["attacks"]), ", ") or "–")
                for at, step in steps
            ),
        ),
        Heading(text("common.their_parameters")),
        table(
            "mask.step common.columns mask.parameters",
            (
                (at, list_names(step["columns"], 60) or "–", _spell_parameters(step["parameters"]))
                for at, step in steps
            ),
        ),
    ]
    figures = [row for at, step in steps if "figures" in step for row in _figures(at, step)]
    if figures and not facts["private"]:
        blocks += [
            Heading(text("mask.each_step_cost")),
            table(
                "mask.step common.column mask.changed_cells linked_by_distance smallest_group unique_records",
                figures,
            ),
            Paragraph(text("mask.linkage_explained"), "note"),
        ]
    facts_of = [
        (at, name, number(value) if isinstance(value, int | float) else value)
        for at, step in steps
        for name, value in step["facts"].items()
    ]
    if facts_of and not facts["private"]:
        blocks += [Heading(text("mask.facts_about_run")), table("mask.step fact common.value", facts_of)]
    quasi_identifiers = facts["asked"]["roles"].get("quasi-identifying", [])
    blocks.append(Paragraph(text("mask.attacker_knows", columns=list_names(quasi_identifiers, 60)), "note"))
    return tuple(blocks)


def _spell_parameters(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {spell_parameter(value)}" for name, value in parameters.items()) or "–"


def _figures(at: str, step: dict[str, Any]) -> list[Row]:
    """Return the loss and the risk of a step, in a row for each changed column."""
    figures = step["figures"]
    changed = list(figures["changed"].items())[:6]
    columns = [(Verbatim(name), percent(share)) for name, share in changed] or [(Verbatim("–"), "–")]
    together = (
        " / ".join(percent(each) for each in figures["linked"]),
        " → ".join(number(each) for each in figures["smallest_class"]),
        " → ".join(percent(each) for each in figures["uniques"]),
    )
    first, *others = columns
    return [(at, *first, *together), *(("", *each, "", "", "") for each in others)]
