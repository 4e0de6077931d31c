"""The state of the promises of the plan before a search."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from fastapi import APIRouter

import veil
from veil.api.promises import Standing
from veil.published.finding import Finding
from veil.web.draft import checked_recipe
from veil.web.routes.base import InSession
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["plan"])


@dataclass(frozen=True)
class PromiseStatus:
    """The state of a promise, and the steps by which it follows from others."""

    kind: str
    finding: Finding
    follows: list[dict[str, str | list[str]]]
    impossible: str | None


@router.post("/plan/promises", status_code=HTTPStatus.ACCEPTED)
def standing(session: InSession) -> TaskStatus:
    """Return whether the table keeps each promise of the plan, others imply it, or it cannot hold."""
    table = session.table()
    plan = checked_recipe(session.history.draft.recipe()).plan()
    rows = table.in_memory(": search once instead")

    def work(task: Task) -> dict[str, list[PromiseStatus]]:
        task.report_progress("assessing the table")
        return {"promises": [_status(each) for each in veil.promises(rows, plan)]}

    return session.start("promises", work)


def _status(standing: Standing) -> PromiseStatus:
    follows: list[dict[str, str | list[str]]] = [
        {"from": [str(each) for each in step.premises], "why": step.why, "said": str(step)}
        for step in standing.follows
    ]
    return PromiseStatus(type(standing.model).__name__, standing.finding, follows, standing.impossible)
