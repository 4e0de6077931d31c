"""`--log`: the events of a run and the time of each phase, one JSON object per line.

The log contains no values and no names of columns: its readers need not be allowed to read the data. So a
failure is logged by its kind and exit code, not by its message, which may quote a value.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from veil.base.progress import Progress, ProgressBar
from veil.base.version import __version__
from veil.errors import OutputError


class Log(Progress):
    """Progress that writes events to a file and passes them on to a progress display."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self.progress = progress
        try:
            self.file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path}: the log cannot be written there ({error.strerror})") from None
        self.start = self.since = time.monotonic()
        self.name: str | None = None

    def phase(self, name: str) -> None:
        self.end_phase()
        self.name, self.since = name.partition(" (")[0], time.monotonic()
        self.progress.phase(name)

    def advance(self, done: int, total: int, note: str = "") -> None:
        self.progress.advance(done, total, note)

    def end_phase(self) -> None:
        """Log the duration of the phase."""
        if self.name is not None:
            self.write("phase", name=self.name, seconds=round(time.monotonic() - self.since, 3))
        self.name = None

    def write(self, event: str, **fields: Any) -> None:
        """Write a line."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **fields}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def close(self) -> None:
        self.progress.close()
        self.file.close()


@contextmanager
def logging(path: Path | None, command: str, *, quiet: bool) -> Iterator[Log | None]:
    """Log a run from its start to its end, also if it fails."""
    import sys

    from veil.cli.failures import code_of

    if path is None:
        yield None
        return
    log = Log(path, Progress() if quiet or not sys.stderr.isatty() else ProgressBar())
    log.write("start", command=command, veil=__version__)
    code, failure = 0, {}
    try:
        yield log
    except BaseException as error:
        code, failure = code_of(error), {"error": type(error).__name__}
        raise
    finally:
        log.end_phase()
        log.write("end", code=code, seconds=round(time.monotonic() - log.start, 3), **failure)
        log.close()
