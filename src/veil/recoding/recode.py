"""Carrying out the recoding of a plan: whichever way it asks for, from a prepared plan to an outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from veil.base.progress import Progress
from veil.base.randomness import Randomness
from veil.models.base import PrivacyModel
from veil.outcome.assemble import assemble
from veil.outcome.cell_trace import CellTrace
from veil.outcome.generalize import generalize, search_best
from veil.outcome.lower_bound import LowerBound, measure_of
from veil.outcome.outcome import Outcome
from veil.outcome.price_table import price_table
from veil.outcome.result import CellLevels
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.prepare import Prepared
from veil.plan.recoding import COSTS_OF_CLASSES, Cells, Mode, Recoding, Subtree
from veil.recoding.cells.recode import recode_cells
from veil.recoding.passes import recodable, recode
from veil.recoding.problem import CellProblem
from veil.recoding.resist import coarsen_recoding
from veil.recoding.score import score_of_classes
from veil.recoding.solution import RowRecoding
from veil.recoding.subtree import recode_subtree
from veil.tables.source import Source
from veil.verification.lower_bound import bound_by_size, prove_bound


class Solver(Protocol):
    """A search for the levels of every row."""

    def __call__(
        self,
        prepared: Prepared,
        models: Sequence[PrivacyModel],
        *,
        seconds: float,
        threads: int | None,
        cancel: Callable[[], bool],
        progress: Progress,
    ) -> RowRecoding:
        """Return the best levels found within some seconds; `models` are those of the plan, for parts of the table."""


def _cells(
    prepared: Prepared, models: Sequence[PrivacyModel], *, progress: Progress, **options: Any
) -> RowRecoding:
    """Search for labels, and coarsen them at random if the plan says so."""
    solution, recoding = recode_cells(prepared, models, progress=progress, **options), prepared.plan.recoding
    if not isinstance(recoding, Cells) or not recoding.coarsening:
        return solution
    progress.phase("coarsening labels")
    return coarsen_recoding(prepared, models, solution, recoding.coarsening, Randomness())


def _subtree(prepared: Prepared, models: Sequence[PrivacyModel], **options: Any) -> RowRecoding:
    found = recode_subtree(prepared, models, **options)
    curve = tuple((seconds, cost) for seconds, cost, _ in found.curve)
    return RowRecoding(found.levels, found.suppressed, found.cost, found.ending, found.bound, curve=curve)


SOLVERS: dict[type[Recoding], Solver] = {Cells: _cells, Subtree: _subtree}
"""The solver of each way of recoding that chooses levels row by row."""


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
    solver = SOLVERS[type(plan.recoding)]
    models = recodable(prepared)
    progress.phase("recoding")
    solution = solver(
        prepared, models, seconds=plan.seconds, threads=threads, cancel=cancel, progress=progress
    )
    progress.phase("applying")
    return apply_solution(source, prepared, solution, _prove(prepared, solution))


def apply_solution(
    source: Source, prepared: Prepared, solution: RowRecoding, proof: LowerBound | str
) -> Outcome:
    """Return the outcome of a solution, and the prices of its proof as a table that is kept apart."""
    outcome = assemble(
        source,
        prepared,
        CellLevels.by_row(solution.levels, solution.suppressed),
        solution.suppressed,
        _trace(prepared, solution, proof),
        *([proof] if isinstance(proof, LowerBound) else []),
        shuffle=prepared.plan.order == "random" and prepared.rows.weights.are_one,
    )
    apart = outcome.last.apart
    if isinstance(proof, LowerBound):
        apart = (*apart, price_table(proof, prepared.table, prepared.encoding.names))
    return outcome.changed(facts={"ending": solution.ending}, apart=apart)


def trace_solution(prepared: Prepared, solution: RowRecoding) -> CellTrace:
    """Return what a solution loses, and what is proven about better ones."""
    return _trace(prepared, solution, _prove(prepared, solution))


def _prove(prepared: Prepared, solution: RowRecoding) -> LowerBound | str:
    """Return the bound on every recoding that the prices of a solution prove, or why there is none."""
    if solution.prices is not None:
        return prove_bound(prepared, solution.prices, solution.suppression_price)
    size = forced_size(prepared)
    return "the search has proven none" if isinstance(size, ForcedSize) else size


def _trace(prepared: Prepared, solution: RowRecoding, proof: LowerBound | str) -> CellTrace:
    problem, quality = CellProblem.of(prepared, 1), prepared.plan.quality
    figure, least = None, None
    if isinstance(quality, COSTS_OF_CLASSES):
        figure = score_of_classes(prepared, solution.levels, solution.suppressed)
        bound = bound_by_size(prepared)
        least, proof = (None, bound) if isinstance(bound, str) else (bound, "")
    return CellTrace(
        solution.cost,
        problem.records,
        solution.bound,
        proof if isinstance(proof, LowerBound) else None,
        proof if isinstance(proof, str) else "",
        tuple((seconds, problem.share(cost)) for seconds, cost in solution.curve),
        base=problem.base,
        measure=measure_of(quality),
        figure=figure,
        least_figure=least,
    )
