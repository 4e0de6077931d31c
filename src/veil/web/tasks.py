"""Long work in the background: with progress while it runs, and with a way to stop it.

A task runs in a thread of its own. Stopped during a search, it ends with the best solution so far. In any
other phase it counts as ended at once; its thread ends at the next step and the result is discarded.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from veil.base.progress import Progress
from veil.web.problems import CRASHED, Problem, problem, problem_of

Result = TypeVar("Result")
State = Literal["running", "done", "failed", "cancelled"]
Work = Callable[["Task"], object]
"""What a task does. Its result consists of dataclasses and of values that JSON has."""

MOST_POINTS = 200
"""Points of the curve of a search; if there are more, every second one is dropped."""

SEARCHING = ("searching", "recoding", "improving")
"""Beginnings of the phases in which the library polls `cancel` and a stopped task keeps the best solution so far."""

PRIVATE = "searching and drawing"
"""A phase without one, as the best so far would not be private."""


class Cancelled(Exception):
    """Signal that ends the thread of a stopped task."""


class TaskStatus(BaseModel):
    """The status of a task."""

    id: str
    kind: str
    state: State
    phase: str
    done: int
    total: int
    note: str
    elapsed: float
    stopped: bool
    curve: Sequence[tuple[float, float | None, float | None]] = Field(
        description="of a search: seconds, the best score from then on, and the score that none can beat"
    )
    result: dict[str, Any] | None = Field(
        description="what came of it; of prices, those known so far while it runs"
    )
    problem: Problem | None


class Task:
    """A task of a session."""

    def __init__(self, kind: str, work: Work, over: Callable[[], None] = lambda: None) -> None:
        """Prepare `work`; `over` is called once it has ended."""
        self.id = secrets.token_urlsafe(12)
        self._over = over
        self.kind = kind
        self.state: State = "running"
        self.phase, self.done, self.total, self.note = "", 0, 0, ""
        self.curve: list[tuple[float, float | None, float | None]] = []
        self.result: dict[str, Any] | None = None
        self.problem: Problem | None = None
        self.version = 0
        self.keeps_best = False
        self._stop = threading.Event()
        self._committed = False
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._ended: float | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"task {kind}", daemon=True)

    def start(self) -> Task:
        """Begin."""
        self._thread.start()
        return self

    def _run(self, work: Work) -> None:
        try:
            result = plain(work(self))
        except Cancelled:
            self._end("cancelled")
        except Exception as error:
            self._end("failed", problem=problem_of(error))
        else:
            self._end("done", result=result)

    def crash(self) -> None:
        """End as failed, because the process of the task has crashed."""
        self._end("failed", problem=problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Crashed", CRASHED))

    def _end(
        self, state: State, *, result: dict[str, Any] | None = None, problem: Problem | None = None
    ) -> None:
        with self._lock:
            if self.state == "running":
                self.state, self.problem = state, problem
                self.result = result or self.result
                self._ended = time.monotonic()
                self.version += 1
        self._over()

    # --- what the work calls

    def report_progress(self, phase: str, done: int = 0, total: int = 0, note: str = "") -> None:
        """Record progress; end the thread here if the task was stopped."""
        self.check()
        self.phase, self.done, self.total, self.note = phase, done, total, note
        self.version += 1

    @property
    def progress(self) -> Progress:
        """The receiver of the library's progress."""
        return _TaskProgress(self)

    def show(self, result: object) -> None:
        """Publish a partial result; it stays if the task is stopped."""
        with self._lock:
            if self.state == "running":
                self.result = plain(result)
                self.version += 1

    def better(self, best: float | None, bound: float | None) -> None:
        """Record the best score so far and the bound."""
        if not self.curve or self.curve[-1][1:] != (best, bound):
            if len(self.curve) >= MOST_POINTS:
                self.curve = self.curve[::2]
            self.curve = [*self.curve, (round(self.elapsed, 3), best, bound)]

    def check(self) -> None:
        """End the thread here if the task was stopped."""
        if self._stop.is_set() and not self.keeps_best:
            raise Cancelled

    def commit(self, action: Callable[[], Result]) -> Result:
        """Run the final action unless the task was stopped; afterwards it cannot be stopped."""
        with self._lock:
            if self.state != "running":
                raise Cancelled
            self._committed = True
        return action()

    def is_stopped(self) -> bool:
        """Return whether the task was stopped."""
        return self._stop.is_set()

    # --- what others call

    def cancel(self) -> None:
        """Stop the task: with the best so far during a search, without a result otherwise."""
        with self._lock:
            if self._committed:
                return
            self.keeps_best = self.phase.startswith(SEARCHING) and self.phase != PRIVATE
            self._stop.set()
        if not self.keeps_best:
            self._end("cancelled")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since the start, until the end."""
        return (self._ended or time.monotonic()) - self._started

    def status(self) -> TaskStatus:
        """Return the current status."""
        names = TaskStatus.model_fields.keys() - {"elapsed", "stopped"}
        fields = {name: getattr(self, name) for name in names}
        return TaskStatus(elapsed=round(self.elapsed, 3), stopped=self.is_stopped(), **fields)


class _TaskProgress(Progress):
    """Progress of the library, passed on to a task."""

    def __init__(self, task: Task) -> None:
        self.task, self.name = task, ""

    def phase(self, name: str) -> None:
        self.name = name
        self.task.report_progress(name)

    def advance(self, done: int, total: int, note: str = "") -> None:
        self.task.report_progress(self.name, done, total, note)

    def better(self, best: float | None, bound: float | None) -> None:
        self.task.better(best, bound)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: dataclasses become objects, NaN and infinity null."""
    return json.loads(json.dumps(value, default=_plain), parse_constant=lambda _: None)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return str(value)
