"""The verifier of tables that were recoded locally."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.models import KAnonymity
from veil.outcome.assemble import Assembled
from veil.outcome.outcome import Part
from veil.plan.prepare import Prepared
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.verification.release import verify_release, verify_roles


def verify_models_on(prepared: Prepared, made: Assembled, parts: Sequence[Part]) -> list[Finding]:
    """Check each privacy model on the whole output, or part by part where levels matter."""
    published = made.published(prepared)
    findings = []
    for model in prepared.plan.models:
        by_levels = (_part_of(prepared, made, part) for part in parts if part.rows.size)
        findings.append(model.verify_parts(published, by_levels))
    return findings


def _part_of(prepared: Prepared, made: Assembled, part: Part) -> Published:
    names = prepared.encoding.names
    return Published(
        made.pick(part.rows),
        names,
        marker=prepared.plan.marker,
        flag=made.flag,
        weights=prepared.weights_of(part.rows),
        hierarchies=dict(zip(names, prepared.encoding.hierarchies, strict=True)),
        levels=dict(zip(names, part.levels, strict=True)),
    )


def verify_recoded(
    prepared: Prepared,
    made: Assembled,
    parts: Sequence[Part],
    hidden: NDArray[np.bool_],
    allowed: int | None,
) -> Verification:
    """Check the models on the whole output, and the cells of each part against the table it was made from.

    `allowed` is the largest number of suppressed records; None if that was knowingly passed before.
    """
    shape, roles = _verify_columns(prepared, made), verify_roles(made.table, prepared.plan)
    if not shape.holds:
        return Verification((shape, *roles))
    findings = [*verify_models_on(prepared, made, parts), *roles, shape]
    gone, hidden_records = np.flatnonzero(hidden), prepared.records(hidden)
    kept = prepared.plan.suppressed_rows == "keep"
    listed = np.concatenate([*(part.rows for part in parts), *([gone] if kept else [])])
    complete = np.array_equal(np.sort(listed), made.origins) and made.table.num_rows == listed.size
    findings.append(Finding("every row that stays is there once", complete, f"{made.table.num_rows} rows"))
    findings += [_verify_cells(prepared, made, part) for part in parts if part.rows.size]
    if kept and gone.size:
        shown = gone.size - int(made.published(prepared).suppressed[gone].sum())
        findings.append(
            Finding(f"{hidden_records} records show nothing", shown == 0, f"{shown} rows do show something")
        )
        findings.append(_verify_cells(prepared, made, Part(parts[0].levels, gone), "suppressed"))
    if allowed is not None:
        promise = f"at most {allowed} records are suppressed"
        findings.append(Finding(promise, hidden_records <= allowed, str(hidden_records)))
    return Verification(tuple(findings))


def _verify_columns(prepared: Prepared, made: Assembled) -> Finding:
    """Check the columns of the output; of a table that an engine holds, only some are here."""
    plan, found = prepared.plan, made.table.column_names
    planned = [
        name
        for name in prepared.table.column_names
        if plan.role_of(name) != "dropped" and plan.identifying.get(name) != "remove"
    ]
    planned += [made.flag] if made.flag is not None else []
    lacking = [f"without {name!r}" for name in planned if name not in found]
    further = [f"also {name!r}" for name in found if name not in planned]
    seen = "columns" if prepared.weights is None else "columns that the plan looks at"
    told = "; ".join([*lacking, *further]) or f"{len(found)} {seen}"
    promise = "the table has the columns of the plan and no others"
    return Finding(promise, sorted(found) == sorted(planned), told)


def _verify_cells(prepared: Prepared, made: Assembled, part: Part, what: str = "") -> Finding:
    """Check the cells of one part as those of a release of its own, for which nothing else is promised."""
    names, hierarchies = prepared.encoding.names, prepared.encoding.hierarchies
    levels = dict(zip(names, part.levels, strict=True))
    checked = verify_release(
        prepared.table.take(pa.array(part.rows)),
        made.pick(part.rows),
        dataclasses.replace(prepared.plan, models=(KAnonymity(1),)),
        levels,
        dict(zip(names, hierarchies, strict=True)),
        rows=None,
        flag=made.flag,
        over_limit=True,
    )
    broken = [str(finding) for finding in checked.findings if not finding.holds]
    spelled = ", ".join(f"{name} {level}" for name, level in levels.items())
    done = what or f"generalized to {spelled}"
    promise = f"{prepared.records(part.rows)} records are {done}, and else unchanged"
    return Finding(promise, not broken, "; ".join(broken) or "every cell")
