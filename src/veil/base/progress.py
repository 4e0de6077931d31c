"""Progress: what is going on, for a person who waits. Silent for the first second, and off the terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ProgressLike = bool | Callable[[str, int, int, str], None] | None
"""How to tell about progress: on the terminal or not, to a function, or as it seems best."""

PATIENCE = 1.0
"""Seconds before anything is shown."""


class Progress:
    """Receives the phase a call is in and how far it has got; this base keeps it to itself."""

    def phase(self, name: str) -> None:
        """Enter a phase."""

    def advance(self, done: int, total: int, note: str = "") -> None:
        """Tell how far the current phase has got."""

    def close(self) -> None:
        """Finish; nothing more will be told."""


class Reported(Progress):
    """Hands every step to a function of the caller: `callback(phase, done, total, note)`."""

    def __init__(self, callback: Callable[[str, int, int, str], None]) -> None:
        self.callback = callback
        self.name = ""

    def phase(self, name: str) -> None:
        self.name = name
        self.callback(name, 0, 0, "")

    def advance(self, done: int, total: int, note: str = "") -> None:
        self.callback(self.name, done, total, note)


class Shown(Progress):
    """Shows a bar on the terminal once the call has taken more than a second.

    A timer starts the display, so that one long silent step (compiling the kernels for the first time) is
    shown as well.
    """

    def __init__(self) -> None:
        self.name, self.done, self.total, self.note = "", 0, 0, ""
        self.display: Any = None
        self.lock = threading.Lock()
        self.closed = False
        self.last = 0.0
        self.timer = threading.Timer(PATIENCE, self._show)
        self.timer.daemon = True
        self.timer.start()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        with self.lock:
            if self.closed:
                return
            display = Bars(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.task = display.add_task(self.name, total=self.total or None, note=self.note)
            display.start()
            self.display = display
        self._update()  # what may have changed meanwhile

    def phase(self, name: str) -> None:
        self.name, self.done, self.total, self.note = name, 0, 0, ""
        self._update(at_once=True)

    def advance(self, done: int, total: int, note: str = "") -> None:
        self.done, self.total, self.note = done, total, note
        now = time.monotonic()
        if now - self.last > 0.1:
            self.last = now
            self._update()

    def _update(self, *, at_once: bool = False) -> None:
        if self.display is not None:
            self.display.update(
                self.task,
                description=self.name,
                completed=self.done,
                total=self.total or None,
                note=self.note,
                refresh=at_once,
            )

    def close(self) -> None:
        self.timer.cancel()
        with self.lock:
            self.closed = True
            if self.display is not None:
                self.display.stop()


@contextmanager
def following(wanted: ProgressLike | Progress) -> Iterator[Progress]:
    """Choose how to tell about progress: to a function, on the terminal (None: if there is one), or not at all."""
    if isinstance(wanted, Progress):  # what a caller follows already, and ends itself
        yield wanted
        return
    if callable(wanted):
        progress: Progress = Reported(wanted)
    elif wanted or (wanted is None and sys.stderr.isatty()):
        progress = Shown()
    else:
        progress = Progress()
    try:
        yield progress
    finally:
        progress.close()
