"""Other transformations than the one that was found: listed, priced, evaluated, and taken instead."""

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
from veil.web.jobs import Task
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import LOOKING, facts, kept, score
from veil.web.routes.tables import Name
from veil.web.session import SessionRelease

router = APIRouter(tags=["releases"])

Level = Annotated[int, Field(ge=0, le=1000)]


def _searched(made: SessionRelease) -> SearchResult:
    if made.release.search is None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "this release has several transformations: there are no others to look at",
        )
    return made.release.search


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
    """Which transformations: by state and by the levels of columns."""

    state: Literal["anonymous", "not anonymous", "pruned", "unseen"] | None = None
    levels: dict[Name, Level] | None = None
    sort: Literal["score", "levels", "suppressed"] = "score"
    limit: Annotated[int, Field(ge=1, le=5000)] = 1000


@router.post("/releases/{id}/nodes")
def nodes(id: str, asked: Listing, session: InSession) -> dict[str, Any]:
    """List transformations with what is known of them, the best first."""
    made = session.release(id)
    search = _searched(made)
    with made.lock:
        listed = search.nodes(state=asked.state, levels=asked.levels, sort=asked.sort, limit=asked.limit)
        return {"nodes": [_node(each) for each in listed], "counts": search.explored.counts()}


class NodeBody(Body):
    """A transformation: levels by column. Columns that are not named stay as they are."""

    levels: Annotated[dict[Name, Level], Field(max_length=500)]


@router.post("/releases/{id}/nodes/evaluate")
def evaluate(id: str, node: NodeBody, session: InSession) -> dict[str, Any]:
    """Evaluate a transformation and its neighbours: itself first, then those that keep more, then those that keep less."""
    made = session.release(id)
    search = _searched(made)
    with made.lock:
        return {"nodes": [_node(each) for each in search.explore(node.levels)]}


@router.post("/releases/{id}/prices", status_code=HTTPStatus.ACCEPTED)
def prices(id: str, node: NodeBody, session: InSession) -> JobTold:
    """Tell what each level of each column costs, with some levels fixed."""
    made = session.release(id)
    search = _searched(made)

    def work(job: Task) -> dict[str, Any]:
        found: list[dict[str, Any]] = []
        prices = search.price_each(node.levels, progress=job.tell, cancel=job.asked_to_stop)
        while True:
            # One price at a time, and a moment for whoever waits meanwhile: neighbours do not wait for all prices.
            with made.lock:
                each = next(prices, None)
            if each is None:
                break
            found = [*found, dataclasses.asdict(each) | {"score": score(each.score)}]
            job.show({"prices": found})
            time.sleep(0.001)
        columns = list(search.level_names)
        return {"prices": sorted(found, key=lambda each: (columns.index(each["column"]), each["level"]))}

    return told(session.start("prices", work))


@router.post("/releases/{id}/apply", status_code=HTTPStatus.ACCEPTED)
def apply(id: str, node: NodeBody, session: InSession) -> JobTold:
    """Take another transformation: apply it and verify it. The promises stay."""
    made = session.release(id)
    search = _searched(made)
    require_key(made.recipe, session.key_file)

    def work(job: Task) -> dict[str, Any]:
        job.tell("applying and verifying", 0, 0, "")
        release = search.apply(node.levels)
        job.tell(LOOKING, 0, 0, "")
        return kept(session, job, SessionRelease(release, made.table, made.recipe, facts(release)))

    return told(session.start("apply", work))
