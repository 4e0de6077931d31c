"""Staging folders, which are private to one run and removed automatically.

Each holds a file that its run keeps locked. The operating system releases the lock however the run ends, so
that the next run can distinguish folders in use from those that killed runs have left behind.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

from veil.base.locks import is_at, is_busy, lock
from veil.base.signals import uninterrupted
from veil.tables.disk import remove

_LOCK = "lock"
_IN_USE: set[Path] = set()


class Staging:
    """A folder that only this user can open and only this run uses; removed at the end of the process.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     staging = Staging(Path(folder), "veil-")
    ...     _ = (staging.files / "rows.csv").write_text("age")
    ...     staging.remove()
    ...     list(Path(folder).iterdir())
    []
    """

    def __init__(self, where: Path, prefix: str, suffix: str = "") -> None:
        with uninterrupted():
            descriptor = None
            while descriptor is None:
                self.folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=where))
                descriptor = _hold_new(self.folder)
            self.remove = weakref.finalize(self, _end, self.folder, descriptor, os.getpid())
            self.files = self.folder / "new"
            try:
                self.files.mkdir()
            except OSError:
                self.remove()
                raise
            _IN_USE.add(self.files)


def temporary_folder(where: Path | None = None, prefix: str = "veil-") -> Staging:
    """Create a folder for temporary rows, where the system keeps such files; remove those of killed runs."""
    place = Path(where or tempfile.gettempdir())
    remove_left_behind(place, prefix)
    return Staging(place, prefix)


def is_staged(path: Path) -> bool:
    """Whether a file is in a staging folder of this run."""
    return path.parent in _IN_USE


def beside(target: Path) -> tuple[Path, str, str]:
    """Return the parent of the staging folders of a target, and the prefix and suffix of their names."""
    return target.parent, f".{target.name[:80]}.", ".tmp"


def left_behind(where: Path, prefix: str, suffix: str = "") -> list[Path]:
    """Return the staging folders with such names, in use or not."""
    pattern = re.compile(f"{re.escape(prefix)}[a-z0-9_]{{8}}{re.escape(suffix)}")
    try:
        with os.scandir(where) as entries:
            return [
                Path(each.path)
                for each in entries
                if pattern.fullmatch(each.name) and each.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []


def remove_left_behind(where: Path, prefix: str, suffix: str = "") -> None:
    """Remove the folders of this user's runs that have ended without removing them."""
    for folder in left_behind(where, prefix, suffix):
        if not _is_mine(folder):
            continue
        with take_over(folder) as ours:
            if ours:
                empty(folder)


def _is_mine(folder: Path) -> bool:
    """Whether this user owns the folder; links in a folder of another user are not to be followed."""
    try:
        return not hasattr(os, "geteuid") or folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


@contextlib.contextmanager
def take_over(folder: Path) -> Iterator[bool]:
    """Lock a folder whose run has ended; yield False if it is in use, or no staging folder."""
    with uninterrupted():
        path, descriptor = folder / _LOCK, None
        try:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            lock(descriptor)
            ours = is_at(descriptor, path)
        except FileNotFoundError:
            with contextlib.suppress(OSError):
                folder.rmdir()  # empty: its run was killed before it had a lock, or after removing it
            ours = False
        except OSError:
            ours = False
        try:
            yield ours
        finally:
            _let_go(folder, descriptor, empty=ours)


def empty(folder: Path) -> None:
    """Remove all but the lock."""
    for each in [*folder.iterdir()]:
        if each.name != _LOCK:
            remove(each)


def _let_go(folder: Path, descriptor: int | None, *, empty: bool) -> None:
    """Release the lock, and remove the folder if it is empty."""
    if descriptor is not None and os.name == "nt":  # Windows removes no open file
        os.close(descriptor)
    with contextlib.suppress(OSError):
        if empty and [each.name for each in folder.iterdir()] == [_LOCK]:
            (folder / _LOCK).unlink()
            folder.rmdir()
    if descriptor is not None and os.name != "nt":
        os.close(descriptor)


def _hold_new(folder: Path) -> int | None:
    """Lock a new folder; None if another run has taken it over."""
    path = folder / _LOCK
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileNotFoundError:
        return None
    except OSError:
        folder.rmdir()
        raise
    try:
        lock(descriptor)
    except OSError as error:
        if not is_busy(error):  # a file system without locks: no run can take it over
            return descriptor
    else:
        if is_at(descriptor, path):
            return descriptor
    os.close(descriptor)
    return None


def _end(folder: Path, descriptor: int, process: int) -> None:
    if os.getpid() != process:  # a fork of the owning process
        return
    with uninterrupted(collecting=True):
        _IN_USE.discard(folder / "new")
        with contextlib.suppress(OSError):
            empty(folder)
        _let_go(folder, descriptor, empty=True)
