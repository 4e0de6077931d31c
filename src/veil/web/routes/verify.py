"""Checking a table that somebody has published."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from veil.errors import PlanError
from veil.web.child import CHILDREN
from veil.web.draft import checked_recipe
from veil.web.jobs import Task
from veil.web.reading import verify_apart
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.tables import Name

router = APIRouter(tags=["releases"])


class Check(Body):
    """A published table, sent like any other, and what it promises: a certificate, or a recipe."""

    table: Name
    certificate: Annotated[
        dict[str, Any] | None, Field(description="the certificate, as its file holds it")
    ] = None
    recipe: dict[str, Any] | None = None


@router.post("/verify", status_code=HTTPStatus.ACCEPTED)
def verify(asked: Check, session: InSession) -> JobTold:
    """Check that a published table keeps what a certificate or a recipe promises, without the original table."""
    table = session.table(asked.table)
    if (asked.certificate is None) == (asked.recipe is None):
        raise PlanError("say what the table promises: send a `certificate` or a `recipe`, one of the two")
    plan = None if asked.recipe is None else checked_recipe(asked.recipe).plan()
    path = table.source.path

    def work(job: Task) -> dict[str, Any]:
        job.tell("verifying", 0, 0, "")
        given = plan, asked.certificate, table.source.format
        if path is None:
            found = verify_apart(table.whole, *given, session.folder)
        else:
            found = CHILDREN.run(verify_apart, path, *given, path.parent, name=table.name, check=job.check)
        return {
            "holds": found.holds,
            "findings": [dataclasses.asdict(each) | {"verdict": each.verdict} for each in found.findings],
            "open_questions": list(found.open_questions),
        }

    return told(session.start("verify", work))
