"""Ways to anonymize the table side by side: of each its figures, and the change of the plan that takes it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

import veil
from veil.api.ways import WAYS, Way, WayName
from veil.base.progress import Progress
from veil.dp.publish import safepub_of
from veil.plan.recoding import FullDomain, by_name
from veil.recipe import Recipe
from veil.web.body import Name
from veil.web.draft import with_key
from veil.web.problems import Refused
from veil.web.routes.base import InSession
from veil.web.routes.releases import TableAndRecipe
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])


class WaysBody(TableAndRecipe):
    """The ways to try, the column to predict (by default the first sensitive one), and whether to try attacks."""

    ways: Annotated[list[WayName], Field(min_length=1, max_length=len(WAYS))] = Field(
        default_factory=lambda: list(WAYS)
    )
    target: Name | None = None
    attacks: Annotated[bool, Field(description="takes as long as the releases themselves")] = False
    time_limit: Annotated[float, Field(gt=0, le=600, description="seconds for each search")] = 10.0


@router.post("/ways", status_code=HTTPStatus.ACCEPTED)
def compare(body: WaysBody, session: InSession) -> TaskStatus:
    """Compare ways to anonymize the table under the plan; those that are done stay if the task is stopped."""
    table, _, plan = body.table_and_recipe(session, without=["recoding"])
    if safepub_of(plan) is not None:
        raise Refused("SafePub draws one release and spends budget on it: there are no other ways beside it")
    plan = with_key(plan, session.key_file)
    rows = table.in_memory(", and comparing ways needs all of them in memory")
    if body.target is not None:
        table.require(body.target)

    def work(task: Task) -> dict[str, Any]:
        found: dict[str, Any] = {"target": None, "original_accuracy": None, "ways": []}
        for at, name in enumerate(body.ways):
            ways = veil.compare_ways(
                rows, plan, ways=[name], target=body.target, attacks=body.attacks, time_limit=body.time_limit,
                progress=_WayProgress(task, name, at, len(body.ways)), cancel=task.is_stopped,
            )  # fmt: skip
            task.check()  # a way that was stopped is none
            known = {key: value for key, value in ways.to_dict().items() if value is not None}
            found |= known | {"ways": [*found["ways"], ways[name].to_dict() | {"set": _change(ways[name])}]}
            task.show(found)
        return found

    return session.start("ways", work)


def _change(way: Way) -> dict[str, Any] | None:
    """Return the change of the draft that takes a way; None if it has no release."""
    if way.release is None:
        return None
    if way.release.plan is None:
        steps = Recipe.of(*(each.method for each in way.release.steps)).spell()["steps"]
        return {"way": "masks", "masks": steps}
    recoding = by_name(way.name)
    kind = None if isinstance(recoding, FullDomain) else {"kind": type(recoding).__name__}
    return {"way": "search", "recoding": kind}


class _WayProgress(Progress):
    """Progress of one of several ways."""

    def __init__(self, task: Task, way: str, at: int, number: int) -> None:
        self.task, self.way, self.at, self.number = task, way, at, number

    def phase(self, name: str) -> None:
        self.advance(0, 1)

    def advance(self, done: int, total: int, note: str = "") -> None:
        share = min(1.0, done / (total or 1))
        self.task.report_progress(self.way, round(1000 * (self.at + share)), 1000 * self.number, note)
