"""The state of a session."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter

from veil.base.version import __version__
from veil.web.open_table import TableSummary
from veil.web.routes.base import InSession
from veil.web.tasks import TaskStatus

router = APIRouter(tags=["session"])


@dataclass(frozen=True)
class SessionStatus:
    """The tables, tasks and newest release of a session; `given` is the table of the server's start."""

    version: str
    tables: list[TableSummary]
    tasks: list[TaskStatus]
    release: str | None
    allow_paths: bool
    given: str | None


@router.get("/session")
def look(session: InSession) -> SessionStatus:
    """Return the tables, tasks and newest release of the session."""
    return SessionStatus(
        __version__,
        [table.summary() for table in session.tables.values()],
        [task.status() for task in session.tasks.values()],
        next(reversed(session.releases), None),
        session.allow_paths,
        None if session.initial_table is None else session.initial_table.name,
    )
