"""Locks on files that several processes change: wait for a lock, or give up."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from veil.base.signals import uninterrupted
from veil.errors import OutputError

PATIENCE = 30.0
"""Seconds to wait for another process; each holds a file for milliseconds."""

_BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


@contextlib.contextmanager
def wait_for_lock(file: Path, consequence: str) -> Iterator[None]:
    """Wait for the lock of a file; `consequence` is the end of the message if it cannot be had.

    The lock is on a separate file, as the file itself is replaced as a whole. The system releases it when a
    process ends in any way; the lock file stays, since removing it could let two processes hold the lock.
    """
    path = file.with_name(f".{file.name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OutputError(f"{file}: cannot be locked: {path.name}: {error.strerror}. {consequence}") from None
    try:
        deadline = time.monotonic() + PATIENCE
        while not _is_locked_now(descriptor):
            if time.monotonic() > deadline:
                raise OutputError(
                    f"{file}: another process is holding a lock on it. {consequence}: try again"
                )
            time.sleep(0.005)
        yield
    finally:
        os.close(descriptor)


def _is_locked_now(descriptor: int) -> bool:
    try:
        lock(descriptor)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def file_lock(path: Path, what: str, patience: float = 0) -> Iterator[None]:
    """Hold a lock, which the system releases however this process ends; remove its file afterwards."""
    deadline = time.monotonic() + patience
    descriptor = None
    try:
        while descriptor is None:
            with uninterrupted():
                descriptor = _take(path)
            if descriptor is None:
                if time.monotonic() >= deadline:
                    raise busy(what)
                time.sleep(0.01)
        yield
    finally:
        if descriptor is not None:
            with uninterrupted():
                with contextlib.suppress(OSError):
                    path.unlink()  # Windows removes no open file: it stays, empty and unlocked
                os.close(descriptor)


def _take(path: Path) -> int | None:
    """Take a lock and return its descriptor; None if another process holds it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            if is_busy(error):
                return None
            raise
        if is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # another run finished and removed the file between opening and locking


def is_at(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def lock(descriptor: int) -> None:
    """Lock an open file; raise `OSError` at once if another process has locked it."""
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_busy(error: OSError) -> bool:
    """Whether a file could not be locked because another process has locked it."""
    return error.errno in _BUSY


def busy(what: str) -> OutputError:
    """Return the error for a target that another run is writing to."""
    return OutputError(
        f"{what}: another run is writing there. Wait until it has finished, or write to another place"
    )
