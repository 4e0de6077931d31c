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
from veil.web.body import Body, Name
from veil.web.draft import checked_recipe, with_key
from veil.web.problems import Refused
from veil.web.routes.base import InSession
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])


class SizesBody(Body):
    """Values of k to try with the plan."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=10**6)]], Field(min_length=1, max_length=20)]


@router.post("/frontier", status_code=HTTPStatus.ACCEPTED)
def estimate(sizes: SizesBody, session: InSession) -> TaskStatus:
    """Estimate the cost of the plan with other values of k, each by a search of at most two seconds."""
    table = session.table()
    plan = checked_recipe(session.history.draft.recipe()).plan()
    if not any(isinstance(model, KAnonymity) for model in plan.models):
        raise Refused("no promise has a k to try other values of")
    plan = with_key(dataclasses.replace(plan, time_limit=2.0), session.key_file)
    table.in_memory(": search once instead")

    def work(task: Task) -> dict[str, dict[str, Any]]:
        over = {"KAnonymity.k": sorted(set(sizes.k))}
        frontier = veil.frontier(table.source, plan, over=over, progress=task.report_progress)
        return {"frontier": frontier.to_dict()}

    return session.start("estimate", work)


class QuestionBody(Body):
    """The roles of columns for an assessment of the table."""

    table: Name
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    sensitive: Annotated[list[Name], Field(max_length=500)] = Field(default_factory=list)
    person: Name | None = None


@router.post("/assess", status_code=HTTPStatus.ACCEPTED)
def assess(question: QuestionBody, session: InSession) -> TaskStatus:
    """Find the strongest parameter of every privacy model that the table fulfils now."""
    whole = session.table(question.table).as_table()
    person = None if question.person == ASK else question.person

    def work(task: Task) -> dict[str, dict[str, Any]]:
        task.report_progress("assessing the table")
        quasi, sensitive = question.quasi_identifiers, question.sensitive
        assessment = veil.assess(whole, quasi_identifiers=quasi, sensitive=sensitive, person=person)
        fields = assessment.to_dict()
        for strength, each in zip(fields["strengths"], assessment, strict=True):
            strength["said"] = str(each)
        return {"assessment": fields}

    return session.start("assess", work)
