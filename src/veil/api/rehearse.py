"""A rehearsal of a run: all checks that precede the search, without writing or drawing anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from veil.api.open import open_for_plan, open_tables
from veil.api.resolve import Run, check_run, relation_of
from veil.base.progress import ProgressLike, following
from veil.dp.safepub import SafePub
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
        Size of the search space; None if the table was not read.
    targets : dict
        Path of each file that would be written.
    """

    records: int | None
    columns: int | None
    transformations: int | None
    targets: dict[str, str]


def rehearse(run: Run, *, threads: int | None = None, progress: ProgressLike = None) -> Rehearsal:
    """Check the targets, read the table, and check the plan against it."""
    relation = relation_of(run, threads)
    check_run(run, relation)
    targets = {what: str(path) for what, path in run.targets.items()}
    with run.recipe.own_words(), following(progress) as tracker:
        plan = run.recipe.plan()
        if relation is not None:
            return Rehearsal(None, len(relation.table.columns), None, targets)
        tracker.phase("reading the table")
        if isinstance(run.input, Mapping):
            source: Source = open_tables(run.input, plan, run.recipe.table_formats)
        else:
            source = open_for_plan(run.input, plan, run.format, "memory", tracker)
        plan = source.plan if isinstance(source, Stacked) else plan
        if any(isinstance(model, SafePub) for model in plan.models):
            return Rehearsal(None, source.table.num_columns, None, targets)
        tracker.phase("encoding and collapsing")
        prepared = prepare(source.table, plan, source.weights, source.columns)
    sizes = (high - low + 1 for low, high in zip(prepared.minimum, prepared.maximum, strict=True))
    return Rehearsal(source.table.num_rows, source.table.num_columns, math.prod(sizes), targets)
