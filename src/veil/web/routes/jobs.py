"""Jobs: looking at them, following them, stopping them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from veil.web.jobs import Task
from veil.web.routes.base import InSession, JobTold, the_session, told

router = APIRouter(prefix="/jobs", tags=["jobs"])

PAUSE = 0.1
"""Seconds between two looks at a job."""


@router.get("")
def all_jobs(session: InSession) -> list[JobTold]:
    """List the jobs of the session, the oldest first."""
    return [told(job) for job in session.jobs.values()]


@router.get("/{id}")
def one(id: str, session: InSession) -> JobTold:
    """Tell how a job stands."""
    return told(session.job(id))


@router.delete("/{id}")
def stop(id: str, session: InSession) -> JobTold:
    """Stop a job: a search keeps the best so far, everything else is thrown away."""
    job = session.job(id)
    job.cancel()
    return told(job)


@router.get("/{id}/events", response_class=StreamingResponse)
async def events(id: str, request: Request) -> StreamingResponse:
    """Follow a job, as server-sent events, until it ends."""
    return StreamingResponse(_follow(the_session(request).job(id)), media_type="text/event-stream")


async def _follow(job: Task) -> AsyncIterator[str]:
    seen, waited = -1, 0
    yield "retry: 300\n\n"  # milliseconds until a browser asks again whose answer broke off
    while True:
        if job.version != seen:
            seen, waited = job.version, 0
            yield f"data: {json.dumps(job.told())}\n\n"
            if job.state != "running":
                return
        elif (waited := waited + 1) % 100 == 0:
            yield ": still there\n\n"  # so that nobody in between hangs up
        await asyncio.sleep(PAUSE)
