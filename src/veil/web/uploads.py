"""Tables that come in: streamed to the private folder, looked at before they are unpacked, and read."""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool

from veil.errors import InputError, VeilError
from veil.tables import Format
from veil.tables.formats import format_of, is_gzip
from veil.web.child import CHILDREN
from veil.web.problems import Refused, renamed
from veil.web.reading import read_apart, with_rows

if TYPE_CHECKING:
    from veil.web.jobs import Task
    from veil.web.session import BrowserSession, OpenTable

READING = "reading the table"
"""The phase in which a file is read."""


class Upload:
    """A file that was sent, under a name of our own: what its sender calls it is for people only."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        packed = Path(name).suffix if is_gzip(Path(name)) else ""
        self.path = self.folder / f"table{Path(name.removesuffix(packed)).suffix}{packed}".lower()

    async def receive(self, chunks: AsyncIterator[bytes]) -> None:
        """Write what comes in, piece by piece; of what breaks off, nothing stays."""
        try:
            with self.path.open("wb") as file:
                async for chunk in chunks:
                    await run_in_threadpool(file.write, chunk)
        except BaseException:
            self.discard()
            raise

    def start(self, session: BrowserSession, kind: str, work: Callable[[Task], dict[str, Any]]) -> Task:
        """Start a job that needs the file, which stays only if the job begins."""
        try:
            return session.start(kind, work)
        except BaseException:
            self.discard()
            raise

    def open_in(self, session: BrowserSession, job: Task, format: Format | None = None) -> OpenTable:
        """Check the file, read it, and open it as a table of a session; of what is stopped, nothing stays."""
        try:
            table = read_file(session, self.path, format, self.name, job, is_sent=True)
        except VeilError as error:
            self.discard()
            raise renamed(error, self.path, self.name) from None
        except BaseException:
            self.discard()
            raise
        weakref.finalize(table.source, self.discard)
        return table

    def discard(self) -> None:
        """Remove the file."""
        shutil.rmtree(self.folder, ignore_errors=True)


def read_file(
    session: BrowserSession, path: Path, format: Format | None, name: str, job: Task, *, is_sent: bool = False
) -> OpenTable:
    """Read a file in a process of its own. Its rows stay in a file of the session, which memory is mapped to."""
    from veil.web.session import OpenTable

    session.require_room()
    job.tell(READING, 0, 0, "")
    folder = Path(tempfile.mkdtemp(dir=session.folder))
    try:
        told = CHILDREN.run(
            read_apart, path, format, folder / "table.arrow", is_sent, name=name, check=job.check
        )
        again = functools.partial(with_rows, told, folder / "table.arrow")
        table = OpenTable(name, again(), again=again)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(table.source, shutil.rmtree, folder, ignore_errors=True)
    return table


def file_name(header: str | None, suffixes: tuple[str, ...] = ()) -> str:
    """Read the name of a file, which is sent percent-encoded, and refuse one that leads anywhere.

    Without `suffixes` it is that of a table, whose format follows from its name.
    """
    name = unquote(header or "").strip()
    if not name or len(name) > 200 or name in (".", "..") or re.search(r"[/\\\x00-\x1f]", name):
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "the header Veil-File-Name should hold the name of the file, without folders",
            kind="RequestError",
        )
    if suffixes:
        if Path(name).suffix.lower() not in suffixes:
            raise Refused(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"{name}: the name of a project ends in {' or '.join(suffixes)}",
                kind="InputError",
            )
        return name
    try:
        format_of(Path(name))
    except InputError as error:
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(error), kind="InputError") from None
    return name
