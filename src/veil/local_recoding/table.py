"""The table of a local recoding: parts generalized to different levels, put together, and checked from outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.anonymized import Part, taken
from veil.cells import applied, blanked
from veil.classes.encoding import Levels
from veil.flags import free_flag
from veil.models import KAnonymity, Profitability
from veil.models.base import Finding
from veil.preparation import Prepared
from veil.published import Published, is_text
from veil.verification import Verification, verify_release, verify_roles


class Assembled(NamedTuple):
    """The output, the rows of the input that are in it (None: all), and the name of its flag column."""

    table: pa.Table
    rows: NDArray[np.int64] | None
    flag: str | None

    @property
    def origins(self) -> NDArray[np.int64]:
        """The row of the input that each row of the output comes from, in ascending order."""
        return np.arange(self.table.num_rows) if self.rows is None else self.rows

    def pick(self, rows: NDArray[np.int64]) -> pa.Table:
        """The rows of the output that come from some rows of the input."""
        return self.table.take(pa.array(np.searchsorted(self.origins, rows)))

    def published(self, prepared: Prepared) -> Published:
        """The output as everybody sees it, together with the original values that models compare it with."""
        names = [*prepared.encoding.names, *prepared.plan.aggregated]
        return Published(
            self.table,
            names,
            marker=prepared.plan.marker,
            flag=self.flag,
            weights=prepared.weights_of(self.rows),
            baseline=prepared.table,
            baseline_weights=prepared.weights,
        )


# --- putting it together --------------------------------------------------------------------------


def assemble(prepared: Prepared, parts: Sequence[Part], hidden: NDArray[np.bool_]) -> Assembled:
    """Generalize each part to its levels, put the rows in their order, and blank those that are hidden."""
    plan, quasi_identifiers = prepared.plan, {*prepared.encoding.names, *prepared.plan.aggregated}
    shown = [part for part in parts if part.rows.size]
    pieces = [*shown, *([Part(parts[0].levels, np.flatnonzero(hidden))] if hidden.any() else [])]
    tables = [_generalized(taken(prepared, piece.rows), piece.levels) for piece in pieces]
    order = pa.array(np.argsort(np.concatenate([piece.rows for piece in pieces])))
    blank = pa.array(hidden)
    columns, ambiguous = {}, False
    for name in tables[0].column_names:
        chunks = [table[name] for table in tables]
        if name not in quasi_identifiers:
            columns[name] = _joined(chunks).take(order)
            continue
        fresh = False
        if name not in plan.microaggregated:
            j = prepared.encoding.names.index(name)
            chunks = _of_one_type(prepared, j, pieces, chunks)
            originals = [chunk for part, chunk in zip(shown, chunks, strict=False) if part.levels[j] == 0]
            fresh = not any(_shows(chunk, plan.marker) for chunk in originals)
        columns[name], clash = blanked(_joined(chunks).take(order), blank, plan.marker, fresh=fresh)
        ambiguous |= clash
    if not hidden.any():
        return Assembled(pa.table(columns), None, None)
    if plan.suppressed_rows == "drop":
        rows = np.flatnonzero(~hidden)
        return Assembled(pa.table(columns).take(pa.array(rows)), rows, None)
    flag = None
    if ambiguous:
        flag = free_flag(prepared.table.column_names)
        columns[flag] = blank
    return Assembled(pa.table(columns), None, flag)


def _generalized(some: Prepared, levels: Levels) -> pa.Table:
    groups = some.sample.classes_of_rows(levels)[1]
    some = dataclasses.replace(
        some, weights=None
    )  # cells of parts are put together as they are, without codes
    return applied(some, levels, groups, np.zeros(groups.size, np.bool_))[0]


def _of_one_type(
    prepared: Prepared, j: int, pieces: Sequence[Part], chunks: list[pa.ChunkedArray]
) -> list[pa.ChunkedArray]:
    """Spell original values as text where other records show labels."""
    if len({chunk.type for chunk in chunks}) == 1:
        return chunks
    labels = pa.array(prepared.encoding.hierarchies[j].labels[0], pa.string())
    return [
        chunk.cast(pa.string())
        if is_text(chunk.type)
        else pa.chunked_array([labels.take(pa.array(prepared.codes[j][piece.rows]))])
        for piece, chunk in zip(pieces, chunks, strict=True)
    ]


def _joined(chunks: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([array for chunk in chunks for array in chunk.chunks], chunks[0].type)


def _shows(column: pa.ChunkedArray, marker: str | None) -> bool:
    return is_text(column.type) and bool(pc.any(pc.equal(column, pa.scalar(marker, column.type))).as_py())


# --- checking it ----------------------------------------------------------------------------------


def verify_models_on(prepared: Prepared, made: Assembled, parts: Sequence[Part]) -> list[Finding]:
    """Check each privacy model on the whole output.

    What a class earns depends on the levels of its labels, so it is computed part by part: classes that become one
    with others are attacked less, and earn no less.
    """
    published = made.published(prepared)
    findings = []
    for model in prepared.plan.models:
        if isinstance(model, Profitability) and not model.no_attack:
            found = [model.verify(_part_of(prepared, made, part)) for part in parts if part.rows.size]
            broken = [finding for finding in found if not finding.holds]
            findings += broken[:1] or found[:1] or [model.verify(published)]
        else:
            findings.append(model.verify(published))
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
