"""The section on masking steps: methods, columns, losses and remaining risks."""

from __future__ import annotations

from typing import Any

from veil.base.wording import plural
from veil.report.pages.blocks import (
    Block,
    Cell,
    Heading,
    Paragraph,
    TableBlock,
    Verbatim,
    list_names,
    number,
    percent,
    spell_parameter,
)
from veil.report.pages.first import attack


def summarize(facts: dict[str, Any]) -> str:
    """Summarize a mask in a few sentences."""
    summary, steps = facts["summary"], facts["asked"]["steps"]
    text = f"Of {plural(summary['records'], 'record')}, {summary['released_rows']:,} are released, masked by "
    text += ", then ".join(step["kind"] for step in steps) + ". "
    promises = "; ".join(each["promise"] for each in facts["verification"])
    return text + (
        f"The released table fulfils: {promises}." if promises else "The methods give no guarantee."
    )


def request(facts: dict[str, Any]) -> tuple[Block, ...]:
    """Return the methods with their parameters and figures."""
    steps = facts["asked"]["steps"]
    blocks: list[Block] = [
        Paragraph("The table was to be masked by the following methods, one after the other."),
        TableBlock(
            ("Step", "Method", "What it does", "Defends against"),
            tuple(
                (str(at), step["kind"], step["definition"], ", ".join(map(attack, step["attacks"])) or "–")
                for at, step in enumerate(steps, 1)
            ),
        ),
        Heading("Their parameters"),
        TableBlock(
            ("Step", "Columns", "Parameters"),
            tuple(
                (
                    str(at),
                    Verbatim(list_names(step["columns"], 60) or "–"),
                    _spell_parameters(step["parameters"]),
                )
                for at, step in enumerate(steps, 1)
            ),
        ),
    ]
    figures = [row for at, step in enumerate(steps, 1) if "figures" in step for row in _figures(at, step)]
    if figures and not facts["private"]:
        blocks += [
            Heading("What each step cost and still reveals"),
            TableBlock(
                ("Step", "Column", "Changed cells", "Linked by distance", "Smallest group", "Unique records"),
                tuple(figures),
            ),
            Paragraph(
                "Linked by distance: share of the records whose nearest record on the other side, over the columns that "
                "were changed, is the right one; first from the input, then from the output.",
                "note",
            ),
        ]
    facts_of = [
        (str(at), name, number(value) if isinstance(value, int | float) else value)
        for at, step in enumerate(steps, 1)
        for name, value in step["facts"].items()
    ]
    if facts_of and not facts["private"]:
        blocks += [Heading("Facts about the run"), TableBlock(("Step", "Fact", "Value"), tuple(facts_of))]
    quasi_identifiers = facts["asked"]["roles"].get("quasi-identifying", [])
    blocks.append(
        Paragraph(
            f"Risks assume an attacker who knows these columns about a person: {list_names(quasi_identifiers, 60)}.",
            "note",
        )
    )
    return tuple(blocks)


def _spell_parameters(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {spell_parameter(value)}" for name, value in parameters.items()) or "–"


def _figures(at: int, step: dict[str, Any]) -> list[tuple[str | Cell, ...]]:
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
    return [(str(at), *first, *together), *(("", *each, "", "", "") for each in others)]
