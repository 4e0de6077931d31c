"""A rehearsal of a run: all checks that precede the search, without writing or drawing anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from veil.api.mask import check_masks
from veil.api.open import fetch_all, open_for_plan, open_source, open_tables
from veil.api.owners import rows_to_mask
from veil.api.resolve import Run, check_run, relation_of
from veil.api.steps import check_together, in_order, rows_before_search
from veil.base.progress import Progress, ProgressLike, following
from veil.outcome.method import Method
from veil.plan.linked_tables import Stacked
from veil.plan.prepare import prepare
from veil.tables import Source


@dataclass(frozen=True)
class Rehearsal:
    """The size and the targets of a run.

    Attributes
    ----------
    records, columns : int, optional
        Size of the table; None if it is in an engine, or if only a private search may count it.
    transformations : int, optional
        Size of the search space; None if the table was not read, or is masked before.
    targets : dict
        Path of each file that would be written.
    """

    records: int | None
    columns: int | None
    transformations: int | None
    targets: dict[str, str]


def rehearse(run: Run, *, threads: int | None = None, progress: ProgressLike = None) -> Rehearsal:
    """Check the targets, read the table, and check the steps against it."""
    relation = relation_of(run, threads)
    check_run(run, relation)
    targets = {what: str(path) for what, path in run.targets.items()}
    if run.recipe.annex is not None:
        return Rehearsal(None, None, None, targets)
    with run.recipe.own_words(), following(progress) as tracker:
        if isinstance(run.recipe.steps[0], Method):
            return _rehearse_masks(run, tracker, targets)
        plan = run.recipe.plan()
        if relation is not None:
            return Rehearsal(None, len(relation.table.columns), None, targets)
        tracker.phase("reading the table")
        if isinstance(run.input, Mapping):
            source: Source = open_tables(run.input, plan, run.recipe.table_formats)
        else:
            source = open_for_plan(run.input, plan, run.format, "memory", tracker)
        plan = source.plan if isinstance(source, Stacked) else plan
        if plan.over_neighbours:
            return Rehearsal(None, source.table.num_columns, None, targets)
        tracker.phase("encoding and collapsing")
        prepared = prepare(source.table, plan, source.weights, source.columns)
    sizes = (high - low + 1 for low, high in zip(prepared.minimum, prepared.maximum, strict=True))
    return Rehearsal(source.table.num_rows, source.table.num_columns, math.prod(sizes), targets)


def _rehearse_masks(run: Run, tracker: Progress, targets: dict[str, str]) -> Rehearsal:
    """Check masking methods, which come first, against the table; a search sees what they make of it."""
    methods, plan = in_order(run.recipe.located_steps())
    if plan is None:
        check_masks(methods, run.recipe.order)
    else:
        check_together(methods, plan)
    tracker.phase("reading the table")
    table = open_source(run.input, run.format, "memory", fetch_all).table
    if plan is None:
        rows_to_mask(table, run.recipe.person, methods, run.recipe.order)
    else:
        rows_before_search(table, methods, plan)
    methods[0].check_columns(table)  # the next ones see what it makes
    return Rehearsal(table.num_rows, table.num_columns, None, targets)
