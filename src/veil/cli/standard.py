"""The standard streams as places that can fail, like any file: closed, full, or a pipe that nobody reads any more."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from veil.errors import OutputError

BROKEN_PIPE = 141
"""The exit code that shells give to a command whose reader has gone: 128 and the number of the signal."""


def secure() -> None:
    """Let writing to standard output fail in a sentence, and writing to standard error not at all.

    A closed stream is opened to nowhere first: its number would go to the next file that is opened, and what somebody
    prints would end up in there. On Windows, a console is no file, and is left as it is.
    """
    if sys.platform == "win32":
        return
    closed = [_fill(descriptor) for descriptor in range(3)]
    sys.stdout = _text(_Output(1, closed=closed[1]), sys.stdout)
    sys.stderr = _text(_Messages(2, closed=closed[2]), sys.stderr)


def _fill(descriptor: int) -> bool:
    """Open a closed stream to nowhere, and tell whether it was closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free: this one
        return True
    return False


def _text(raw: io.RawIOBase, before: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", "utf-8"),
        errors=getattr(before, "errors", "backslashreplace"),
        line_buffering=True,
    )


class _Messages(io.RawIOBase):
    """Standard error: what cannot be said is not said, and the command goes on."""

    def __init__(self, descriptor: int, *, closed: bool) -> None:
        self._descriptor, self._reason = descriptor, "it is closed" if closed else ""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int | None:
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return None
        except OSError:
            return len(data)


class _Output(_Messages):
    """Standard output: the first failure is an error, and nothing is written afterwards."""

    _failed = False

    def write(self, data: Any) -> int | None:
        if self._failed:
            return len(data)
        try:
            if not self._reason:
                return os.write(self._descriptor, data)
        except BlockingIOError:
            return None
        except BrokenPipeError:  # such as by `head`, which has seen enough
            self._failed = True
            sys.exit(BROKEN_PIPE)
        except OSError as error:
            self._reason = error.strerror or str(error)
        self._failed = True
        raise OutputError(
            f"standard output cannot be written: {self._reason}. Send it to a file or a program that takes all of it"
        )
