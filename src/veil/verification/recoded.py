"""The check of a table whose records have levels of their own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase, Verbatim, plural
from veil.outcome.outcome import Outcome
from veil.outcome.result import RecodedPart
from veil.plan.plan import Plan
from veil.published.blank import shows_nothing
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.tables.arrow import decode_column
from veil.tables.columns import encode_values
from veil.tables.rows import Rows
from veil.verification.aggregates import verify_aggregates
from veil.verification.items import verify_items
from veil.verification.release import (
    GeneralizedColumn,
    each_once,
    labels_at,
    rows_of,
    same_cells,
    verify_links,
    verify_lost_rows,
    verify_model,
    verify_roles,
    verify_suppressed,
)

Mask = NDArray[np.bool_]

MOST_PARTS = 20
"""Parts up to which the levels of each have a finding of their own."""


def verify_models_by_part(outcome: Outcome) -> list[Finding]:
    """Check each privacy model on the whole output, or part by part where it reads levels."""
    before = _rows_before(outcome)
    published = _with_input(outcome, before)
    findings = []
    for model in outcome.models:
        parts = outcome.parts if model.reads == "levels" else ()
        each = (_part_of(outcome, part, before) for part in parts if part.rows.size)
        findings.append(verify_model(published, model, each))
    return findings


def _with_input(outcome: Outcome, before: Rows) -> Published:
    """Return the published output, with the original values that models compare it with."""
    return Published(
        before.showing(outcome.table, outcome.origins),
        outcome.quasi_identifiers,
        marker=outcome.marker,
        flag=outcome.flag,
        suppressed=outcome.blank_rows,
        baseline=before,
    )


def _rows_before(outcome: Outcome) -> Rows:
    return rows_of(outcome.original, outcome.searched.rows.weights, outcome.searched.plan)


def _part_of(outcome: Outcome, part: RecodedPart, before: Rows) -> Published:
    names = outcome.searched.encoding.names
    return Published(
        before.showing(outcome.pick(part.rows), part.rows),
        names,
        marker=outcome.marker,
        hierarchies=outcome.hierarchies,
        levels=dict(zip(names, part.levels, strict=True)),
        suppressed="none",
    )


def verify_recoded(outcome: Outcome, allowed: int | None) -> Verification:
    """Check the models on the whole output, and every cell against the input and the levels of its row.

    `allowed` is the limit of suppressed records, or of people who lose one; None if exceeded knowingly.
    """
    prepared, suppressed_mask, plan = outcome.searched, outcome.suppressed_mask, outcome.searched.plan
    shape, roles = _verify_columns(outcome), verify_roles(outcome.table, plan)
    if not shape.holds:
        return Verification((shape, *roles))
    rows = _verify_rows(outcome)
    if not rows.holds:
        return Verification((*roles, shape, rows))
    findings = [*verify_models_by_part(outcome), *roles, shape, rows, *_verify_cells(outcome)]
    blank_mask = suppressed_mask[outcome.origins]
    findings += verify_links(outcome.original, outcome.table, plan, outcome.link, blank_mask)
    before = _rows_before(outcome)
    if not before.owners.are_records:
        findings += verify_lost_rows(before, suppressed_mask, allowed)
    elif allowed is not None:
        findings.append(verify_suppressed(prepared.records(suppressed_mask), allowed))
    return Verification(tuple(findings), plan.recoding.by_construction)


def _verify_rows(outcome: Outcome) -> Finding:
    """Check that each row that is released or shown blank is in the table once, and no other is."""
    suppressed_mask, released_mask = outcome.suppressed_mask, outcome.cell_levels.part >= 0
    shown_mask = np.zeros(released_mask.size, np.bool_)
    holds = each_once(outcome.origins, shown_mask.size) and not (released_mask & suppressed_mask).any()
    if holds:
        shown_mask[outcome.origins] = True
        keeps_suppressed = outcome.searched.plan.suppressed_rows != "drop"
        expected_mask = released_mask | suppressed_mask if keeps_suppressed else released_mask
        holds = np.array_equal(shown_mask, expected_mask) and outcome.table.num_rows == outcome.origins.size
    count = Phrase("{count} rows", count=outcome.table.num_rows)
    return Finding("every row that stays is there once", holds, count)


def _verify_columns(outcome: Outcome) -> Finding:
    """Check the columns of the output; with a table in an engine, only those that Veil reads."""
    columns = outcome.table.column_names
    planned = [name for name in outcome.original.column_names if name in outcome.kept_columns]
    planned += [outcome.flag] if outcome.flag is not None else []
    lacking = [f"without {name!r}" for name in planned if name not in columns]
    further = [f"also {name!r}" for name in columns if name not in planned]
    of_plan = " that the plan looks at" if outcome.is_condensed else ""
    count = Phrase(f"{{count}} columns{of_plan}", count=len(columns))
    measured = "; ".join([*lacking, *further]) or count
    promise = "the table has the columns of the plan and no others"
    return Finding(promise, sorted(columns) == sorted(planned), measured)


def _verify_cells(outcome: Outcome) -> list[Finding]:
    """Check every cell, without any other promise; part by part if there are few parts."""
    prepared, levels, origins = outcome.searched, outcome.cell_levels, outcome.origins
    suppressed_mask = outcome.suppressed_mask[origins]
    published = _with_input(outcome, _rows_before(outcome))
    wrong = _wrong_cells(outcome, published, suppressed_mask)
    out_of_range = _levels_out_of_range(outcome)
    counts = outcome.records_by_part
    findings = []
    released = [number for number in range(len(levels)) if levels.counts[number]]
    part_of_row = levels.part[origins]
    if len(released) <= MOST_PARTS:
        names = prepared.encoding.names
        for number in released:
            texts = (f"{name} {level}" for name, level in zip(names, levels[number].levels, strict=True))
            message = _message(wrong, (part_of_row == number) & ~suppressed_mask, out_of_range[[number]])
            treatment = "generalized to {levels}"
            findings.append(
                _of_rows(int(counts[number]), treatment, message, levels=Verbatim(", ".join(texts)))
            )
    else:
        message = _message(wrong, ~suppressed_mask, out_of_range[released])
        treatment = "generalized cell by cell, to {vectors:,} combinations of levels"
        findings.append(_of_rows(int(counts.sum()), treatment, message, vectors=len(released)))
    if suppressed_mask.any():
        message = _message(wrong, suppressed_mask, out_of_range[:0])
        findings.append(_of_rows(prepared.records(outcome.suppressed_mask), "suppressed", message))
    return [*findings, *_verify_classes(outcome, published, suppressed_mask)]


def _of_rows(count: int, treatment: str, message: str, **values: object) -> Finding:
    verb = "record is" if count == 1 else "records are"
    promise = Phrase(f"{{count:,}} {verb} {treatment}, and otherwise unchanged", count=count, **values)
    return Finding(promise, not message, message or "every cell")


def _message(wrong: dict[str, Mask], rows: Mask, out_of_range: Mask) -> str:
    """Return what is wrong with some rows; empty if nothing is."""
    counts = {name: int(np.count_nonzero(mask & rows)) for name, mask in wrong.items()}
    texts = [
        f"column {name!r}: {plural(count, 'cell differs', 'cells differ')}"
        for name, count in counts.items()
        if count
    ]
    return "; ".join(["a level that the plan does not allow"] * bool(out_of_range.any()) + texts)


def _wrong_cells(outcome: Outcome, published: Published, suppressed_mask: Mask) -> dict[str, Mask]:
    """Return for each column the rows of the output that do not show what they should."""
    original, origins, plan = outcome.original, outcome.origins, outcome.searched.plan
    levels = outcome.cell_levels.of_rows[origins]
    wrong: dict[str, Mask] = {}
    for j, (name, hierarchy) in enumerate(outcome.hierarchies.items()):
        if name in plan.microaggregated:
            continue
        values, codes = encode_values(original[name])
        wrong[name] = np.zeros(origins.size, np.bool_)
        for level in np.unique(levels[:, j]).tolist():
            rows = np.flatnonzero(levels[:, j] == level)
            column = GeneralizedColumn((values, codes[origins]), published, name, hierarchy, level)
            wrong[name][rows] = column.wrong_cells(suppressed_mask, rows)
    if outcome.flag is not None:
        wrong[outcome.flag] = published.flags != suppressed_mask
    treated = {*outcome.hierarchies, *plan.microaggregated, *plan.identifying, *plan.items, outcome.flag}
    for name in outcome.table.column_names:
        if name not in treated:
            before, after = outcome.link.take(original[name]), outcome.table[name]
            wrong[name] = _changed_cells(
                before, after, suppressed_mask & (plan.suppressed_rows == "blank"), plan
            )
    return wrong


def _changed_cells(before: pa.ChunkedArray, after: pa.ChunkedArray, blank_mask: Mask, plan: Plan) -> Mask:
    """Return which rows of a column differ from the input, and which are not blank though they should be."""
    before, after = decode_column(before), decode_column(after)
    wrong, kept = blank_mask & ~shows_nothing(after, plan.marker), np.flatnonzero(~blank_mask)
    before, after = before.take(pa.array(kept)), after.take(pa.array(kept))
    if not same_cells(before, after):
        wrong[kept] = [not same_cells(before[at : at + 1], after[at : at + 1]) for at in range(kept.size)]
    return wrong


def _levels_out_of_range(outcome: Outcome) -> Mask:
    """Return which parts have a level that the plan does not allow."""
    plan, vectors = outcome.searched.plan, outcome.cell_levels.vectors
    result = np.zeros(len(vectors), np.bool_)
    for j, (name, hierarchy) in enumerate(outcome.hierarchies.items()):
        result |= vectors[:, j] < plan.minimum_levels.get(name, 0)
        result |= vectors[:, j] > plan.maximum_levels.get(name, hierarchy.height)
    return result


def _verify_classes(outcome: Outcome, published: Published, suppressed_mask: Mask) -> list[Finding]:
    """Check what is computed class by class: aggregates, and items."""
    plan, original, origins = outcome.searched.plan, outcome.original, outcome.origins
    findings = []
    if plan.microaggregated:
        levels = outcome.cell_levels.of_rows[origins]
        labels = {"part": pa.array(outcome.cell_levels.part[origins])}  # classes of different parts are apart
        for j, (name, hierarchy) in enumerate(outcome.hierarchies.items()):
            values, codes = encode_values(original[name])
            used = np.unique(levels[:, j])
            texts = pa.concat_arrays([labels_at(values, hierarchy, level) for level in used.tolist()])
            places = np.searchsorted(used, levels[:, j]) * len(values) + codes[origins]
            labels[f"column {j}"] = texts.take(pa.array(places))
        names = {*outcome.hierarchies, *plan.microaggregated}
        cells = pa.table({name: outcome.link.take(original[name]) for name in names})
        findings += verify_aggregates(cells, pa.table(labels), published, plan, suppressed_mask)
    for name in plan.items:
        before = outcome.link.take(original[name])
        findings.append(verify_items(before, outcome.table[name], name, plan, suppressed_mask))
    return findings
