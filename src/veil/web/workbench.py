"""The workbench: the state of one server process, which ends with it."""

from __future__ import annotations

import secrets
import tempfile
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veil.tables.staging import temporary_folder
from veil.web.apart import SessionProcess
from veil.web.hosts import Hosts
from veil.web.problems import PRIVATE, Refused

if TYPE_CHECKING:
    from veil.web.session import BrowserSession

IDLE = 8 * 3600.0
"""Seconds after which an idle session ends."""

MOST_SESSIONS = 200
LARGEST_TABLE = 2_000_000_000


class Workbench:
    """The sessions and the private folder of their files, without global state."""

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
        """The host names that the server accepts."""
        self.token = token or secrets.token_urlsafe(32)
        self.table, self.allow_paths = table, allow_paths
        self.apart, self.memory = apart, memory
        """Whether sessions are processes of their own, and the memory limit of each in bytes."""
        self.idle, self.largest_table = idle, largest_table
        self._staging = temporary_folder(prefix=PRIVATE)  # readable by this user only
        self.folder = self._staging.files
        self._sessions: dict[str, BrowserSession | SessionProcess] = {}
        self._lock = threading.Lock()
        self._programs: str | None = None

    def begin_session(self) -> BrowserSession | SessionProcess:
        """Begin a session with a secret number."""
        self.end_idle()
        with self._lock:
            if len(self._sessions) >= MOST_SESSIONS:
                raise Refused(
                    f"{MOST_SESSIONS} sessions are open: end one of them first", HTTPStatus.TOO_MANY_REQUESTS
                )
            number = secrets.token_urlsafe(32)
            session = self._session(number, Path(tempfile.mkdtemp(dir=self.folder)))
            self._sessions[number] = session
        return session

    def _session(self, number: str, folder: Path) -> BrowserSession | SessionProcess:
        options: Any = {"initial_table": self.table, "allow_paths": self.allow_paths}
        if self.apart:
            return SessionProcess(number, folder, memory=self.memory, **options)
        # Here, so that a server whose sessions are processes starts without it.
        from veil.web.session import BrowserSession

        return BrowserSession(number, folder, **options)

    def session_of(self, number: str | None) -> BrowserSession | SessionProcess | None:
        """Find a session that has not ended."""
        self.end_idle()
        session = None if number is None else self._sessions.get(number)
        if session is not None:
            session.used = time.monotonic()
        return session

    def session_of_programs(self) -> BrowserSession | SessionProcess:
        """Return the session of programs that send the token and no cookie."""
        session = self.session_of(self._programs)
        if session is None:
            session = self.begin_session()
            self._programs = session.number
        return session

    def end_session(self, session: BrowserSession | SessionProcess) -> None:
        """End a session and remove its files."""
        with self._lock:
            self._sessions.pop(session.number, None)
        session.close()

    def end_idle(self) -> None:
        """End the idle sessions without a running task."""
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
