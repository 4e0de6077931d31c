"""The state of a session."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from veil.base.version import __version__
from veil.web.routes.base import InSession

router = APIRouter(tags=["session"])


@router.get("/session")
def look(session: InSession) -> dict[str, Any]:
    """Return the tables, tasks and newest release of the session."""
    newest = next(reversed(session.releases.values()), None)
    return {
        "version": __version__,
        "tables": [table.summary() for table in session.tables.values()],
        "tasks": [task.status() for task in session.tasks.values()],
        "release": None if newest is None else newest.id,
        "allow_paths": session.allow_paths,
        "given": None if session.initial_table is None else session.initial_table.name,
    }
