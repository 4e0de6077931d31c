"""Carrying out the recoding of a plan: whichever way it asks for, from a prepared plan to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from veil.base.progress import Progress
from veil.errors import PlanError, Say
from veil.outcome.assemble import assemble
from veil.outcome.generalize import generalize, search_best
from veil.outcome.outcome import Outcome
from veil.outcome.result import RecodedPart
from veil.plan.prepare import Prepared
from veil.plan.recoding import Cells, Mode, Recoding
from veil.recoding.cells import recode_cells
from veil.recoding.passes import recodable, recode
from veil.recoding.solution import CellSolution
from veil.tables.source import Source


class Solver(Protocol):
    """A search for the levels of every record."""

    def __call__(
        self,
        prepared: Prepared,
        *,
        seconds: float,
        threads: int | None,
        cancel: Callable[[], bool],
        progress: Progress,
    ) -> CellSolution:
        """Return the best levels found within some seconds."""


SOLVERS: dict[type[Recoding], Solver] = {Cells: recode_cells}
"""The solver of each way of recoding that chooses levels record by record."""


def carry_out_recoding(
    source: Source,
    prepared: Prepared,
    *,
    threads: int | None = None,
    progress: Progress,
    cancel: Callable[[], bool] | None = None,
) -> Outcome:
    """Search for labels as the plan chooses them, and apply them to the table."""
    recoding = prepared.plan.recoding
    if recoding.time_limit is not None:
        return _recode_rows(source, prepared, threads, progress, cancel or (lambda: False))
    progress.phase("searching")
    choice = search_best(prepared, threads=threads, progress=progress, cancel=cancel)
    progress.phase("applying")
    outcome = generalize(source, prepared, choice)
    if isinstance(recoding, Mode):
        return recode(outcome, recoding, threads=threads, progress=progress, cancel=cancel)
    return outcome


def _recode_rows(
    source: Source, prepared: Prepared, threads: int | None, progress: Progress, cancel: Callable[[], bool]
) -> Outcome:
    plan = prepared.plan
    solver = SOLVERS.get(type(plan.recoding))
    if solver is None:
        raise PlanError(
            f"{plan.recoding} is not available: recode the whole domain (",
            Say("recoding", "full-domain"),
            ") or cells (",
            Say("recoding", "cells"),
            ")",
        )
    recodable(prepared)
    progress.phase("recoding")
    solution = solver(prepared, seconds=plan.seconds, threads=threads, cancel=cancel, progress=progress)
    progress.phase("applying")
    shuffle = plan.order == "random" and prepared.rows.weights.are_one
    outcome = assemble(source, prepared, _parts(solution), solution.suppressed, shuffle=shuffle)
    return outcome.changed(facts={"ending": solution.ending})


def _parts(solution: CellSolution) -> list[RecodedPart]:
    rows = np.flatnonzero(~solution.suppressed)
    levels, part_of = np.unique(solution.levels[rows], axis=0, return_inverse=True)
    order = np.argsort(part_of, kind="stable")
    ends = np.cumsum(np.bincount(part_of, minlength=len(levels)))[:-1]
    return [
        RecodedPart(tuple(map(int, each)), part)
        for each, part in zip(levels, np.split(rows[order], ends), strict=True)
    ]
