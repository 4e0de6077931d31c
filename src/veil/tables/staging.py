"""Folders in which one run makes something that nobody else should see, and that nobody has to tidy up by hand.

Each holds a file that its run keeps locked. The operating system lets go of the lock when the run ends, however that is,
so that the next one can tell a folder that is in use from one that a killed run has left behind.
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
    """A folder that only this user can open and only this run uses; gone at the end of the process at the latest.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Staging(Path(folder), "veil-")
    ...     _ = (made.files / "rows.csv").write_text("age")
    ...     made.remove()
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
    """Make a folder for rows on their way, where the system keeps temporary files; those of killed runs are removed."""
    place = Path(where or tempfile.gettempdir())
    remove_left_behind(place, prefix)
    return Staging(place, prefix)


def is_staged(path: Path) -> bool:
    """Whether a file lies in a folder of this run, where nobody else looks."""
    return path.parent in _IN_USE


def beside(target: Path) -> tuple[Path, str, str]:
    """Where the staging folders of a target are, and how their names begin and end."""
    return target.parent, f".{target.name[:80]}.", ".tmp"


def left_behind(where: Path, prefix: str, suffix: str = "") -> list[Path]:
    """Return the folders of such names, in use or not."""
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
    """Remove folders of this user's runs that have ended without doing so."""
    for folder in left_behind(where, prefix, suffix):
        if not _is_mine(folder):
            continue
        with taken_over(folder) as ours:
            if ours:
                empty(folder)


def _is_mine(folder: Path) -> bool:
    """Whether nobody else has made the folder: a stranger could lead us astray from there."""
    try:
        return not hasattr(os, "geteuid") or folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


@contextlib.contextmanager
def taken_over(folder: Path) -> Iterator[bool]:
    """Hold a folder whose run has ended; False if it is in use, or not such a folder."""
    with uninterrupted():
        path, descriptor = folder / _LOCK, None
        try:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            lock(descriptor)
            ours = is_at(descriptor, path)
        except (
            FileNotFoundError
        ):  # killed before there was one, or after it was gone: then there is nothing else either
            with contextlib.suppress(OSError):
                folder.rmdir()
            ours = False
        except OSError:
            ours = False
        try:
            yield ours
        finally:
            _let_go(folder, descriptor, empty=ours)


def empty(folder: Path) -> None:
    """Remove all but the lock, which tells whose it is."""
    for each in [*folder.iterdir()]:
        if each.name != _LOCK:
            remove(each)


def _let_go(folder: Path, descriptor: int | None, *, empty: bool) -> None:
    """End the lock, and remove a folder that has been emptied; one with something to be kept stays as it is."""
    if descriptor is not None and os.name == "nt":  # which removes no open file
        os.close(descriptor)
    with contextlib.suppress(OSError):
        if empty and [each.name for each in folder.iterdir()] == [_LOCK]:
            (folder / _LOCK).unlink()
            folder.rmdir()
    if descriptor is not None and os.name != "nt":
        os.close(descriptor)


def _hold_new(folder: Path) -> int | None:
    """Lock a new folder; None if another run has taken it for one that was left behind."""
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
        if not is_busy(error):  # a file system without locks: nobody takes it for one that was left behind
            return descriptor
    else:
        if is_at(descriptor, path):
            return descriptor
    os.close(descriptor)
    return None


def _end(folder: Path, descriptor: int, process: int) -> None:
    if os.getpid() != process:  # a fork of the process that it belongs to
        return
    with uninterrupted(collecting=True):
        _IN_USE.discard(folder / "new")
        with contextlib.suppress(OSError):
            empty(folder)
        _let_go(folder, descriptor, empty=True)
