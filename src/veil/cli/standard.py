"""The standard streams as files that can fail: closed, full, or a pipe without a reader."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from veil.errors import OutputError

BROKEN_PIPE = 141
"""The exit code in shells of a command whose reader is gone: 128 + SIGPIPE."""


def secure() -> None:
    """Let writing to standard output fail with a message, and writing to standard error not at all.

    A closed stream is first opened to the null device: otherwise the next opened file would get its number,
    and printed text would end up there. On Windows, a console is no file and is left unchanged.
    """
    if sys.platform == "win32":
        return
    closed = [_fill(descriptor) for descriptor in range(3)]
    sys.stdout = _text(_Output(1, closed=closed[1]), sys.stdout)
    sys.stderr = _text(_Messages(2, closed=closed[2]), sys.stderr)


def _fill(descriptor: int) -> bool:
    """Open a closed stream to the null device; return whether it was closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
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
    """Standard error: messages that cannot be written are dropped, and the command goes on."""

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
        except BrokenPipeError:  # such as by `head`
            self._failed = True
            sys.exit(BROKEN_PIPE)
        except OSError as error:
            self._reason = error.strerror or str(error)
        self._failed = True
        raise OutputError(
            f"standard output cannot be written: {self._reason}. Send it to a file or a program that takes all of it"
        )
