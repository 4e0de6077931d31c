"""Projects: saved as a file, and opened from one."""

from __future__ import annotations

import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from veil.recipe.project import ARX_SUFFIX, SUFFIX
from veil.web.jobs import Task
from veil.web.projects import project_of
from veil.web.routes.base import InSession, JobTold, the_session, told
from veil.web.routes.tables import open_file
from veil.web.uploads import Upload, file_name

router = APIRouter(tags=["projects"])


@router.get("/project", response_class=FileResponse)
def save(session: InSession, table: bool = False) -> FileResponse:
    """Return all that was decided as a project (.veil); with the table only if that is asked for."""
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
async def send(request: Request, veil_file_name: Annotated[str, Header()]) -> JobTold:
    """Open a project of Veil (.veil) or of ARX (.deid): the file as the body, its name as the header Veil-File-Name.

    What could not be taken over is in `left_out` of the result.
    """
    session, name = the_session(request), file_name(veil_file_name, (SUFFIX, ARX_SUFFIX))
    upload = Upload(session.folder, name)
    await upload.receive(request.stream())

    def work(job: Task) -> dict[str, Any]:
        try:
            return open_file(session, upload.path, name, job)
        finally:
            upload.discard()

    return told(upload.start(session, "open project", work))
