"""Recoding cell by cell: every record gets labels by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from veil.base.exact import largest_count
from veil.base.progress import Progress
from veil.outcome.generalize import search_best
from veil.plan.prepare import Prepared
from veil.plan.recoding import FromTheStart
from veil.recoding.passes import Recoder
from veil.recoding.solution import CellSolution

PASSES = FromTheStart(1000)


def recode_cells(
    prepared: Prepared,
    *,
    seconds: float,
    threads: int | None,
    cancel: Callable[[], bool],
    progress: Progress,
) -> CellSolution:
    """Return levels for every row, in passes; those of the full-domain optimum if too many would be suppressed."""
    plan = prepared.plan
    in_passes = replace(prepared, plan=PASSES.first(replace(plan, suppression_limit=0.0, time_limit=seconds)))
    recoder = Recoder.of_choice(
        in_passes, search_best(in_passes, threads=threads, progress=progress, cancel=cancel)
    )
    ending = recoder.run_passes(PASSES, seconds, threads, progress, cancel)
    rows = prepared.rows
    over = (
        recoder.left > largest_count(plan.suppression_limit, rows.records)
        if rows.owners.are_records
        else recoder.people_left > largest_count(plan.suppression_limit, rows.people)
    )
    if over:
        choice = search_best(prepared, threads=threads, progress=progress, cancel=cancel)
        recoder, ending = Recoder.of_choice(prepared, choice), choice.found.ending
    levels = np.tile(np.array(recoder.parts[0].levels, np.uint8), (recoder.hidden.size, 1))
    for part in recoder.parts:
        levels[part.rows] = part.levels
    return CellSolution(
        levels, recoder.hidden, ending, why_no_bound="passes prove nothing about other recodings"
    )
