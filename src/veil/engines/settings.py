"""The share of this machine that an engine of our own may use: memory, threads and temporary files."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.base.references import Reference
from veil.base.signals import uninterrupted
from veil.errors import InputError, Say
from veil.tables.staging import Staging, temporary_folder

if TYPE_CHECKING:
    from ibis.backends import BaseBackend

_SIZE = re.compile(r"^(\d+(?:\.\d+)?) ?([KMGT]i?B)$")
_UNITS = {
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
}


_FOLDER = Reference("a folder", "leave it out")


@declared
class Settings:
    """What DuckDB may take of this machine. Past `memory`, it goes on in files under `temporary`.

    Rows of engines that Veil does not know are brought over to a DuckDB file there; with `bring_over`, those
    of every database, which then is asked for its rows once and for nothing else.

    >>> Settings(memory="2GB").bytes
    2000000000
    >>> Settings(memory="much")
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `memory` of Settings should be a size such as '2GB' or '512MiB', not 'much'
    """

    memory: Annotated[str | None, Field(description="by default half of the free memory")] = None
    threads: Annotated[int | None, Field(ge=1, description="by default all cores")] = None
    temporary: Annotated[Path | None, _FOLDER, Field(description="a folder; by default the system's")] = None
    bring_over: Annotated[
        bool, Field(description="copy the rows of a database to this machine, and work on the copy")
    ] = False
    kind: Literal["Settings"] = Field(default="Settings", repr=False, kw_only=True)

    @model_validator(mode="after")
    def _check(self) -> Settings:
        if self.memory is not None and _SIZE.match(self.memory) is None:
            raise ValueError(
                f"`memory` of Settings should be a size such as '2GB' or '512MiB', not {self.memory!r}"
            )
        return self

    @property
    def bytes(self) -> int:
        """The memory in bytes."""
        match = _SIZE.match(self.memory or "")
        if match is None:
            return available_memory() // 2
        return int(float(match[1]) * _UNITS[match[2]])

    def apply(self, backend: BaseBackend, folder: Staging | None = None) -> Callable[[], object]:
        """Set up a DuckDB connection of our own, with a private folder.

        The returned function closes the connection and removes the folder, as does garbage collection.
        """
        folder = self.private_folder() if folder is None else folder
        end = weakref.finalize(backend, _close, backend.con, folder)
        options: dict[str, Any] = {
            "memory_limit": f"{max(self.bytes, 1 << 26)}B",
            "temp_directory": str(folder.files),
            # A release does not need the order of the rows, and keeping it costs memory.
            "preserve_insertion_order": False,
            # Everything needed comes with the wheel; nothing is fetched from the network unasked.
            "autoinstall_known_extensions": False,
            # Instants are shown in UTC everywhere.
            "TimeZone": "UTC",
        }
        if self.threads is not None:
            options["threads"] = self.threads
        for name, value in options.items():
            backend.settings[name] = value
        import duckdb  # here as well as behind Ibis

        # Its bar goes to standard output, like JSON and tables. A notebook without ipywidgets has none, and
        # refuses the setting.
        with contextlib.suppress(duckdb.InvalidInputException):
            backend.settings["enable_progress_bar"] = False
        return end

    def private_folder(self) -> Staging:
        """Make a folder that only this user can open, for rows about people; remove those of killed runs."""
        try:
            return temporary_folder(self.temporary)
        except OSError as error:
            raise InputError(
                f"{self.temporary or tempfile.gettempdir()}: no temporary files can be made there "
                f"({error.strerror}). Name a folder that exists and can be written to, with ",
                Say("engine", "Settings", temporary=...),
            ) from None


def _close(connection: Any, folder: Staging) -> None:
    with uninterrupted(collecting=True):
        with contextlib.suppress(Exception):  # it may be closed already
            connection.close()
        folder.remove()


def available_memory() -> int:
    """Return how many bytes of memory are free on this machine, or in its container."""
    free = _free_by_linux() or _free_by_windows() or _physical()
    for used, limit in (
        ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.max"),
        ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            free = min(free, max(int(Path(limit).read_text()) - int(Path(used).read_text()), 1 << 28))
    return free


def _free_by_linux() -> int | None:
    with contextlib.suppress(OSError):
        match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        return int(match[1]) * 1024 if match else None
    return None


def _free_by_windows() -> int | None:
    if os.name != "nt":
        return None
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "a", "b", "c", "d", "e")),
        )

    status = Status(length=ctypes.sizeof(Status))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return int(status.free)


def _physical() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
