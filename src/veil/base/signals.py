"""Ctrl-C has to wait: steps that belong together happen all, or not at all."""

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
"""Ctrl-C, a scheduler that loses patience, and a terminal that is closed, which Windows does not say."""


@contextlib.contextmanager
def uninterrupted(*, collecting: bool = False) -> Iterator[None]:
    """Let whoever ends the command wait until the end of this; for what takes moments.

    Only the main thread hears of signals, so that any other goes on anyway. While garbage is being collected, an error is
    printed and forgotten: there they wait a moment longer.
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
            if (handler := signal.getsignal(number)) is not None:  # None: not ours to give back
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
    """Send a signal to the main thread, which may be waiting for something, once it collects no garbage any more."""
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
