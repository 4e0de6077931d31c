"""Alternative transformations: listed, evaluated, with level costs, and applied."""

from __future__ import annotations

import dataclasses
import time
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from veil.api.search import SearchResult
from veil.lattice.space import NodeRecord
from veil.web.draft import require_key
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, TaskStatus, status_of
from veil.web.routes.facts import LOOKING, facts, keep_release, score
from veil.web.routes.tables import Name
from veil.web.session import SessionRelease
from veil.web.tasks import Task

router = APIRouter(tags=["releases"])

Level = Annotated[int, Field(ge=0, le=1000)]


def _require_search(entry: SessionRelease) -> SearchResult:
    if entry.release.search is None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "this release has several transformations: there are no others to look at",
        )
    return entry.release.search


def _node(record: NodeRecord) -> dict[str, Any]:
    return {
        "levels": list(record.levels),
        "state": record.state,
        "score": None if record.score is None else score(record.score),
        "bound": score(record.bound),
        "suppressed": record.suppressed,
        "evaluated": record.evaluated,
    }


class Listing(Body):
    """A selection of transformations by state and by the levels of columns."""

    state: Literal["anonymous", "not anonymous", "pruned", "unseen"] | None = None
    levels: dict[Name, Level] | None = None
    sort: Literal["score", "levels", "suppressed"] = "score"
    limit: Annotated[int, Field(ge=1, le=5000)] = 1000


@router.post("/releases/{id}/nodes")
def nodes(id: str, listing: Listing, session: InSession) -> dict[str, Any]:
    """List transformations with their scores and bounds, the best first."""
    entry = session.release(id)
    search = _require_search(entry)
    with entry.lock:
        records = search.nodes(**listing.model_dump())
        return {"nodes": [_node(each) for each in records], "counts": search.explored.counts()}


class NodeBody(Body):
    """A transformation: levels by column. All other columns keep their level."""

    levels: Annotated[dict[Name, Level], Field(max_length=500)]


@router.post("/releases/{id}/nodes/evaluate")
def evaluate(id: str, node: NodeBody, session: InSession) -> dict[str, Any]:
    """Evaluate a transformation and its neighbours: itself, then less, then more generalized ones."""
    entry = session.release(id)
    search = _require_search(entry)
    with entry.lock:
        return {"nodes": [_node(each) for each in search.explore(node.levels)]}


@router.post("/releases/{id}/prices", status_code=HTTPStatus.ACCEPTED)
def prices(id: str, node: NodeBody, session: InSession) -> TaskStatus:
    """Return the cost of each level of each column, with some levels fixed."""
    entry = session.release(id)
    search = _require_search(entry)

    def work(task: Task) -> dict[str, Any]:
        costs: list[dict[str, Any]] = []
        prices = search.price_each(node.levels, progress=task.report_progress, cancel=task.is_stopped)
        while True:
            # One cost at a time, with a pause: other requests that need the lock do not wait for all costs.
            with entry.lock:
                each = next(prices, None)
            if each is None:
                break
            costs = [*costs, dataclasses.asdict(each) | {"score": score(each.score)}]
            task.show({"prices": costs})
            time.sleep(0.001)
        columns = list(search.level_names)
        return {"prices": sorted(costs, key=lambda each: (columns.index(each["column"]), each["level"]))}

    return status_of(session.start("prices", work))


@router.post("/releases/{id}/apply", status_code=HTTPStatus.ACCEPTED)
def apply(id: str, node: NodeBody, session: InSession) -> TaskStatus:
    """Apply another transformation and verify it. The promises stay."""
    entry = session.release(id)
    search = _require_search(entry)
    require_key(entry.recipe, session.key_file)

    def work(task: Task) -> dict[str, Any]:
        task.report_progress("applying and verifying")
        release = search.apply(node.levels)
        task.report_progress(LOOKING)
        return keep_release(session, task, SessionRelease(release, entry.table, entry.recipe, facts(release)))

    return status_of(session.start("apply", work))
