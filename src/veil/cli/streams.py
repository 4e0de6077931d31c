"""`-` for a table: it is read from standard input, or written to standard output, as a whole or not at all.

A table is read twice and a release is verified before it is sent, so both are files in a private folder that
is removed when the command ends.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from veil.errors import InputError, PlanError
from veil.tables import Format
from veil.tables.staging import temporary_folder

STREAM = "-"
_ENDINGS = {"csv": ".csv", "parquet": ".parquet", "feather": ".feather", "excel": ".xlsx"}


@dataclass(frozen=True)
class Streams:
    """The temporary files of the streams."""

    folder: Path
    ending: str
    sends: bool = False
    """Whether the release goes to standard output."""

    def read(self, text: str | None) -> str | None:
        """Return the path of a table; standard input is copied to a file."""
        if text != STREAM:
            return text
        if sys.stdin is None:
            raise InputError("standard input is closed: pipe a table into the command, or name a file")
        path = self.folder / f"stdin{self.ending}"
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        except OSError as error:
            raise InputError(
                f"standard input cannot be copied to {self.folder}: {error.strerror or error}. Name a folder with more "
                "room in the environment variable TMPDIR, or the file itself"
            ) from None
        if not path.stat().st_size:
            raise InputError("standard input is empty: pipe a table into the command, or name a file")
        return str(path)

    def target(self, text: str | None) -> str | None:
        """Return the path of a release; for standard output a file that is sent when it is complete."""
        return str(self.folder / f"stdout{self.ending}") if text == STREAM else text

    def send(self) -> None:
        """Copy the release to standard output, if it goes there."""
        if not self.sends:
            return
        with (self.folder / f"stdout{self.ending}").open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


@contextmanager
def streams(format: Format | None, *inputs: str | None, output: str | None) -> Iterator[Streams]:
    """Create the temporary folder of streams; they are CSV by default."""
    if STREAM not in (*inputs, output):
        yield Streams(Path(), "")
        return
    ending = ".csv" if format is None else _ENDINGS.get(format.kind.lower(), "")
    if not ending:
        raise PlanError(f"--format {format!r} cannot be read from a stream: name a file")
    folder = temporary_folder()
    try:
        yield Streams(folder.files, ending, output == STREAM)
    finally:
        folder.remove()
