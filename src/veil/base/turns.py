"""Files that several processes change: they take turns."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from veil.errors import OutputError

PATIENCE = 30.0
"""Seconds to wait for another process; each holds a file for milliseconds."""


@contextlib.contextmanager
def take_turn(file: Path, lost: str) -> Iterator[None]:
    """Wait until no other process or thread is at work on the file; `lost` says what was not done if one stays.

    The lock is on a file of its own, as the file itself is replaced as a whole. The system gives it up when a
    process ends, in whatever way; the lock file stays, since taking it away could hand the same turn to two.
    """
    path = file.with_name(f".{file.name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise OutputError(f"{file}: cannot be locked: {path.name}: {error.strerror}. {lost}") from None
    try:
        deadline = time.monotonic() + PATIENCE
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise OutputError(f"{file}: another process does not let go of it. {lost}: try again")
            time.sleep(0.005)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
