"""Tasks: their status, their events, and how to stop them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from veil.web.routes.base import InSession, the_session
from veil.web.tasks import Task, TaskStatus

router = APIRouter(prefix="/tasks", tags=["tasks"])

PAUSE = 0.1
"""Seconds between two polls of a task."""


@router.get("")
def all_tasks(session: InSession) -> list[TaskStatus]:
    """List the tasks of the session, the oldest first."""
    return [task.status() for task in session.tasks.values()]


@router.get("/{id}")
def one(id: str, session: InSession) -> TaskStatus:
    """Return the status of a task."""
    return session.task(id).status()


@router.delete("/{id}")
def stop(id: str, session: InSession) -> TaskStatus:
    """Stop a task: a search keeps the best so far, any other result is discarded."""
    task = session.task(id)
    task.cancel()
    return task.status()


@router.get("/{id}/events", response_class=StreamingResponse)
async def events(id: str, request: Request) -> StreamingResponse:
    """Follow a task, as server-sent events, until it ends."""
    return StreamingResponse(_follow(the_session(request).task(id)), media_type="text/event-stream")


async def _follow(task: Task) -> AsyncIterator[str]:
    version, waited = -1, 0
    yield "retry: 300\n\n"  # milliseconds until a browser reconnects
    while True:
        if task.version != version:
            version, waited = task.version, 0
            yield f"data: {task.status().model_dump_json()}\n\n"
            if task.state != "running":
                return
        elif (waited := waited + 1) % 100 == 0:
            yield ": still there\n\n"  # so that no proxy closes the connection
        await asyncio.sleep(PAUSE)
