"""Jobs: their status, their events, and how to stop them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from veil.web.jobs import Task
from veil.web.routes.base import InSession, JobTold, status_of, the_session

router = APIRouter(prefix="/jobs", tags=["jobs"])

PAUSE = 0.1
"""Seconds between two polls of a job."""


@router.get("")
def all_jobs(session: InSession) -> list[JobTold]:
    """List the jobs of the session, the oldest first."""
    return [status_of(job) for job in session.jobs.values()]


@router.get("/{id}")
def one(id: str, session: InSession) -> JobTold:
    """Return the status of a job."""
    return status_of(session.job(id))


@router.delete("/{id}")
def stop(id: str, session: InSession) -> JobTold:
    """Stop a job: a search keeps the best so far, any other result is discarded."""
    job = session.job(id)
    job.cancel()
    return status_of(job)


@router.get("/{id}/events", response_class=StreamingResponse)
async def events(id: str, request: Request) -> StreamingResponse:
    """Follow a job, as server-sent events, until it ends."""
    return StreamingResponse(_follow(the_session(request).job(id)), media_type="text/event-stream")


async def _follow(job: Task) -> AsyncIterator[str]:
    version, waited = -1, 0
    yield "retry: 300\n\n"  # milliseconds until a browser reconnects
    while True:
        if job.version != version:
            version, waited = job.version, 0
            yield f"data: {json.dumps(job.status())}\n\n"
            if job.state != "running":
                return
        elif (waited := waited + 1) % 100 == 0:
            yield ": still there\n\n"  # so that no proxy closes the connection
        await asyncio.sleep(PAUSE)
