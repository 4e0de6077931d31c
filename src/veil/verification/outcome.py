"""The check of an outcome, whichever way it was made: what breaks a promise goes no further."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from veil.outcome.outcome import Outcome
from veil.published.finding import Verification
from veil.verification.recoded import verify_recoded
from veil.verification.release import verify_release


def verified(outcome: Outcome) -> Outcome:
    """Return an outcome with what was found of each promise on its table; raise if one is broken.

    Methods that are no generalization to levels of the lattice check their output themselves, as only they know what
    they promise.
    """
    checked = dataclasses.replace(outcome, verification=verify_outcome(outcome))
    checked.verification.require()
    return checked


def verify_outcome(outcome: Outcome) -> Verification:
    """Check each promise of an outcome on its table, beside the input."""
    plan, prepared = outcome.plan, outcome.prepared
    if plan is None or prepared is None:
        return outcome.verification
    if outcome.recoding is not None:
        # Who has passed the limit knowingly need not be told again.
        limit = int(Fraction(str(plan.suppression_limit)) * prepared.sample.records)
        return verify_recoded(outcome, None if outcome.over_limit else limit)
    return verify_release(
        prepared.table,
        outcome.table,
        plan,
        outcome.levels,
        outcome.hierarchies,
        rows=outcome.rows,
        subset=prepared.subset,
        flag=outcome.flag,
        over_limit=outcome.over_limit,
        weights=prepared.weights,
    )
