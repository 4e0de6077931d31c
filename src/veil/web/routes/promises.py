"""The state of the promises of the plan before a search."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter

import veil
from veil.api.promises import Standing
from veil.models.implication import RuleApplication
from veil.web.draft import checked_recipe
from veil.web.problems import Refused
from veil.web.routes.base import InSession, TaskStatus, status_of
from veil.web.tasks import Task

router = APIRouter(tags=["plan"])


@router.post("/plan/promises", status_code=HTTPStatus.ACCEPTED)
def standing(session: InSession) -> TaskStatus:
    """Return whether the table keeps each promise of the plan, others imply it, or it cannot hold."""
    draft = session.history.draft
    table = session.table(draft.table or "")
    plan = checked_recipe(draft.recipe()).plan()
    if table.relation is not None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows: search once instead")

    def work(task: Task) -> dict[str, Any]:
        task.report_progress("assessing the table")
        return {"promises": [_promise(each) for each in veil.promises(table.arrow, plan)]}

    return status_of(session.start("promises", work))


def _promise(standing: Standing) -> dict[str, Any]:
    finding = dataclasses.asdict(standing.finding) | {"verdict": standing.finding.verdict}
    return {
        "kind": type(standing.model).__name__,
        "finding": finding,
        "follows": [_step(step) for step in standing.follows],
        "impossible": standing.impossible,
    }


def _step(step: RuleApplication) -> dict[str, Any]:
    return {"from": [str(each) for each in step.premises], "why": step.why, "said": str(step)}
