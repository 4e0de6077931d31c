"""A browser session: the tables, the plan, the releases and the tasks of one browser."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import shutil
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from veil.api.release import Release
from veil.base.references import untrusted
from veil.recipe.about import About
from veil.recipe.project import step_in
from veil.web.draft import KEY_FILE, DraftHistory
from veil.web.facts import Facts
from veil.web.open_table import OpenTable
from veil.web.problems import Refused, not_found
from veil.web.tasks import Task, TaskStatus, Work

Thing = TypeVar("Thing")

MOST_TABLES = 20
MOST_RUNNING = 4
MOST_RELEASES = 50


@dataclass
class SessionRelease:
    """A release of a session, with its table and recipe."""

    release: Release
    table: OpenTable
    recipe: dict[str, Any]
    facts: Facts = field(init=False)
    reports: dict[About, bytes] = field(default_factory=dict)
    """Reports in HTML, by the texts of the first page."""
    not_anonymous: str | None = None
    """The reason for taking it although it does not keep every promise."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Guards changes of the explored search space."""

    def __post_init__(self) -> None:
        self.facts = Facts.of(self.release, self.quasi_identifiers)

    def acknowledge(self, concerns: list[str]) -> None:
        """Accept concerns, by their keys."""
        self.release = self.release.acknowledge(*concerns)
        self.reports = {}
        self.facts = Facts.of(self.release, self.quasi_identifiers)

    @property
    def is_masked(self) -> bool:
        """Whether masking methods made it, which leave columns out beside their recipe."""
        return "without" in self.recipe

    @property
    def roles(self) -> dict[str, Any]:
        """The columns by their role: what the step Generalize says, or what goes with masking methods."""
        return self.recipe if self.is_masked else step_in(self.recipe)

    @property
    def quasi_identifiers(self) -> list[str] | None:
        """Those of a masked release; None if a plan has made it and knows them."""
        columns = self.release.arrow.column_names
        return (
            [name for name in self.roles["quasi_identifiers"] if name in columns] if self.is_masked else None
        )

    @property
    def keeps_promises(self) -> bool:
        """Whether it keeps all promises and suppresses no more than the plan allows."""
        return self.release.verification.holds and self.release.within_limit


