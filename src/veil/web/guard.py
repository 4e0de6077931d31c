"""Checks of every request (host, origin, token, size) and the security headers of every answer.

Any page open in the same browser can reach a server on this machine. So a request is refused unless its host
is a name of this server, it comes from no other site, and it carries the token of this server or the cookie
exchanged for it.
"""

from __future__ import annotations

import secrets
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from veil.base.references import untrusted
from veil.web.apart import SessionProcess
from veil.web.problems import Refused, answer, problem_of

if TYPE_CHECKING:
    from veil.web.workbench import Workbench

COOKIE = "veil-session"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
"""A report has its own styles and pictures, and is shown in a frame without scripts."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

API = "/api/"
_BEGIN, _END = ("POST", "/api/v1/session"), ("DELETE", "/api/v1/session")
_OWN = (_BEGIN, _END)
"""Requests of a session that the server itself answers."""
LARGEST_BODY = 1_000_000
"""Bytes of a request, unless its address has a limit of its own."""
LARGEST_LOOK = 1 << 17
"""Bytes of a file from which its format is proposed."""


class Guard:
    """Middleware in front of the application."""

    def __init__(self, app: ASGIApp, workbench: Workbench) -> None:
        self.app, self.workbench = app, workbench
        self.largest = {
            "/api/v1/tables": workbench.largest_table,
            "/api/v1/projects": workbench.largest_table,
            "/api/v1/tables/look": LARGEST_LOOK,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                # Pages are revalidated each time: after an update, a browser would keep the old ones.
                headers["Cache-Control"] = "no-store" if scope["path"].startswith(API) else "no-cache"
            await send(message)

        try:
            self._check(scope)
        except Refused as error:
            await answer(problem_of(error))(scope, receive, send_with_headers)
            return
        session = scope.get("state", {}).get("session")
        body = _LimitedBody(receive, self._most(scope["path"]))
        if isinstance(session, SessionProcess) and (scope["method"], scope["path"]) not in _OWN:
            await session(scope, body, send_with_headers)
            return
        with untrusted(() if session is None else session.keys):
            await self.app(scope, body, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host")
        if not self.workbench.hosts.know(host, (scope.get("server") or (None,))[0]):
            raise Refused("this server is known by another name", HTTPStatus.FORBIDDEN, "WrongHost")
        origin = headers.get("origin")
        if origin is not None and not self.workbench.hosts.is_own_origin(origin, host):
            raise Refused("another site has sent this request", HTTPStatus.FORBIDDEN, "WrongOrigin")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise Refused("another site has sent this request", HTTPStatus.FORBIDDEN, "WrongOrigin")
        length = headers.get("content-length", "0")
        most = self._most(scope["path"])
        if not length.isdigit() or int(length) > most:
            raise Refused(too_large_sentence(most), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if scope["path"].startswith(API):
            self._identify(scope, headers)

    def _most(self, path: str) -> int:
        return self.largest.get(path, LARGEST_BODY)

    def _identify(self, scope: Scope, headers: Headers) -> None:
        """Find the session of a request by its cookie or, for a program, by the token."""
        state = scope.setdefault("state", {})
        session = self.workbench.session_of(_cookie(headers))
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        has_token = bool(bearer) and secrets.compare_digest(bearer.encode(), self.workbench.token.encode())
        state["has_token"] = has_token
        # A POST of the token begins a new session; programs that only send the token share one.
        begins = (scope["method"], scope["path"]) == _BEGIN
        if session is None and has_token and not begins:
            session = self.workbench.session_of_programs()
        if session is None and not (has_token and begins):
            raise Refused(
                "this session has ended, or was never begun: open the address that `veil workbench` has printed",
                HTTPStatus.FORBIDDEN,
                "NoSession",
            )
        state["session"] = session


def too_large_sentence(most: int) -> str:
    """Return the message for a request with too many bytes."""
    return f"a request may have {most:,} bytes here, and this one has more"


def _cookie(headers: Headers) -> str | None:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if cookie is None else cookie.value


class _LimitedBody:
    """Reader of the body of a request that refuses too many bytes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self.receive, self.most, self.size = receive, most, 0

    async def __call__(self) -> Message:
        message = await self.receive()
        self.size += len(message.get("body", b""))
        if self.size > self.most:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large_sentence(self.most))
        return message
