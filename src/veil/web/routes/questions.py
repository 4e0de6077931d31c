"""Questions before a release is made: what the table fulfils now, and what other values of k would cost."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

import veil
from veil.models import KAnonymity
from veil.plan.plan import ASK
from veil.web.draft import checked_recipe, with_key
from veil.web.jobs import Task
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import plain
from veil.web.routes.tables import Name

router = APIRouter(tags=["releases"])


class SizesBody(Body):
    """Values of k to try with the plan."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=10**6)]], Field(min_length=1, max_length=20)]


@router.post("/frontier", status_code=HTTPStatus.ACCEPTED)
def estimate(asked: SizesBody, session: InSession) -> JobTold:
    """Tell what the plan would cost with other values of k: each a search of two seconds at most."""
    draft = session.history.draft
    table = session.table(draft.table or "")
    plan = dataclasses.replace(checked_recipe(draft.recipe()).plan(), time_limit=2.0)
    if not any(isinstance(model, KAnonymity) for model in plan.models):
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "no promise has a k to try other values of")
    plan = with_key(plan, session.key_file)
    if table.held is not None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows: search once instead")

    def work(job: Task) -> dict[str, Any]:
        found = veil.frontier(
            table.source, plan, over={"KAnonymity.k": sorted(set(asked.k))}, progress=job.tell
        )
        return {"frontier": plain(found.to_dict())}

    return told(session.start("estimate", work))


class QuestionBody(Body):
    """What the table is asked for as it is."""

    table: Name
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    sensitive: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)
    person: Name | None = None


@router.post("/assess", status_code=HTTPStatus.ACCEPTED)
def assess(asked: QuestionBody, session: InSession) -> JobTold:
    """Find the strongest parameter of every privacy model that the table fulfils now."""
    table = session.table(asked.table)
    whole = table.arrow if table.held is None else table.held.table
    person = None if asked.person == ASK else asked.person

    def work(job: Task) -> dict[str, Any]:
        job.tell("assessing the table", 0, 0, "")
        found = veil.assess(
            whole, quasi_identifiers=asked.quasi_identifiers, sensitive=asked.sensitive, person=person
        )
        said = [{"said": str(each)} for each in found]
        made = found.to_dict()
        made["strengths"] = [a | b for a, b in zip(made["strengths"], said, strict=True)]
        return {"assessment": plain(made)}

    return told(session.start("assess", work))