class BrowserSession:
    """The state of one browser's session."""

    def __init__(
        self, number: str, folder: Path, *, initial_table: Path | None = None, allow_paths: bool = False
    ) -> None:
        self.number, self.folder = number, folder
        self.initial_table, self.allow_paths = initial_table, allow_paths
        """The table that the server was started with, and whether files of its machine may be opened."""
        self.used = time.monotonic()
        self.tables: dict[str, OpenTable] = {}
        self.releases: dict[str, SessionRelease] = {}
        self.tasks: dict[str, Task] = {}
        self.history = DraftHistory()
        self.budgets = folder.parent / "budgets"
        """Folder of the budget of each table, by fingerprint; shared by all sessions."""
        self._busy: Path | None = None
        self._saved: Any = None
        self.key_file: Path | None = None
        """The file of the key of pseudonyms, which is stored nowhere else and removed with the session."""
        self.keys = (KEY_FILE, str(folder / KEY_FILE))
        """Names of the key file: the only file of this machine that a session may name."""
        self.lock = threading.RLock()

    # --- lookup: ids of other sessions are not found

    @property
    def current_table(self) -> OpenTable | None:
        """The table of the plan, if it has one."""
        return self.tables.get(self.history.draft.table or "")

    def table(self, id: str | None = None) -> OpenTable:
        """Find a table; by default that of the plan."""
        return _find(self.tables, (self.history.draft.table or "") if id is None else id, "table")

    def release(self, id: str) -> SessionRelease:
        """Find a release."""
        return _find(self.releases, id, "release")

    def task(self, id: str) -> Task:
        """Find a task."""
        return _find(self.tasks, id, "task")

    # --- tasks

    def start(self, kind: str, work: Work) -> TaskStatus:
        """Start a task, and return its status."""
        with self.lock:
            if len(self._running) >= MOST_RUNNING:
                raise Refused(
                    f"{MOST_RUNNING} tasks are running: wait for one of them, or stop it",
                    HTTPStatus.TOO_MANY_REQUESTS,
                )

            def guarded(task: Task) -> object:
                with untrusted(self.keys):
                    return work(task)

            task = Task(kind, guarded, self.save)
            self.tasks[task.id] = task
            for old in [each.id for each in self.tasks.values() if each.state != "running"][:-100]:
                del self.tasks[old]
            self.save()  # before the task can crash
        task.start()
        return task.status()

    # --- recovery after a crash

    def go_on(self, busy: Path) -> None:
        """Restore the state of a crashed process, and save it from now on; `busy` exists while tasks run."""
        self._busy = busy
        if (path := self.folder / KEY_FILE).exists():
            self.key_file = path
        with contextlib.suppress(OSError):
            draft, version, tables, tasks = pickle.loads(self._state.read_bytes())  # noqa: S301 - our own
            for id, again in tables:
                with contextlib.suppress(Exception):  # of any driver, if a database is gone
                    table = again()
                    table.id, self.tables[id] = id, table
            if draft.table not in self.tables:
                draft = draft.model_copy(update={"table": None})
            self.history = DraftHistory(draft, version)
            for id, kind in tasks:
                self.tasks[id] = task = Task(kind, lambda _: {})
                task.id = id
                task.crash()
        self.save()

    @property
    def _state(self) -> Path:
        return self.folder / "state"

    def save(self) -> None:
        """Save the state that has to survive a crash, if it has changed."""
        if self._busy is None:
            return
        with self.lock:
            running = [(each.id, each.kind) for each in self._running]
            now = self.history.version, list(self.tables), running
            if now == self._saved:
                return
            tables = [(each.id, each.again) for each in self.tables.values()]
            file = self._state.with_suffix(".new")
            with contextlib.suppress(OSError):  # a full disk is reported when a result is written
                file.write_bytes(pickle.dumps((self.history.draft, self.history.version, tables, running)))
                file.replace(self._state)
                self._saved = now
                if running:
                    self._busy.touch()
                else:
                    self._busy.unlink(missing_ok=True)

    # --- tables, releases and the key

    def add(self, table: OpenTable) -> OpenTable:
        """Add a table to the session."""
        with self.lock:
            self.require_room()
            self.tables[table.id] = table
        return table

    def require_room(self) -> None:
        """Refuse another table if there are too many."""
        if len(self.tables) >= MOST_TABLES:
            raise Refused(f"{MOST_TABLES} tables are open: close one first", HTTPStatus.TOO_MANY_REQUESTS)

    def keep(self, entry: SessionRelease) -> SessionRelease:
        """Keep a release, and drop the oldest one if there are too many."""
        with self.lock:
            self.releases[entry.id] = entry
            while len(self.releases) > MOST_RELEASES:
                del self.releases[next(iter(self.releases))]
        return entry

    def close_table(self, table: OpenTable) -> None:
        """Close a table and forget its releases."""
        with self.lock:
            del self.tables[table.id]
            self.releases = {id: each for id, each in self.releases.items() if each.table is not table}
            if self.history.draft.table == table.id:
                self.history = DraftHistory()

    def keep_key(self, key: str | None) -> None:
        """Store the key of pseudonyms, or forget it."""
        path = self.folder / KEY_FILE
        path.unlink(missing_ok=True)
        if key is not None:
            with open(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
            ) as file:
                file.write(key)
        self.key_file = None if key is None else path

    @property
    def _running(self) -> list[Task]:
        return [each for each in list(self.tasks.values()) if each.state == "running"]

    @property
    def is_busy(self) -> bool:
        """Whether a task is running."""
        return bool(self._running)

    def close(self) -> None:
        """Stop all tasks and remove all files."""
        for task in list(self.tasks.values()):
            task.cancel()
        self.tables, self.releases = {}, {}
        shutil.rmtree(self.folder, ignore_errors=True)


def _find(things: dict[str, Thing], id: str, what: str) -> Thing:
    thing = things.get(id)
    if thing is None:
        raise not_found(what)
    return thing
