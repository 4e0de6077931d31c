"""Alternative transformations: listed, evaluated, with level costs, and applied."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import Field

from veil.api.search import SearchResult
from veil.lattice.space import NodeRecord, State
from veil.web.body import Body, Name
from veil.web.draft import require_key
from veil.web.facts import score
from veil.web.problems import Refused
from veil.web.routes.base import InSession, OfRelease, keep_release
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])

Level = Annotated[int, Field(ge=0, le=1000)]


def _search(entry: OfRelease) -> SearchResult:
    if entry.release.lattice is None:
        raise Refused("this release has several transformations: there are no others to look at")
    return entry.release.lattice


OfSearch = Annotated[SearchResult, Depends(_search)]


@dataclass(frozen=True)
class NodeStatus:
    """A transformation with its score, or a bound that it does not beat."""

    levels: list[int]
    state: State
    score: float | None
    bound: float | None
    suppressed: int
    evaluated: bool

    @classmethod
    def of(cls, record: NodeRecord) -> NodeStatus:
        """Describe a node."""
        fields = record._asdict() | {"score": score(record.score), "bound": score(record.bound)}
        return cls(**{**fields, "levels": list(record.levels)})


class Listing(Body):
    """A selection of transformations by state and by the levels of columns."""

    state: Literal["anonymous", "not anonymous", "pruned", "unseen"] | None = None
    levels: dict[Name, Level] | None = None
    sort: Literal["score", "levels", "suppressed"] = "score"
    limit: Annotated[int, Field(ge=1, le=5000)] = 1000


@router.post("/releases/{id}/nodes")
def nodes(
    listing: Listing, entry: OfRelease, search: OfSearch
) -> dict[str, list[NodeStatus] | dict[State, int]]:
    """List transformations with their scores and bounds, the best first."""
    with entry.lock:
        records = search.nodes(**listing.model_dump())
        return {"nodes": [NodeStatus.of(each) for each in records], "counts": search.explored.counts()}


class NodeBody(Body):
    """A transformation: levels by column. All other columns keep their level."""

    levels: Annotated[dict[Name, Level], Field(max_length=500)]


@router.post("/releases/{id}/nodes/evaluate")
def evaluate(node: NodeBody, entry: OfRelease, search: OfSearch) -> dict[str, list[NodeStatus]]:
    """Evaluate a transformation and its neighbours: itself, then less, then more generalized ones."""
    with entry.lock:
        return {"nodes": [NodeStatus.of(each) for each in search.neighbours(node.levels)]}


@router.post("/releases/{id}/prices", status_code=HTTPStatus.ACCEPTED)
def prices(node: NodeBody, entry: OfRelease, search: OfSearch, session: InSession) -> TaskStatus:
    """Return the cost of each level of each column, with some levels fixed."""

    def work(task: Task) -> dict[str, list[dict[str, Any]]]:
        costs: list[dict[str, Any]] = []
        prices = search.each_level_cost(node.levels, progress=task.report_progress, cancel=task.is_stopped)
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

    return session.start("prices", work)


@router.post("/releases/{id}/apply", status_code=HTTPStatus.ACCEPTED)
def apply(node: NodeBody, entry: OfRelease, search: OfSearch, session: InSession) -> TaskStatus:
    """Apply another transformation and verify it. The promises stay."""
    require_key(entry.recipe, session.key_file)

    def work(task: Task) -> dict[str, str]:
        task.report_progress("applying and verifying")
        return keep_release(session, task, search.apply(node.levels), entry.table, entry.recipe)

    return session.start("apply", work)
