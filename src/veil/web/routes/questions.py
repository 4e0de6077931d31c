"""Questions before a release: the models that the table fulfils now, and the cost of other values of k."""

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
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, TaskStatus, status_of
from veil.web.routes.facts import plain
from veil.web.routes.tables import Name
from veil.web.tasks import Task

router = APIRouter(tags=["releases"])


class SizesBody(Body):
    """Values of k to try with the plan."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=10**6)]], Field(min_length=1, max_length=20)]


@router.post("/frontier", status_code=HTTPStatus.ACCEPTED)
def estimate(sizes: SizesBody, session: InSession) -> TaskStatus:
    """Estimate the cost of the plan with other values of k, each by a search of at most two seconds."""
    draft = session.history.draft
    table = session.table(draft.table or "")
    plan = dataclasses.replace(checked_recipe(draft.recipe()).plan(), time_limit=2.0)
    if not any(isinstance(model, KAnonymity) for model in plan.models):
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "no promise has a k to try other values of")
    plan = with_key(plan, session.key_file)
    if table.relation is not None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows: search once instead")

    def work(task: Task) -> dict[str, Any]:
        frontier = veil.frontier(
            table.source, plan, over={"KAnonymity.k": sorted(set(sizes.k))}, progress=task.report_progress
        )
        return {"frontier": plain(frontier.to_dict())}

    return status_of(session.start("estimate", work))


class QuestionBody(Body):
    """The roles of columns for an assessment of the table."""

    table: Name
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    sensitive: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)
    person: Name | None = None


@router.post("/assess", status_code=HTTPStatus.ACCEPTED)
def assess(question: QuestionBody, session: InSession) -> TaskStatus:
    """Find the strongest parameter of every privacy model that the table fulfils now."""
    table = session.table(question.table)
    whole = table.arrow if table.relation is None else table.relation.table
    person = None if question.person == ASK else question.person

    def work(task: Task) -> dict[str, Any]:
        task.report_progress("assessing the table")
        assessment = veil.assess(
            whole, quasi_identifiers=question.quasi_identifiers, sensitive=question.sensitive, person=person
        )
        sentences = [{"said": str(each)} for each in assessment]
        fields = assessment.to_dict()
        fields["strengths"] = [a | b for a, b in zip(fields["strengths"], sentences, strict=True)]
        return {"assessment": plain(fields)}

    return status_of(session.start("assess", work))
