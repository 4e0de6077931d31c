"""Verification of a published table."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from veil.errors import PlanError
from veil.web.body import Body, Name
from veil.web.child import CHILDREN
from veil.web.draft import checked_recipe
from veil.web.reading import verify_apart
from veil.web.routes.base import InSession
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])


class Check(Body):
    """A published table, uploaded like any other, and its promises: a certificate or a recipe."""

    table: Name
    certificate: Annotated[
        dict[str, Any] | None, Field(description="the certificate, as its file holds it")
    ] = None
    recipe: dict[str, Any] | None = None


@router.post("/verify", status_code=HTTPStatus.ACCEPTED)
def verify(body: Check, session: InSession) -> TaskStatus:
    """Verify the promises of a certificate or a recipe on a published table, without the input."""
    table = session.table(body.table)
    if (body.certificate is None) == (body.recipe is None):
        raise PlanError("say what the table promises: send a `certificate` or a `recipe`, one of the two")
    plan = None if body.recipe is None else checked_recipe(body.recipe).plan()
    path = table.source.path

    def work(task: Task) -> dict[str, object]:
        task.report_progress("verifying")
        arguments = plan, body.certificate, table.source.format, session.folder
        if path is None:
            result = verify_apart(table.whole, *arguments)
        else:
            result = CHILDREN.run(verify_apart, path, *arguments, name=table.name, check=task.check)
        return vars(result) | {"holds": result.holds}

    return session.start("verify", work)
