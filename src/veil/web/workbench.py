"""The workbench itself: what one server process holds, and what is gone when it ends."""

from __future__ import annotations

import secrets
import tempfile
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from veil.tables.staging import temporary_folder
from veil.web.apart import SessionProcess
from veil.web.hosts import Hosts
from veil.web.problems import PRIVATE, Refused

if TYPE_CHECKING:
    from veil.web.session import BrowserSession

IDLE = 8 * 3600.0
"""Seconds after which a session that nobody uses ends."""

MOST_SESSIONS = 200
LARGEST_TABLE = 2_000_000_000


class Workbench:
    """Sessions, and the private folder in which their files are. Nothing of it is global."""

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        table: Path | None = None,
        allow_paths: bool = False,
        allow_host: Sequence[str] = (),
        idle: float = IDLE,
        largest_table: int = LARGEST_TABLE,
        apart: bool = False,
        memory: int | None = None,
    ) -> None:
        self.hosts = Hosts(host, port, allow_host)
        """The names under which the server is known."""
        self.token = token or secrets.token_urlsafe(32)
        self.table, self.allow_paths = table, allow_paths
        self.apart, self.memory = apart, memory
        """Whether sessions are processes of their own, and how many bytes of memory each may take."""
        self.idle, self.largest_table = idle, largest_table
        self._staging = temporary_folder(prefix=PRIVATE)  # that only this user may read
        self.folder = self._staging.files
        self._sessions: dict[str, BrowserSession | SessionProcess] = {}
        self._lock = threading.Lock()
        self._programs: str | None = None

    @property
    def address(self) -> str:
        """Where a browser opens it."""
        return self.hosts.address

    def begin_session(self) -> BrowserSession | SessionProcess:
        """Begin a session, whose number is a secret."""
        self.end_idle()
        with self._lock:
            if len(self._sessions) >= MOST_SESSIONS:
                raise Refused(
                    HTTPStatus.TOO_MANY_REQUESTS, f"{MOST_SESSIONS} sessions are open: end one of them first"
                )
            number = secrets.token_urlsafe(32)
            session = self._session(number, Path(tempfile.mkdtemp(dir=self.folder)))
            self._sessions[number] = session
        return session

    def _session(self, number: str, folder: Path) -> BrowserSession | SessionProcess:
        if self.apart:
            return SessionProcess(
                number, folder, given=self.table, allow_paths=self.allow_paths, memory=self.memory
            )
        from veil.web.session import (
            BrowserSession,  # here, so that a server whose sessions are processes starts without it
        )

        return BrowserSession(number, folder, given=self.table, allow_paths=self.allow_paths)

    def session_of(self, number: str | None) -> BrowserSession | SessionProcess | None:
        """Find a session that has not ended."""
        self.end_idle()
        session = None if number is None else self._sessions.get(number)
        if session is not None:
            session.used = time.monotonic()
        return session

    def session_of_programs(self) -> BrowserSession | SessionProcess:
        """Return the session of whoever sends the token and no cookie."""
        session = self.session_of(self._programs)
        if session is None:
            session = self.begin_session()
            self._programs = session.number
        return session

    def end_session(self, session: BrowserSession | SessionProcess) -> None:
        """End a session, and remove all that it has."""
        with self._lock:
            self._sessions.pop(session.number, None)
        session.close()

    def end_idle(self) -> None:
        """End the sessions that nobody has used for long, unless a job is running for them."""
        now = time.monotonic()
        with self._lock:
            idle = [
                each for each in self._sessions.values() if now - each.used > self.idle and not each.is_busy
            ]
        for session in idle:
            self.end_session(session)

    def close(self) -> None:
        """End all sessions and remove the private folder."""
        for session in list(self._sessions.values()):
            self.end_session(session)
        self._staging.remove()
