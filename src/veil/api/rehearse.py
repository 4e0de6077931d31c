"""A rehearsal of a run: all checks that precede the search, without writing or drawing anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from veil.api.job import Run, check_job, relation_of
from veil.api.open import open_for_plan, open_tables
from veil.base.progress import ProgressLike, following
from veil.dp.safepub import SafePub
from veil.plan.linked_tables import Stacked
from veil.plan.prepare import prepare
from veil.recipe import Recipe
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


def rehearse(job: Run, *, threads: int | None = None, progress: ProgressLike = None) -> Rehearsal:
    """Check the targets, read the table, and check the plan against it."""
    assert isinstance(job.recipe, Recipe)
    relation = relation_of(job, threads)
    check_job(job, relation)
    targets = {what: str(path) for what, path in job.targets.items()}
    with job.recipe.own_words(), following(progress) as tracker:
        plan = job.recipe.plan()
        if relation is not None:
            return Rehearsal(None, len(relation.table.columns), None, targets)
        tracker.phase("reading the table")
        if isinstance(job.input, Mapping):
            source: Source = open_tables(job.input, plan, job.recipe.table_formats)
        else:
            source = open_for_plan(job.input, plan, job.format, "memory", tracker)
        plan = source.plan if isinstance(source, Stacked) else plan
        if any(isinstance(model, SafePub) for model in plan.models):
            return Rehearsal(None, source.table.num_columns, None, targets)
        tracker.phase("encoding and collapsing")
        prepared = prepare(source.table, plan, source.weights, source.columns)
    sizes = (high - low + 1 for low, high in zip(prepared.minimum, prepared.maximum, strict=True))
    return Rehearsal(source.table.num_rows, source.table.num_columns, math.prod(sizes), targets)
