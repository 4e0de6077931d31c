"""Projects, saved to files and opened from them."""

from __future__ import annotations

import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from veil.recipe.project import ARX_SUFFIX, SUFFIX
from veil.web.projects import project_of
from veil.web.routes.base import InSession, TaskStatus, status_of, the_session
from veil.web.routes.tables import open_file
from veil.web.tasks import Task
from veil.web.uploads import Upload, file_name

router = APIRouter(tags=["projects"])


@router.get("/project", response_class=FileResponse)
def save(session: InSession, table: bool = False) -> FileResponse:
    """Return the session as a project (.veil); with the table only if `table` is true."""
    folder = tempfile.TemporaryDirectory(dir=session.folder)
    try:
        path = project_of(session, with_table=table).save(Path(folder.name) / f"project{SUFFIX}")
    except BaseException:
        folder.cleanup()
        raise
    open_table = session.tables.get(session.history.draft.table or "")
    return FileResponse(
        path,
        filename=f"{open_table.stem if open_table else 'project'}{SUFFIX}",
        background=BackgroundTask(folder.cleanup),
    )


@router.post("/projects", status_code=HTTPStatus.ACCEPTED)
async def send(request: Request, veil_file_name: Annotated[str, Header()]) -> TaskStatus:
    """Open a project of Veil (.veil) or ARX (.deid): the file as the body, its name as header Veil-File-Name.

    `left_out` of the result lists the parts that could not be converted.
    """
    session, name = the_session(request), file_name(veil_file_name, (SUFFIX, ARX_SUFFIX))
    upload = Upload(session.folder, name)
    await upload.receive(request.stream())

    def work(task: Task) -> dict[str, Any]:
        try:
            return open_file(session, upload.path, name, task)
        finally:
            upload.discard()

    return status_of(upload.start(session, "open project", work))
