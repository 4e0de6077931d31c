"""Beginning, looking at and ending a session."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response

from veil.base.version import __version__
from veil.web.guard import COOKIE
from veil.web.problems import Refused
from veil.web.routes.base import InWorkbench, the_session

router = APIRouter(tags=["session"])


@router.post("/session")
def begin(request: Request, response: Response, workbench: InWorkbench) -> dict[str, Any]:
    """Begin a session: the token, as `Authorization: Bearer`, becomes a cookie that scripts cannot read."""
    if not request.state.has_token:
        raise Refused(
            HTTPStatus.FORBIDDEN, "the token is wrong: open the address that was printed", kind="NoSession"
        )
    session = request.state.session or workbench.begin_session()
    response.set_cookie(
        COOKIE,
        session.number,
        httponly=True,
        samesite="strict",
        path="/",
        secure=request.url.scheme == "https",
    )
    return {"version": __version__}


@router.get("/session")
def look(request: Request, workbench: InWorkbench) -> dict[str, Any]:
    """Tell what the session holds."""
    session = the_session(request)
    newest = next(reversed(session.releases.values()), None)
    return {
        "version": __version__,
        "tables": [table.told() for table in session.tables.values()],
        "jobs": [job.told() for job in session.jobs.values()],
        "release": None if newest is None else newest.id,
        "allow_paths": workbench.allow_paths,
        "given": None if workbench.table is None else workbench.table.name,
    }


@router.delete("/session")
def end(request: Request, response: Response, workbench: InWorkbench) -> dict[str, Any]:
    """End the session and remove all that it has."""
    workbench.end_session(the_session(request))
    response.delete_cookie(COOKIE, path="/")
    return {"ended": True}
