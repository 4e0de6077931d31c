"""The check of a table that was recoded locally."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from veil.base.wording import plural
from veil.models import KAnonymity
from veil.outcome.outcome import Outcome, RecodedPart
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.tables.rows import Rows
from veil.verification.release import (
    rows_of,
    verify_links,
    verify_lost,
    verify_model,
    verify_release,
    verify_roles,
)


def verify_models_by_part(outcome: Outcome) -> list[Finding]:
    """Check each privacy model on the whole output, or part by part where levels matter."""
    published = _beside_input(outcome)
    findings = []
    for model in outcome.models:
        parts = (_part_of(outcome, part) for part in outcome.parts if part.rows.size)
        findings.append(verify_model(published, model, parts))
    return findings


def _beside_input(outcome: Outcome) -> Published:
    """The output as everybody sees it, together with the original values that models compare it with."""
    before = _rows_before(outcome)
    return Published(
        before.showing(outcome.table, outcome.origins),
        outcome.quasi_identifiers,
        marker=outcome.marker,
        flag=outcome.flag,
        suppressed=outcome.blank_rows,
        baseline=before,
    )


def _rows_before(outcome: Outcome) -> Rows:
    assert outcome.prepared is not None
    return rows_of(outcome.original, outcome.prepared.weights, outcome.prepared.plan)


def _part_of(outcome: Outcome, part: RecodedPart) -> Published:
    assert outcome.prepared is not None
    names = outcome.prepared.encoding.names
    return Published(
        _rows_before(outcome).showing(outcome.pick(part.rows), part.rows),
        names,
        marker=outcome.marker,
        hierarchies=outcome.hierarchies,
        levels=dict(zip(names, part.levels, strict=True)),
        suppressed="none",
    )


def verify_recoded(outcome: Outcome, allowed: int | None) -> Verification:
    """Check the models on the whole output, and the cells of each part against the table it was made from.

    `allowed` is the largest number of suppressed records, or of people who lose one; None if that was knowingly passed before.
    """
    prepared, hidden, parts = outcome.prepared, outcome.hidden, outcome.parts
    assert prepared is not None
    assert hidden is not None
    shape, roles = _verify_columns(outcome), verify_roles(outcome.table, prepared.plan)
    if not shape.holds:
        return Verification((shape, *roles))
    findings = [*verify_models_by_part(outcome), *roles, shape]
    gone, hidden_records = np.flatnonzero(hidden), prepared.records(hidden)
    kept = prepared.plan.suppressed_rows != "drop"
    listed = np.concatenate([*(part.rows for part in parts), *([gone] if kept else [])])
    rows = outcome.table.num_rows
    complete = np.array_equal(np.sort(listed), np.sort(outcome.origins)) and rows == listed.size
    findings.append(Finding("every row that stays is there once", complete, f"{rows} rows"))
    findings += [_verify_cells(outcome, part) for part in parts if part.rows.size]
    if kept and gone.size:
        findings.append(_verify_cells(outcome, RecodedPart(parts[0].levels, gone), hidden=True))
    gone_rows = hidden[outcome.origins]
    findings += verify_links(outcome.original, outcome.table, prepared.plan, outcome.rows, gone_rows)
    before = _rows_before(outcome)
    if not before.owners.are_records:
        findings += verify_lost(before, hidden, allowed)
    elif allowed is not None:
        promise = f"at most {plural(allowed, 'record is', 'records are')} suppressed"
        findings.append(Finding(promise, hidden_records <= allowed, f"{hidden_records:,}"))
    return Verification(tuple(findings))


def _verify_columns(outcome: Outcome) -> Finding:
    """Check the columns of the output; of a table that an engine holds, only some are here."""
    found = outcome.table.column_names
    planned = [name for name in outcome.original.column_names if name in outcome.kept_columns]
    planned += [outcome.flag] if outcome.flag is not None else []
    lacking = [f"without {name!r}" for name in planned if name not in found]
    further = [f"also {name!r}" for name in found if name not in planned]
    seen = "columns that the plan looks at" if outcome.is_condensed else "columns"
    measured = "; ".join([*lacking, *further]) or f"{len(found)} {seen}"
    promise = "the table has the columns of the plan and no others"
    return Finding(promise, sorted(found) == sorted(planned), measured)


def _verify_cells(outcome: Outcome, part: RecodedPart, *, hidden: bool = False) -> Finding:
    """Check the cells of one part as those of a release of its own, for which nothing else is promised."""
    prepared = outcome.prepared
    assert prepared is not None
    levels = dict(zip(prepared.encoding.names, part.levels, strict=True))
    plan = dataclasses.replace(prepared.plan, models=(KAnonymity(1),))
    checked = verify_release(
        rows_of(prepared.table.take(pa.array(part.rows)), None, plan),
        outcome.pick(part.rows),
        plan,
        levels,
        outcome.hierarchies,
        rows=None,
        hidden=np.full(part.rows.size, hidden),
        flag=outcome.flag,
        over_limit=True,
    )
    broken = [str(finding) for finding in checked.findings if not finding.holds]
    spelled = ", ".join(f"{name} {level}" for name, level in levels.items())
    done = "suppressed" if hidden else f"generalized to {spelled}"
    promise = (
        f"{plural(prepared.records(part.rows), 'record is', 'records are')} {done}, and otherwise unchanged"
    )
    return Finding(promise, not broken, "; ".join(broken) or "every cell")
