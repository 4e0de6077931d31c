"""Sets of items in a plan. Few plans have them, and the modules load slowly: they are imported on demand."""

from __future__ import annotations

from veil.outcome.outcome import Outcome
from veil.plan.plan import Plan
from veil.tables.source import Source


def gathered(source: Source, plan: Plan) -> Source:
    """Return a source with one row per person, for a plan that generalizes items of people."""
    if not plan.items:
        return source
    from veil.masking.items.collect import gathered

    return gathered(source, plan)


def with_items(outcome: Outcome) -> Outcome:
    """Return an outcome whose sets are generalized as its plan asks, if it does."""
    if outcome.plan is None or not outcome.plan.items:
        return outcome
    from veil.masking.items.in_plan import with_items

    return with_items(outcome)
