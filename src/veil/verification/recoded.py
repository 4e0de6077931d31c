"""The check of a locally recoded table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from veil.base.wording import Phrase, Verbatim
from veil.models import KAnonymity
from veil.outcome.outcome import Outcome
from veil.outcome.result import Origins, RecodedPart
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.tables.rows import Rows, Weights
from veil.verification.release import (
    rows_of,
    verify_links,
    verify_lost_rows,
    verify_model,
    verify_release,
    verify_roles,
    verify_suppressed,
)


def verify_models_by_part(outcome: Outcome) -> list[Finding]:
    """Check each privacy model on the whole output, or part by part where it reads levels."""
    before = _rows_before(outcome)
    published = _with_input(outcome, before)
    findings = []
    for model in outcome.models:
        parts = (_part_of(outcome, part, before) for part in outcome.parts if part.rows.size)
        findings.append(verify_model(published, model, parts))
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
    """Check the models on the whole output, and the cells of each part against the input.

    `allowed` is the limit of suppressed records, or of people who lose one; None if exceeded knowingly.
    """
    prepared, suppressed_mask, parts = outcome.searched, outcome.suppressed_mask, outcome.parts
    shape, roles = _verify_columns(outcome), verify_roles(outcome.table, prepared.plan)
    if not shape.holds:
        return Verification((shape, *roles))
    findings = [*verify_models_by_part(outcome), *roles, shape]
    suppressed_rows, suppressed_count = np.flatnonzero(suppressed_mask), prepared.records(suppressed_mask)
    keeps_suppressed = prepared.plan.suppressed_rows != "drop"
    origins = np.concatenate(
        [*(part.rows for part in parts), *([suppressed_rows] if keeps_suppressed else [])]
    )
    rows = outcome.table.num_rows
    complete = np.array_equal(np.sort(origins), np.sort(outcome.origins)) and rows == origins.size
    findings.append(
        Finding("every row that stays is there once", complete, Phrase("{count} rows", count=rows))
    )
    findings += [_verify_cells(outcome, part) for part in parts if part.rows.size]
    if keeps_suppressed and suppressed_rows.size:
        part = RecodedPart(parts[0].levels, suppressed_rows)
        findings.append(_verify_cells(outcome, part, suppressed=True))
    blank_mask = suppressed_mask[outcome.origins]
    findings += verify_links(outcome.original, outcome.table, prepared.plan, outcome.link, blank_mask)
    before = _rows_before(outcome)
    if not before.owners.are_records:
        findings += verify_lost_rows(before, suppressed_mask, allowed)
    elif allowed is not None:
        findings.append(verify_suppressed(suppressed_count, allowed))
    return Verification(tuple(findings))


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


def _verify_cells(outcome: Outcome, part: RecodedPart, *, suppressed: bool = False) -> Finding:
    """Check the cells of one part as a release of its own, without any other promise."""
    prepared = outcome.searched
    levels = dict(zip(prepared.encoding.names, part.levels, strict=True))
    plan = dataclasses.replace(prepared.plan, models=(KAnonymity(1),))
    verification = verify_release(
        rows_of(prepared.table.take(pa.array(part.rows)), Weights(part.rows.size), plan),
        outcome.pick(part.rows),
        plan,
        levels,
        outcome.hierarchies,
        origins=Origins(part.rows.size),
        suppressed_mask=np.full(part.rows.size, suppressed),
        flag=outcome.flag,
        over_limit=True,
    )
    broken = [str(finding) for finding in verification.findings if not finding.holds]
    level_texts = Verbatim(", ".join(f"{name} {level}" for name, level in levels.items()))
    count = prepared.records(part.rows)
    treatment = "suppressed" if suppressed else "generalized to {levels}"
    template = (
        f"{{count:,}} {'record is' if count == 1 else 'records are'} {treatment}, and otherwise unchanged"
    )
    promise = Phrase(template, count=count, levels=level_texts)
    return Finding(promise, not broken, "; ".join(broken) or "every cell")
