"""Ctrl-C has to wait: steps that belong together happen all, or not at all."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def uninterrupted(*, collecting: bool = False) -> Iterator[None]:
    """Let Ctrl-C, and a scheduler that loses patience, wait until the end of this; for what takes moments.

    Only the main thread hears of signals, so that any other goes on anyway. While garbage is being collected, an error is
    printed and forgotten: there they wait a moment longer.

    >>> with uninterrupted():
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("goes on")
    Traceback (most recent call last):
    ...
    KeyboardInterrupt
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def wait(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {}
    try:
        for number in _NUMBERS:
            if (handler := signal.getsignal(number)) is not None:  # None: not ours to give back
                before[number] = handler
                signal.signal(number, wait)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            if collecting:
                threading.Timer(0.01, _thread.interrupt_main, (late,)).start()
            else:
                signal.raise_signal(late)
