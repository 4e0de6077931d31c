"""Projects, saved to files and opened from them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import FileResponse

from veil.recipe.project import ARX_SUFFIX, SUFFIX
from veil.web.projects import OpenedProject, open_file, project_of
from veil.web.routes.base import InSession, send_file, the_session
from veil.web.tasks import Task, TaskStatus
from veil.web.uploads import Upload, file_name

router = APIRouter(tags=["projects"])


@router.get("/project", response_class=FileResponse)
def save(session: InSession, table: bool = False) -> FileResponse:
    """Return the session as a project (.veil); with the table only if `table` is true."""
    stem = session.current_table.stem if session.current_table else "project"
    project = project_of(session, with_table=table)
    return send_file(session, f"project{SUFFIX}", project.save, f"{stem}{SUFFIX}")


@router.post("/projects", status_code=HTTPStatus.ACCEPTED)
async def send(request: Request, veil_file_name: Annotated[str, Header()]) -> TaskStatus:
    """Open a project of Veil (.veil) or ARX (.deid): the file as the body, its name as header Veil-File-Name.

    `left_out` of the result lists the parts that could not be converted.
    """
    session, name = the_session(request), file_name(veil_file_name, (SUFFIX, ARX_SUFFIX))
    upload = Upload(session.folder, name)
    await upload.receive(request.stream())

    def work(task: Task) -> OpenedProject:
        try:
            return open_file(session, upload.path, name, task)
        finally:
            upload.discard()

    return upload.start(session, "open project", work)
