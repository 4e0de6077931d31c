"""The loss of any release of a plan, and what no recoding with its hierarchies loses less than.

A search for cells proves a bound beside it; for any other release, prices are sought for it alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from veil.base.compiled import compiling_seconds
from veil.base.progress import Progress
from veil.base.wording import Phrase
from veil.errors import PlanError
from veil.outcome.cell_trace import CellTrace
from veil.outcome.lower_bound import NO_TIME, LowerBound
from veil.outcome.outcome import Outcome
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.linked_tables import Stacked
from veil.plan.prepare import Prepared
from veil.plan.recoding import Cells
from veil.quality import Loss
from veil.recoding.cells.bound import best_prices
from veil.recoding.problem import UNIT, CellProblem
from veil.verification.lower_bound import prove_bound

_GRACE = 0.4
"""Seconds after the end of the time in which a proof may still be finished."""


def trace_loss(
    outcome: Outcome, *, seconds: float, cancel: Callable[[], bool], progress: Progress
) -> CellTrace:
    """Return the loss of an outcome, and a bound of every recoding that is proven within some seconds."""
    _refuse(outcome)
    trace = outcome.trace(CellTrace)
    if trace is not None and not trace.measure and isinstance(outcome.recoding, Cells):
        return trace
    progress.phase("proving a lower bound")
    prepared, cost, full_domain = outcome.searched, cost_of(outcome), len(outcome.parts) <= 1
    bound = _over_limit(outcome) or search_bound(
        prepared, seconds=seconds, cancel=cancel, progress=progress, cost=cost
    )
    proof, reason = (bound, "") if isinstance(bound, LowerBound) else (None, bound)
    return CellTrace(cost, prepared.records(), None, proof, reason, full_domain=full_domain)


def search_bound(
    prepared: Prepared,
    *,
    seconds: float,
    cancel: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
    cost: int | None = None,
) -> LowerBound | Phrase:
    """Return the highest bound that is proven within some seconds, or why there is none."""
    began = time.perf_counter() - compiling_seconds()

    def left() -> float:
        return began + seconds - (time.perf_counter() - compiling_seconds())

    size, prepared = forced_size(prepared), _by_loss(prepared)
    if not isinstance(size, ForcedSize):
        return size
    tracker, whole = progress or Progress(), UNIT * max(1, prepared.records())

    def report(share: float, bound: int) -> None:
        tracker.better(None if cost is None else cost / whole, bound / whole)
        tracker.advance(round(1000 * share), 1000, f"no less than {max(0, bound) / whole:.4g}")

    def keep() -> bool:
        return left() > -_GRACE and not cancel()

    problem = replace(CellProblem.of(prepared, size.smallest), allowed=size.allowed)
    prices = best_prices(problem, left(), cancel, report)
    return NO_TIME if prices is None else prove_bound(prepared, *prices, keep)


def cost_of(outcome: Outcome) -> int:
    """Return the loss of all records of an outcome together, in `UNIT`s."""
    problem = CellProblem.of(_by_loss(outcome.searched), 1)
    costs = problem.cost_of(outcome.cell_levels.of_rows)
    return int(np.where(outcome.suppressed_mask, UNIT, costs) @ problem.counts)


def _by_loss(prepared: Prepared) -> Prepared:
    """Return a plan that measures cells by loss, whatever its quality model is."""
    quality = prepared.plan.quality
    if isinstance(quality, Loss):
        return prepared
    return replace(
        prepared, plan=replace(prepared.plan, quality=Loss(weights=getattr(quality, "weights", {})))
    )


def _refuse(outcome: Outcome) -> None:
    """Refuse outcomes whose loss is not that of labels of one table, or must not be known."""
    if outcome.statement is not None:
        raise PlanError("a lower bound is a figure of the input, which differential privacy keeps to itself")
    if outcome.plan is None:
        raise PlanError(
            "a lower bound is one of all recodings by a plan, and masking methods follow no plan: compare them with "
            "others by `veil.compare_ways`"
        )
    if isinstance(outcome.source, Stacked):
        raise PlanError("a lower bound is one of a single table, and this release has several")
    if outcome.prepared is None:
        raise PlanError(
            "a lower bound needs all distinct rows in memory, and this table was anonymized in parts: leave `parts` out"
        )


def _over_limit(outcome: Outcome) -> Phrase | None:
    if outcome.within_limit:
        return None
    return Phrase(
        "more records are suppressed than the plan allows, and a bound is one of releases that it allows"
    )
