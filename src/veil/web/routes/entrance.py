"""Beginning and ending a session."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response

from veil.base.version import __version__
from veil.web.guard import COOKIE
from veil.web.problems import Refused
from veil.web.workbench import Workbench

router = APIRouter(tags=["session"])


def _workbench(request: Request) -> Workbench:
    return cast("Workbench", request.app.state.workbench)


InWorkbench = Annotated[Workbench, Depends(_workbench)]


@router.post("/session")
def begin(request: Request, response: Response, workbench: InWorkbench) -> dict[str, str]:
    """Begin a session: the token, as `Authorization: Bearer`, becomes a cookie that scripts cannot read."""
    if not request.state.has_token:
        raise Refused(
            "the token is wrong: open the address that was printed", HTTPStatus.FORBIDDEN, "NoSession"
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


@router.delete("/session")
def end(request: Request, response: Response, workbench: InWorkbench) -> dict[str, bool]:
    """End the session and remove its files."""
    workbench.end_session(request.state.session)
    response.delete_cookie(COOKIE, path="/")
    return {"ended": True}
