"""Lower bounds for the data holder, who has the input: how near a release is to the best, and a check of what is proven."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from veil.api.open import Engine, fetch_all, open_for_plan, open_source
from veil.base.progress import Progress, ProgressLike, following
from veil.base.wording import Phrase
from veil.errors import PlanError
from veil.outcome.cell_trace import CellTrace
from veil.outcome.lower_bound import NO_BOUND
from veil.outcome.outcome import Outcome
from veil.outcome.price_table import NUMBERS, columns_of_cells, price_table, proof_of_table
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.plan.recoding import Cells
from veil.published.finding import Finding
from veil.quality import Loss
from veil.recoding.lower_bound import trace_loss
from veil.tables import Csv, Format
from veil.tables.formats import TypeName
from veil.verification.lower_bound import verify_lower_bound

SECONDS_IN_A_REPORT = 3.0
"""Time that a report spends on a bound."""


class LossBound:
    """How much a release loses, and what no recoding with its hierarchies loses less than.

    Loss is the arithmetic mean over cells of the share of the other values of the domain that a label covers, 1 for a
    suppressed record: unlike `veil.quality.Loss`, which by default takes the geometric mean over columns. Bound, gap
    and prices are figures of the input: keep them to yourself.

    Attributes
    ----------
    loss : float
        The loss of the release.
    lower_bound : float, optional
        A loss that no recoding of the input under the plan is below; None if there is no bound.
    gap : float, optional
        Largest relative distance of the loss to the least one: 0.05 means that no recoding loses more than 5 % less.
    sentence : str
        Loss, bound and distance in words, rounded so that they claim no more than is proven.
    reason : str
        Why there is no bound; empty if there is one.
    """

    def __init__(self, outcome: Outcome, trace: CellTrace) -> None:
        self._outcome, self.trace = outcome, trace
        self.loss = float(trace.score)
        self.lower_bound = None if trace.proof is None else float(trace.proof.score)
        self.gap, self.sentence, self.reason = trace.gap, trace.sentence, trace.why_no_bound

    @functools.cached_property
    def prices(self) -> pa.Table | None:
        """The secret table that proves the bound to `veil.verify(..., lower_bound=...)`: it has the cells of the input.

        None without a bound, and if the plan has another quality model than loss: it is checked by that.
        """
        prepared = self._outcome.searched
        if self.trace.proof is None or not isinstance(prepared.plan.quality, Loss):
            return None
        return price_table(self.trace.proof, prepared.table, prepared.encoding.names).table

    def __repr__(self) -> str:
        return f"LossBound({self.sentence})"


def bound_loss(
    outcome: Outcome,
    *,
    time_limit: float,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
) -> LossBound:
    """Return the loss of an outcome, and what no recoding loses less than."""
    with following(progress) as tracker:
        trace = trace_loss(outcome, seconds=time_limit, cancel=cancel or (lambda: False), progress=tracker)
        return LossBound(outcome, trace)


def bound_for_report(outcome: Outcome) -> Phrase | None:
    """Return loss and bound in words, for the data holder; None if its search says so already, or none is possible."""
    if isinstance(outcome.recoding, Cells):
        return None
    try:
        return trace_loss(
            outcome, seconds=SECONDS_IN_A_REPORT, cancel=lambda: False, progress=Progress()
        ).sentence
    except PlanError:
        return None


def check_lower_bound(
    original: Any, plan: Plan, prices: Any, format: Format | None = None, engine: Engine = "auto"
) -> Finding:
    """Check the lower bound of a plan for an input, by the table with its prices or its file."""
    source = open_for_plan(original, plan, format, engine, Progress())
    prepared = prepare(source.table, plan, source.weights, source.columns)
    size = forced_size(prepared)
    if not isinstance(size, ForcedSize):
        return Finding(NO_BOUND, False, size)
    names = prepared.encoding.names
    texts: dict[str, TypeName] = dict.fromkeys([*columns_of_cells(names, size.attribute), *NUMBERS], "string")
    is_file = isinstance(prices, str | os.PathLike)
    table = open_source(prices, Csv(types=texts) if is_file else None, "memory", fetch_all).table
    return verify_lower_bound(prepared, proof_of_table(table, prepared.rows, names, size))
