"""Recoding cell by cell under the models of a plan: passes, then a search that moves single records.

If the models ask for nothing but the size of classes, the search knows labels by their prices (`cells.solve`), which
prove a bound besides; under others it makes rounds of moves that the models judge (`cells.judged`), and a bound is
proven for the size of classes that they force. Quality models that judge classes have a search of their own
(`cells.class_search`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Integers
from veil.base.distinct import distinct_rows
from veil.base.exact import largest_count
from veil.base.progress import Progress
from veil.errors import NoSolutionError, PlanError
from veil.models.base import PrivacyModel
from veil.outcome.generalize import search_best
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.prepare import Prepared
from veil.plan.recoding import COSTS_OF_CLASSES, FromTheStart
from veil.quality import Loss
from veil.recoding.cells.bound import best_prices
from veil.recoding.cells.class_search import ClassMeasure, check_classes, improve_classes
from veil.recoding.cells.judged import ClassJudge, improve, why_not
from veil.recoding.cells.recoding import CellRecoding
from veil.recoding.cells.solve import solve
from veil.recoding.costs import of_cells
from veil.recoding.passes import Recoder
from veil.recoding.problem import CellProblem
from veil.recoding.solution import RowRecoding

PASSES = FromTheStart(1000)
_START, _PROOF = 0.4, 0.25
"""Largest shares of the time for the passes, and for a proof beside moves that models judge."""


def recode_cells(
    prepared: Prepared,
    models: Sequence[PrivacyModel],
    *,
    seconds: float,
    threads: int | None,
    cancel: Callable[[], bool],
    progress: Progress,
) -> RowRecoding:
    """Return the cheapest recoding that the search finds within the time."""
    if (reason := why_not(prepared, models)) is not None:
        raise PlanError(reason)
    began = time.perf_counter()
    by_class = isinstance(prepared.plan.quality, COSTS_OF_CLASSES)
    if not by_class:
        prepared = replace(prepared, plan=replace(prepared.plan, quality=of_cells(prepared.plan.quality)))
    size = forced_size(prepared)
    judge = ClassJudge(prepared, models)
    if by_class:
        check_classes(prepared, judge.reads_sizes_only)
    problem = CellProblem.of(prepared, judge.smallest)
    progress.phase("recoding in passes")
    starts = _starts(prepared, judge, seconds * _START, threads, cancel, progress)
    start = min(starts, key=lambda each: problem.total_cost(each.levels, each.suppressed))

    def left() -> float:
        return max(0.0, began + seconds - time.perf_counter())

    def better(score: float, bound: float | None) -> None:
        progress.better(score, bound)
        share = min(1.0, (time.perf_counter() - began) / seconds)
        progress.advance(round(1000 * share), 1000, f"score {score:.6g}")

    progress.phase("recoding cells")
    if by_class:
        recoding, ending = improve_classes(
            problem,
            ClassMeasure.of(prepared, problem),
            starts,
            seconds=left(),
            cancel=cancel,
            progress=progress,
        )
        cost = problem.total_cost(recoding.levels, recoding.suppressed)
        return RowRecoding(recoding.levels, recoding.suppressed, cost, ending)
    if judge.reads_sizes_only and isinstance(size, ForcedSize):
        found = solve(problem, seconds=left(), start=start, threads=threads, cancel=cancel, progress=better)
        curve = tuple((cpu, cost) for cpu, cost, _ in found.curve)
        return RowRecoding(
            found.recoding.levels, found.recoding.suppressed, found.cost, found.ending,
            prices=found.prices, suppression_price=found.suppression_price, curve=curve,
        )  # fmt: skip
    prices: Integers | None = None
    suppression_price = 0
    if isinstance(size, ForcedSize):
        forced = replace(problem, smallest=size.smallest, allowed=size.allowed)
        nothing = np.zeros(len(problem.codes), np.int64), 0
        prices, suppression_price = best_prices(forced, seconds * _PROOF, cancel) or nothing
    recoding = improve(
        prepared, models, start, seconds=left(), threads=threads, cancel=cancel, progress=progress
    )
    return RowRecoding(
        recoding.levels, recoding.suppressed, problem.total_cost(recoding.levels, recoding.suppressed), "cancelled" if cancel() else "time limit",
        prices=prices, suppression_price=suppression_price,
    )  # fmt: skip


def _starts(
    prepared: Prepared,
    judge: ClassJudge,
    seconds: float,
    threads: int | None,
    cancel: Callable[[], bool],
    progress: Progress,
) -> list[CellRecoding]:
    """Return the full-domain optimum, and a recoding in passes that keep cells, if it does not suppress too much."""
    until = time.perf_counter() + seconds
    plan = replace(prepared.plan, time_limit=max(seconds, 0.01))
    # By other quality models, passes are slower and keep less.
    quality = Loss("arithmetic_mean", weights=getattr(plan.quality, "weights", {}))
    in_passes = replace(
        prepared, plan=PASSES.first(replace(plan, suppression_limit=0.0, recoding=PASSES, quality=quality))
    )
    problem = CellProblem.of(prepared, judge.smallest)
    options: dict[str, Any] = {"threads": threads, "progress": _WithoutScores(progress), "cancel": cancel}
    starts: list[CellRecoding] = []

    def start_at_optimum() -> None:
        choice = search_best(replace(prepared, plan=plan), **options)
        starts.append(_levels_of(Recoder.of_choice(prepared, choice)))
        first = starts[-1]
        progress.better(problem.share(problem.total_cost(first.levels, first.suppressed)), None)

    with suppress(NoSolutionError):
        start_at_optimum()
    with suppress(NoSolutionError):
        recoder = Recoder.of_choice(in_passes, search_best(in_passes, **options))
        recoder.run_passes(PASSES, max(0.0, until - time.perf_counter()), threads, progress, cancel)
        recoding = _with_leftovers(prepared, judge, problem, _levels_of(recoder))
        starts += [recoding] if _is_within_limit(prepared, recoding) else []
    if not starts:  # there is none, or the time was over
        start_at_optimum()
    return starts


class _WithoutScores(Progress):
    """Progress of a search for a start, whose scores and bounds are not those of cells."""

    def __init__(self, progress: Progress) -> None:
        self.phase, self.advance = progress.phase, progress.advance  # type: ignore[method-assign]


def _levels_of(recoder: Recoder) -> CellRecoding:
    levels = np.tile(np.array(recoder.parts[0].levels, np.uint8), (recoder.hidden.size, 1))
    for part in recoder.parts:
        levels[part.rows] = part.levels
    return CellRecoding(levels, recoder.hidden.copy())


def _is_within_limit(prepared: Prepared, recoding: CellRecoding) -> bool:
    rows, limit = prepared.rows, prepared.plan.suppression_limit
    if rows.owners.are_records:
        return prepared.records(recoding.suppressed) <= largest_count(limit, rows.records)
    return rows.people_in(recoding.suppressed) <= largest_count(limit, rows.people)


def _with_leftovers(
    prepared: Prepared, judge: ClassJudge, problem: CellProblem, recoding: CellRecoding
) -> CellRecoding:
    """Return a recoding in which the records that passes left over have joined a class, if too many are left over.

    All of them join one class at the lowest labels that they share with it: the cheapest that the models accept.
    """
    left = np.flatnonzero(recoding.suppressed)
    if _is_within_limit(prepared, recoding) or not prepared.rows.owners.are_records:
        return recoding
    labels = _labels_of_rows(problem, recoding.levels)
    _, class_of = distinct_rows(labels.T, len(labels))
    visible = np.flatnonzero(~recoding.suppressed)
    order = np.argsort(class_of[visible], kind="stable")
    members = np.split(visible[order], np.flatnonzero(np.diff(class_of[visible][order])) + 1)
    members = [each for each in members if each.size][:_MOST_TRIED] or [left[:0]]
    joins = [_join(problem, np.concatenate([left, each])) for each in members]
    costs = [
        problem.cost_of(np.tile(join, (left.size + each.size, 1)), np.concatenate([left, each])).sum()
        - problem.cost_of(recoding.levels[each], each).sum()
        for join, each in zip(joins, members, strict=True)
        if join is not None
    ]
    possible = [(join, each) for join, each in zip(joins, members, strict=True) if join is not None]
    for place in np.argsort(costs, kind="stable"):
        join, each = possible[int(place)]
        levels, suppressed = recoding.levels.copy(), np.zeros_like(recoding.suppressed)
        levels[left], levels[each] = join, join
        rows = np.concatenate([left, each])
        # Whoever has these labels already is in the same class.
        joined = _labels_of_rows(problem, levels)
        together = np.flatnonzero((joined == joined[rows[0]]).all(axis=1))
        if not judge.reject(together, np.zeros(together.size, np.int32), 1, lambda some: levels[some]).any():  # noqa: B023
            return CellRecoding(levels, suppressed)
    return recoding


_MOST_TRIED = 200
"""Classes that the left-over records try to join."""


def _labels_of_rows(problem: CellProblem, levels: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return a number for each label of each row (rows x columns): of the level and the code on it."""
    numbers = np.empty(levels.shape, np.int64)
    for j, hierarchy in enumerate(problem.hierarchies):
        for level in range(hierarchy.height + 1):
            there = levels[:, j] == level
            numbers[there, j] = level << 32 | hierarchy.label_map(level)[problem.codes[there, j]].astype(
                np.int64
            )
    return numbers


def _join(problem: CellProblem, rows: NDArray[np.int64]) -> NDArray[np.uint8] | None:
    """Return the lowest levels on which rows have the same labels; None if there are none."""
    result = []
    for j, hierarchy in enumerate(problem.hierarchies):
        for level in range(problem.minimum[j], problem.maximum[j] + 1):
            codes = hierarchy.label_map(level)[problem.codes[rows, j]]
            if (codes == codes[0]).all():
                result.append(level)
                break
        else:
            return None
    return np.array(result, np.uint8)
