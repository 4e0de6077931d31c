"""The one door to Numba."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

kept = True
"""Whether what is compiled is kept on disk; not where there is no folder that can be written to."""


class NotKeptWarning(UserWarning):
    """Compiled parts cannot be kept, so that every start takes some seconds longer."""


def kernel(function: Function) -> Function:
    """Compile a function, once for each machine: the result is kept on disk."""
    return _compiled(function, nogil=True)


def light_kernel(function: Function) -> Function:
    """Compile a function that keeps the interpreter lock: one that takes less time than to get the lock back."""
    return _compiled(function)


def numeric(function: Function) -> Function:
    """Compile a function in which division by zero is infinite or undefined, as IEEE 754 says, not an error."""
    return _compiled(function, nogil=True, error_model="numpy")


def _compiled(function: Function, **options: Any) -> Function:
    global kept
    if kept:
        try:
            return cast("Function", numba.njit(cache=True, **options)(function))
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            kept = False
            warnings.warn(
                "there is no writable folder for compiled code, so every start takes a few seconds longer. "
                "Name a folder in the environment variable NUMBA_CACHE_DIR",
                NotKeptWarning,
                stacklevel=2,
            )
    return cast("Function", numba.njit(**options)(function))


class _Stopwatch(event.Listener):
    """Adds up the time in which anything is compiled, in whatever thread."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._running = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def on_start(self, event: object) -> None:
        with self._lock:
            if self._running == 0:
                self._began = time.perf_counter()
            self._running += 1

    def on_end(self, event: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self.seconds += time.perf_counter() - self._began


_stopwatch = _Stopwatch()
event.register("numba:compile", _stopwatch)  # type: ignore[no-untyped-call]


def compiling_seconds() -> float:
    """Return how long this process has been compiling so far: once on each machine, and no limit of time is about it."""
    return _stopwatch.seconds


def load_numba() -> None:
    """Import what Numba imports when the first kernel is compiled."""
    import numba.np.arraymath  # noqa: F401
