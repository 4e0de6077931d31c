"""Work that may take longer than a moment: started at once, told about while it runs, and stopped when asked.

A job runs in a thread of its own. What is stopped while a search is under way keeps the best that was found; in any other
phase the job is over at once for whoever waits for it, and the thread ends at its next step, its result thrown away.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from veil.base.progress import Progress
from veil.web.problems import CRASHED, problem, problem_of

Result = TypeVar("Result")
State = Literal["running", "done", "failed", "cancelled"]

MOST_POINTS = 200
"""Points of the curve of a search that are told; of more, every second one is left out."""

SEARCHING = "searching"
"""The phase in which `cancel` is asked, and what was found so far is kept."""


class Cancelled(Exception):
    """Raised inside a thread whose job is over."""


class Task:
    """One piece of work of a session."""

    def __init__(
        self, kind: str, work: Callable[[Task], dict[str, Any]], over: Callable[[], None] = lambda: None
    ) -> None:
        """Take what is to be done, and what is to be called once it is over."""
        self.id = secrets.token_urlsafe(12)
        self._over = over
        self.kind = kind
        self.state: State = "running"
        self.phase, self.done, self.total, self.note = "", 0, 0, ""
        self.curve: list[tuple[float, float | None, float | None]] = []
        """Seconds, the best score known from then on, and the score that none can beat."""
        self.result: dict[str, Any] | None = None
        self.problem: dict[str, Any] | None = None
        self.version = 0
        self.keeps_best = False
        self._stop = threading.Event()
        self._committed = False
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._ended: float | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name=f"job {kind}", daemon=True)

    def start(self) -> Task:
        """Begin."""
        self._thread.start()
        return self

    def _run(self, work: Callable[[Task], dict[str, Any]]) -> None:
        try:
            result = work(self)
        except Cancelled:
            self._end("cancelled")
        except Exception as error:
            self._end("failed", problem=problem_of(error))
        else:
            self._end("done", result=result)

    def crash(self) -> None:
        """Be over, as the process is that it ran in."""
        self._end("failed", problem=problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Crashed", CRASHED))

    def _end(
        self, state: State, *, result: dict[str, Any] | None = None, problem: dict[str, Any] | None = None
    ) -> None:
        with self._lock:
            if self.state == "running":
                self.state, self.problem = state, problem
                self.result = result or self.result
                self._ended = time.monotonic()
                self.version += 1
        self._over()

    # --- what the work calls

    def tell(self, phase: str, done: int, total: int, note: str) -> None:
        """Take in how far the work has got; end the thread here if nobody waits for it any more."""
        self.check()
        self.phase, self.done, self.total, self.note = phase, done, total, note
        self.version += 1

    @property
    def progress(self) -> Progress:
        """Whom the library tells how far it has got."""
        return _Telling(self)

    def show(self, result: dict[str, Any]) -> None:
        """Let the result be seen as far as it is known; it stays if the job is stopped."""
        with self._lock:
            if self.state == "running":
                self.result = result
                self.version += 1

    def better(self, best: float | None, bound: float | None) -> None:
        """Take in how good the best so far is, and how good any can be."""
        if not self.curve or self.curve[-1][1:] != (best, bound):
            if len(self.curve) >= MOST_POINTS:
                self.curve = self.curve[::2]
            self.curve = [*self.curve, (round(self.elapsed, 3), best, bound)]

    def check(self) -> None:
        """End the thread here if the job was stopped."""
        if self._stop.is_set() and not self.keeps_best:
            raise Cancelled

    def commit(self, action: Callable[[], Result]) -> Result:
        """Do what makes the work count, unless the job was stopped; once it is done, it cannot be stopped any more."""
        with self._lock:
            if self.state != "running":
                raise Cancelled
            self._committed = True
        return action()

    def asked_to_stop(self) -> bool:
        """Whether somebody has stopped the job."""
        return self._stop.is_set()

    # --- what others call

    def cancel(self) -> None:
        """Stop: with the best so far if a search is under way, and with nothing otherwise."""
        with self._lock:
            if self._committed:
                return
            self.keeps_best = self.phase == SEARCHING
            self._stop.set()
        if not self.keeps_best:
            self._end("cancelled")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(seconds)

    @property
    def elapsed(self) -> float:
        """Seconds that it has taken."""
        return (self._ended or time.monotonic()) - self._started

    def told(self) -> dict[str, Any]:
        """All there is to say about it now."""
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "phase": self.phase,
            "done": self.done,
            "total": self.total,
            "note": self.note,
            "elapsed": round(self.elapsed, 3),
            "stopped": self._stop.is_set(),
            "curve": self.curve,
            "result": self.result,
            "problem": self.problem,
        }


class _Telling(Progress):
    """Hands what the library tells to a job."""

    def __init__(self, job: Task) -> None:
        self.job, self.name = job, ""

    def phase(self, name: str) -> None:
        self.name = name
        self.job.tell(name, 0, 0, "")

    def advance(self, done: int, total: int, note: str = "") -> None:
        self.job.tell(self.name, done, total, note)

    def better(self, best: float | None, bound: float | None) -> None:
        self.job.better(best, bound)
