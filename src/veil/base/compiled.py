"""Compilation with Numba, the only module that imports it."""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from veil.errors import ParameterError

try:
    os.getcwd()  # Numba needs it
    import numba
    from numba.core import event
    from numba.core.caching import IndexDataCacheFile
    from numba.np.ufunc import parallel  # noqa: F401
except ValueError as error:
    raise ParameterError(
        f"{error} Correct the environment variable NUMBA_NUM_THREADS, or leave it out"
    ) from None
except FileNotFoundError:
    raise ParameterError("the current folder is gone: change to one that exists (`cd`)") from None

Function = TypeVar("Function", bound=Callable[..., Any])

caching = True
"""Whether compiled code is cached on disk; False if no folder for it is writable."""


class NotKeptWarning(UserWarning):
    """Compiled code cannot be cached, so every start takes a few seconds longer."""


def kernel(function: Function) -> Function:
    """Compile a function, once for each machine: the result is cached on disk."""
    return _compiled(function, nogil=True)


def light_kernel(function: Function) -> Function:
    """Compile a function that keeps the interpreter lock, as it takes less time than reacquiring it would."""
    return _compiled(function)


def numeric(function: Function) -> Function:
    """Compile a function in which division by zero follows IEEE 754 (infinite or NaN) and is no error."""
    return _compiled(function, nogil=True, error_model="numpy")


def _compiled(function: Function, **options: Any) -> Function:
    global caching
    if caching:
        try:
            compiled = numba.njit(cache=True, **options)(function)
            cache = getattr(compiled, "_cache", None)  # None with NUMBA_DISABLE_JIT
            if cache is not None:
                cache._cache_file.__class__ = _CheckedFile
            return cast("Function", compiled)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            caching = False
            warnings.warn(
                "there is no writable folder for compiled code, so every start takes a few seconds longer. "
                "Name a folder in the environment variable NUMBA_CACHE_DIR",
                NotKeptWarning,
                stacklevel=2,
            )
    return cast("Function", numba.njit(**options)(function))


class _CheckedFile(IndexDataCacheFile):
    """A cache file that begins with the SHA-256 of its content: running damaged code would end the process.

    A file that does not match, or comes from another version, is compiled and written again.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = pickle.loads(_checked(self._index_path))  # noqa: S301 - checked
        except (
            OSError,
            AttributeError,
            ImportError,
        ):  # another version may have other types, or in other places
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._keep(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(_checked(self._data_path(name)))  # type: ignore[no-untyped-call]  # noqa: S301

    def _save_data(self, name: str, data: Any) -> None:
        self._keep(self._data_path(name), data)  # type: ignore[no-untyped-call]

    def _keep(self, path: str, data: Any) -> None:
        content: bytes = self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)


def _checked(path: str) -> bytes:
    """Return the content of a cache file; an `OSError` if it is missing or damaged makes Numba recompile."""
    content = Path(path).read_bytes()
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        raise OSError(f"{path} is damaged")
    return content[32:]


class _Stopwatch(event.Listener):
    """The total time during which any thread compiles."""

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
    """Return how long this process has been compiling: only once a machine, so time limits exclude it."""
    return _stopwatch.seconds


def load_numba() -> None:
    """Import the modules that Numba imports when it compiles the first kernel."""
    import numba.np.arraymath  # noqa: F401
