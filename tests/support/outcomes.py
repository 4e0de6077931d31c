"""Outcomes that are tampered with, for the verifier to find out."""

from __future__ import annotations

from veil.outcome.outcome import Outcome
from veil.plan.prepare import Prepared


def with_prepared(outcome: Outcome, prepared: Prepared) -> Outcome:
    """Return an outcome whose search claims to have been prepared otherwise."""
    others = [each for each in outcome.last.traces if not isinstance(each, Prepared)]
    return outcome.changed(traces=(prepared, *others))
