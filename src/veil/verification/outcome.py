"""The check of an outcome, by any method: an outcome that breaks a promise is withheld."""

from __future__ import annotations

import dataclasses
from typing import NoReturn

from veil.base.exact import largest_count
from veil.base.wording import plural
from veil.errors import NoSolutionError, Say
from veil.outcome.masked import Masked
from veil.outcome.outcome import Outcome, without_rows
from veil.plan.linked_tables import Stacked
from veil.published.finding import Verification
from veil.verification.linked_tables import verify_tables
from veil.verification.recoded import verify_recoded
from veil.verification.release import rows_of, verify_release
from veil.verification.steps.step import verify_step


def verified(outcome: Outcome) -> Outcome:
    """Return an outcome with the findings about each promise on its table; raise if one is broken."""
    checked = dataclasses.replace(outcome, verification=verify_outcome(outcome))
    shows = not checked.verification.holds and _shows_suppressed(outcome)
    if shows and verify_outcome(without_rows(outcome)).holds:
        _refuse_cells(checked)
    checked.verification.require()
    return checked


def _shows_suppressed(outcome: Outcome) -> bool:
    return outcome.suppressed > 0 and outcome.roles.suppressed_rows == "keep cells"


def _refuse_cells(outcome: Outcome) -> NoReturn:
    """Refuse to publish unprotected cells of suppressed records."""
    broken = next(each for each in outcome.verification.findings if not each.holds)
    raise NoSolutionError(
        f"{plural(outcome.suppressed, 'record is', 'records are')} suppressed, but what their other columns "
        f"still show is not protected: {broken.promise} does not hold (found: {broken.measured}). Blank "
        "these cells as well (",
        Say("suppressed_rows", "blank"),
        "), drop the rows (",
        Say("suppressed_rows", "drop"),
        "), or allow fewer suppressed records (",
        Say("suppression_limit"),
        ")",
    )


def verify_outcome(outcome: Outcome) -> Verification:
    """Check each promise of an outcome on its table, and on all of its tables together."""
    verification, source = _verify_rows(outcome), outcome.source
    if isinstance(source, Masked):
        masks = source.masks.verification
        return Verification(
            (*verification.findings, *masks.findings), (*verification.open_questions, *masks.open_questions)
        )
    if isinstance(source, Stacked):
        findings = (*verification.findings, *verify_tables(outcome, source))
        return dataclasses.replace(verification, findings=findings)
    return verification


def _verify_rows(outcome: Outcome) -> Verification:
    plan, prepared = outcome.plan, outcome.prepared
    if plan is None and not outcome.last.traces and not outcome.is_condensed:
        (method,) = outcome.methods
        return verify_step(
            method,
            outcome.before,
            outcome.table,
            origins=outcome.link,
            apart=outcome.apart,
            removed=outcome.person_column,
        )
    if plan is None or prepared is None:
        return outcome.verification
    if outcome.recoding is not None:
        # A limit that was exceeded knowingly is not checked again.
        before = rows_of(prepared.table, prepared.rows.weights, plan)
        limit = largest_count(plan.suppression_limit, before.people)
        return verify_recoded(outcome, None if outcome.last.suppression.over_limit else limit)
    return verify_release(
        rows_of(prepared.table, prepared.rows.weights, plan),
        outcome.table,
        plan,
        outcome.levels,
        outcome.hierarchies,
        origins=outcome.link,
        suppressed_mask=outcome.link.pick(outcome.suppressed_mask),
        subset=prepared.subset,
        flag=outcome.flag,
        over_limit=outcome.last.suppression.over_limit,
    )
