"""The check of masking steps: the promise of each, on its input and output alone.

A method returns a table and no verdict. The checks know methods by kind and parameters, and share no code
with them. Promises that no table can show, such as the probability of a draw, are not called checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from veil.base.wording import plural
from veil.outcome.result import Origins
from veil.published.finding import Finding, Verification
from veil.tables.rows import Rows
from veil.verification.release import each_once, same_cells, verify_models
from veil.verification.steps import cells, dates, groups, moves
from veil.verification.steps.partition import PUBLIC
from veil.verification.steps.rows import MaskStep

CHECKS: Mapping[str, Callable[[MaskStep], Iterator[Finding]]] = {
    **cells.CHECKS,
    **dates.CHECKS,
    **groups.CHECKS,
    **moves.CHECKS,
}
"""The check of each kind of method."""

_SHAPE = "rows come from the input, each from one of its own, and columns that the step does not name are unchanged"
COMPARISONS = (_SHAPE, PUBLIC, groups.ONLY_THEIR_ITEMS)
"""Findings for the data holder alone: that the step did what it should is no promise to a recipient."""

_FEWER_ROWS = frozenset({"RandomSampling", "StratifiedSampling", "BernoulliSampling", "ItemGeneralization"})
"""Kinds of methods that may leave rows out."""


def verify_step(
    method: Any,
    before: Rows,
    after: pa.Table,
    *,
    origins: Origins | None = None,
    apart: Mapping[str, pa.Table] | None = None,
    removed: str | None = None,
) -> Verification:
    """Check the promises of a masking method on its input and output.

    `origins` are the input rows of the output, by default all, in order; `apart` are the tables released
    separately, and `removed` is a column that the output may lack.
    """
    step = MaskStep(method, before, after, origins or Origins(after.num_rows), apart or {})
    check = CHECKS.get(getattr(method, "kind", ""))
    if check is None:
        models = method.privacy_models
        findings = verify_models(step.published(method.known_columns), models) if models else []
        question = f"what {type(method).__name__} does: Veil checks its privacy models, and nothing else"
        return Verification(tuple(findings), (*method.by_construction, question))
    shape = _shape(step, removed)
    if not shape.holds:
        return Verification((shape,))
    return Verification((*check(step), shape), method.by_construction)


def _shape(step: MaskStep, removed: str | None) -> Finding:
    """Check that rows are those of the input, and that columns the method does not name are unchanged."""
    method, source, after = step.method, step.source, step.after
    promise = _SHAPE
    rows = step.origins.array
    if rows.size != after.num_rows or not each_once(rows, source.num_rows):
        return Finding(promise, False, "rows that do not come from one of their own")
    if after.num_rows < source.num_rows and method.kind not in _FEWER_ROWS:
        return Finding(
            promise, False, plural(source.num_rows - after.num_rows, "row is", "rows are") + " not there"
        )
    optional = {*method.column_names, getattr(method, "since", None), removed}
    lacking = [name for name in source.column_names if name not in {*after.column_names, *optional}]
    others = [name for name in after.column_names if name not in method.column_names]
    further = [name for name in others if name not in (*source.column_names, *_columns_added(method))]
    changed = [
        name
        for name in others
        if name in source.column_names and not same_cells(step.old(name), step.new(name))
    ]
    problems = [
        f"{what} {', '.join(map(repr, names))}"
        for what, names in (("without", lacking), ("also", further), ("other cells in", changed))
        if names
    ]
    return Finding(promise, not problems, "; ".join(problems) or "every row and column")


def _columns_added(method: Any) -> tuple[str, ...]:
    """Return the columns that a method adds: the group that links two tables."""
    if method.kind == "MInvariance":
        return ("group",)
    return (method.group,) if hasattr(method, "group") else ()
