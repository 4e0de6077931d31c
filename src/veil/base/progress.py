"""Progress of a call, shown from the second second on, if there is a terminal or notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 1.0
"""Seconds before anything is shown."""


class Progress:
    """A receiver of progress; this base shows nothing."""

    def phase(self, name: str) -> None:
        """Enter a phase."""

    def advance(self, done: int, total: int, note: str = "") -> None:
        """Report how far the current phase has got."""

    def better(self, best: float | None, bound: float | None) -> None:
        """Report the best score of a search so far, and a bound that no transformation can beat."""

    def close(self) -> None:
        """Finish: nothing more will be reported."""


ProgressLike = bool | Callable[[str, int, int, str], None] | Progress | None
"""Where to report progress: the terminal or not, a function, a caller's `Progress`; None is automatic."""


class Reported(Progress):
    """Progress reported to a function of the caller: `callback(phase, done, total, note)`."""

    def __init__(self, callback: Callable[[str, int, int, str], None]) -> None:
        self.callback = callback
        self.name = ""

    def phase(self, name: str) -> None:
        self.name = name
        self.callback(name, 0, 0, "")

    def advance(self, done: int, total: int, note: str = "") -> None:
        self.callback(self.name, done, total, note)


class ProgressBar(Progress):
    """A bar on the terminal, shown once the call has taken more than a second.

    A timer starts the display, so that one long silent step (compiling the kernels) is shown as well.
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
        self._update()  # the state may have changed meanwhile

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


class InNotebook(Progress):
    """A bar under the running cell of a notebook, shown once it has taken more than a second."""

    def __init__(self) -> None:
        self.name, self.start, self.last = "", time.monotonic(), 0.0
        self.handle: Any = None

    def phase(self, name: str) -> None:
        self.name = name
        self._update(0, 0, "")

    def advance(self, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        if now - self.last > 0.2:
            self.last = now
            self._update(done, total, note)

    def _update(self, done: int, total: int, note: str) -> None:
        if time.monotonic() - self.start < PATIENCE:
            return
        from html import escape

        from IPython.display import HTML, display

        at = f' value="{done}" max="{total}"' if total else ""
        bar = HTML(  # type: ignore[no-untyped-call]
            f"<progress{at}></progress> {escape(self.name)} {escape(note)}"
        )
        if self.handle is None:
            self.handle = display(bar, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self.handle.update(bar)

    def close(self) -> None:
        if self.handle is not None:
            from IPython.display import HTML

            seconds = time.monotonic() - self.start
            done = HTML(f"<small>done in {seconds:.1f} s</small>")  # type: ignore[no-untyped-call]
            self.handle.update(done)


def _in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return "ipykernel" in sys.modules and shell is not None and shell.get_ipython() is not None


@contextmanager
def following(progress_like: ProgressLike) -> Iterator[Progress]:
    """Yield a receiver of progress and close it afterwards, unless it is the caller's own."""
    if isinstance(progress_like, Progress):
        yield progress_like
        return
    if callable(progress_like):
        progress: Progress = Reported(progress_like)
    elif progress_like is not False and _in_notebook():
        progress = InNotebook()
    elif progress_like or (progress_like is None and sys.stderr.isatty()):
        progress = ProgressBar()
    else:
        progress = Progress()
    try:
        yield progress
    finally:
        progress.close()
