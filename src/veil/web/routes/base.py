"""The session, table or release of a request, and the form of answers, for all routes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from veil.api.release import Release
from veil.web.open_table import OpenTable
from veil.web.session import BrowserSession, SessionRelease
from veil.web.tasks import Task
from veil.web.uploads import removed_on_failure


def the_session(request: Request) -> BrowserSession:
    """Return the session that the guard has identified."""
    return cast("BrowserSession", request.state.session)


InSession = Annotated[BrowserSession, Depends(the_session)]


def _table(id: str, session: InSession) -> OpenTable:
    return session.table(id)


def _release(id: str, session: InSession) -> SessionRelease:
    return session.release(id)


OfTable = Annotated[OpenTable, Depends(_table)]
OfRelease = Annotated[SessionRelease, Depends(_release)]


def keep_release(
    session: BrowserSession, task: Task, release: Release, table: OpenTable, recipe: dict[str, Any]
) -> dict[str, str]:
    """Keep a release, unless the task that made it was stopped meanwhile."""
    task.report_progress("looking at the release")
    entry = SessionRelease(release, table, recipe)
    return task.commit(lambda: {"release": session.keep(entry).id})


def send_file(
    session: BrowserSession, name: str, write: Callable[[Path], object], sent_name: str
) -> FileResponse:
    """Write a file into a temporary folder, send it, and remove it."""
    folder = Path(tempfile.mkdtemp(dir=session.folder))
    with removed_on_failure(folder):
        write(folder / name)
    remove = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(folder / name, filename=sent_name, background=remove)
