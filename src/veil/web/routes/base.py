"""What all routes share: the session of a request, the form of answers, and which refusals are documented."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from veil.web.jobs import Job
from veil.web.problems import MEDIA_TYPE
from veil.web.session import Session
from veil.web.workbench import Workbench


class Body(BaseModel):
    """What is sent: nothing but what is asked for."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """Why a request is refused."""

    type: str
    title: str
    status: int
    detail: str
    column: str | None = None


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


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": described}
    for status, described in {
        400: "not understood",
        403: "wrong token, host or origin",
        404: "not in this session",
        405: "not at this address",
        409: "changed meanwhile",
        413: "too large",
        415: "a kind of file that is not read",
        422: "refused by the plan or the table",
        429: "too many at a time",
        501: "a library is not installed",
    }.items()
}


def the_session(request: Request) -> Session:
    """Return the session that the guard has found."""
    return cast("Session", request.state.session)


def the_workbench(request: Request) -> Workbench:
    """Return the workbench that serves the request."""
    return cast("Workbench", request.app.state.workbench)


InSession = Annotated[Session, Depends(the_session)]
InWorkbench = Annotated[Workbench, Depends(the_workbench)]


def told(job: Job) -> JobTold:
    """Answer with a job."""
    return JobTold(**job.told())
