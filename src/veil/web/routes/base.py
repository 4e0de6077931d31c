"""What all routes share: the session of a request, and the form of answers."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from veil.web.jobs import Task
from veil.web.session import BrowserSession


class Body(BaseModel):
    """What is sent: nothing but what is asked for."""

    model_config = ConfigDict(extra="forbid")


class JobTold(BaseModel):
    """A job as it stands."""

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
    """Return the session that the guard has found."""
    return cast("BrowserSession", request.state.session)


InSession = Annotated[BrowserSession, Depends(the_session)]


def told(job: Task) -> JobTold:
    """Answer with a job."""
    return JobTold(**job.told())
