"""Deferred signals: steps that belong together happen all or not at all, even with Ctrl-C."""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, a scheduler's time limit, and a closed terminal, for which Windows has no signal."""


@contextlib.contextmanager
def uninterrupted(*, collecting: bool = False) -> Iterator[None]:
    """Defer signals that end the process until the end of this block, which should be short.

    Only the main thread receives signals, so other threads are never interrupted. During garbage collection
    an exception would be printed and dropped: with `collecting`, signals are sent again once it has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def wait(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {}
    try:
        for number in ENDING:
            if (
                handler := signal.getsignal(number)
            ) is not None:  # None: set outside Python, cannot be restored
                before[number] = handler
                signal.signal(number, wait)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            if collecting:
                threading.Thread(target=_send_later, args=(late,), daemon=True).start()
            else:
                signal.raise_signal(late)


def _send_later(number: int) -> None:
    """Send a signal to the main thread, which may be blocked, once it collects no garbage any more."""
    main = threading.main_thread().ident or 0
    while _is_collecting(sys._current_frames().get(main)):
        time.sleep(0.005)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:  # Windows
        _thread.interrupt_main(signal.Signals(number))


def _is_collecting(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not weakref.finalize.__call__.__code__:
        frame = frame.f_back
    return frame is not None
