"""How the promises of the plan stand before anything is searched."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter

import veil
from veil.api.promises import Standing
from veil.policy.substitution import RuleApplication
from veil.web.draft import checked_recipe
from veil.web.jobs import Task
from veil.web.problems import Refused
from veil.web.routes.base import InSession, JobTold, told

router = APIRouter(tags=["plan"])


@router.post("/plan/promises", status_code=HTTPStatus.ACCEPTED)
def standing(session: InSession) -> JobTold:
    """Tell of each promise of the plan whether the table keeps it already, whether it follows from others, or cannot hold."""
    draft = session.history.draft
    table = session.table(draft.table or "")
    plan = checked_recipe(draft.recipe()).plan()
    if table.held is not None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows: search once instead")

    def work(job: Task) -> dict[str, Any]:
        job.tell("assessing the table", 0, 0, "")
        return {"promises": [_told(each) for each in veil.promises(table.arrow, plan)]}

    return told(session.start("promises", work))


def _told(each: Standing) -> dict[str, Any]:
    finding = dataclasses.asdict(each.finding) | {"verdict": each.finding.verdict}
    return {
        "kind": type(each.model).__name__,
        "finding": finding,
        "follows": [_step(step) for step in each.follows],
        "impossible": each.impossible,
    }


def _step(step: RuleApplication) -> dict[str, Any]:
    return {"from": [str(each) for each in step.premises], "why": step.why, "said": str(step)}
