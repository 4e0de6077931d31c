"""Trials of other plans on the same table: what advice, relaxations and frontiers share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veil.errors import NoSolutionError, PlanError
from veil.models.base import PrivacyModel
from veil.plan.linked_tables import Stacked
from veil.plan.plan import Plan
from veil.tables.source import Source

if TYPE_CHECKING:
    from veil.api.release import Release


class Deadline:
    """A time limit for several trials, which somebody may also cancel."""

    def __init__(self, seconds: float, cancel: Callable[[], bool] | None) -> None:
        self.cancel = cancel or (lambda: False)
        self.end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether no time is left, or the trials are cancelled."""
        return time.monotonic() >= self.end or self.cancel()

    def seconds_for(self, part: int = 1) -> float:
        """Return the seconds that are left for one of so many trials, at least a tenth of a second."""
        return max(0.1, (self.end - time.monotonic()) / part)


def plan_from(verb: str, plan: Plan | None, options: Mapping[str, Any]) -> Plan:
    """Return the plan that is given, or make it of the keywords of one."""
    if (plan is None) == (not options):
        raise PlanError(f"`{verb}` needs a plan, or the keywords of one, and not both")
    return Plan(**options) if plan is None else plan


def with_model(plan: Plan, at: int, model: PrivacyModel | None) -> Plan:
    """Return the plan with another model at a place, or without the one there."""
    models = () if model is None else (model,)
    return replace(plan, models=(*plan.models[:at], *models, *plan.models[at + 1 :]))


def release_with(
    source: Source, plan: Plan, changes: Mapping[str, Any], deadline: Deadline
) -> Release | None:
    """Return the verified release of a plan with changes, by a search in the time left; None if there is none."""
    from veil.api.anonymize import anonymize_source

    seconds = deadline.seconds_for()
    limit = seconds if plan.time_limit is None else min(seconds, plan.time_limit)
    if isinstance(source, Stacked):  # the verifier checks the plan for all tables
        source = replace(source, asked=replace(source.asked, **changes))
    try:
        return anonymize_source(source, replace(plan, **changes, time_limit=limit), cancel=deadline.cancel)
    except NoSolutionError:
        return None
