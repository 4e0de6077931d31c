"""Uploaded tables: streamed to the private folder, checked before they are unpacked, and read."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool

from veil.errors import InputError, VeilError
from veil.tables import Format
from veil.tables.formats import format_of, is_gzip
from veil.web.child import CHILDREN
from veil.web.open_table import OpenTable, open_rows
from veil.web.problems import Refused, with_sent_name
from veil.web.reading import read_apart
from veil.web.session import BrowserSession
from veil.web.tasks import Task, TaskStatus, Work

READING = "reading the table"
"""The phase in which a file is read."""


@contextlib.contextmanager
def removed_on_failure(folder: Path) -> Iterator[None]:
    """Remove a folder if the work with it fails."""
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


class Upload:
    """An uploaded file, stored under a name of our own; the sender's name is only shown."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        packed = Path(name).suffix if is_gzip(Path(name)) else ""
        self.path = self.folder / f"table{Path(name.removesuffix(packed)).suffix}{packed}".lower()

    async def receive(self, chunks: AsyncIterator[bytes]) -> None:
        """Write the file chunk by chunk; remove it if the upload breaks off."""
        with removed_on_failure(self.folder), self.path.open("wb") as file:
            async for chunk in chunks:
                await run_in_threadpool(file.write, chunk)

    def start(self, session: BrowserSession, kind: str, work: Work) -> TaskStatus:
        """Start a task that needs the file; remove the file if the task cannot begin."""
        with removed_on_failure(self.folder):
            return session.start(kind, work)

    def open_in(self, session: BrowserSession, task: Task, format: Format | None = None) -> OpenTable:
        """Check and read the file, and return it as a table of a session; remove it on failure."""
        with removed_on_failure(self.folder):
            try:
                table = read_file(session, self.path, format, self.name, task, is_sent=True)
            except VeilError as error:
                raise with_sent_name(error, self.path, self.name) from None
        weakref.finalize(table.source, self.discard)
        return table

    def discard(self) -> None:
        """Remove the file."""
        shutil.rmtree(self.folder, ignore_errors=True)


def read_file(
    session: BrowserSession,
    path: Path,
    format: Format | None,
    name: str,
    task: Task,
    *,
    is_sent: bool = False,
) -> OpenTable:
    """Read a file in a process of its own. Its rows are in a memory-mapped file of the session."""
    session.require_room()
    task.report_progress(READING)
    folder = Path(tempfile.mkdtemp(dir=session.folder))
    with removed_on_failure(folder):
        source = CHILDREN.run(
            read_apart, path, format, folder / "table.arrow", is_sent, name=name, check=task.check
        )
        table = open_rows(name, source, folder / "table.arrow")
    weakref.finalize(table.source, shutil.rmtree, folder, ignore_errors=True)
    return table


def file_name(header: str | None, suffixes: tuple[str, ...] = ()) -> str:
    """Decode a percent-encoded file name, and refuse one with folders.

    Without `suffixes` it is the name of a table, from which its format follows.
    """
    name = unquote(header or "").strip()
    if not name or len(name) > 200 or name in (".", "..") or re.search(r"[/\\\x00-\x1f]", name):
        raise Refused(
            "the header Veil-File-Name should hold the name of the file, without folders", kind="RequestError"
        )
    if suffixes:
        if Path(name).suffix.lower() not in suffixes:
            raise Refused(
                f"{name}: the name of a project ends in {' or '.join(suffixes)}",
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "InputError",
            )
        return name
    try:
        format_of(Path(name))
    except InputError as error:
        raise Refused(str(error), HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "InputError") from None
    return name
