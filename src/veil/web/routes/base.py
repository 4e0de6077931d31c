"""The session of a request and the form of answers, for all routes."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from veil.web.session import BrowserSession
from veil.web.tasks import Task


class Body(BaseModel):
    """A request body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class TaskStatus(BaseModel):
    """The status of a task."""

    id: str
    kind: str
    state: str
    phase: str
    done: int
    total: int
    note: str
    elapsed: float
    stopped: bool
    curve: list[list[float | None]] = Field(
        description="of a search: seconds, the best score from then on, and the score that none can beat"
    )
    result: dict[str, Any] | None = Field(
        description="what came of it; of prices, those known so far while it runs"
    )
    problem: dict[str, Any] | None


def the_session(request: Request) -> BrowserSession:
    """Return the session that the guard has identified."""
    return cast("BrowserSession", request.state.session)


InSession = Annotated[BrowserSession, Depends(the_session)]


def status_of(task: Task) -> TaskStatus:
    """Return the status of a task as an answer."""
    return TaskStatus(**task.status())
