"""Atomic replacement of files and folders.

A rename is atomic on every system that Python runs on. Replacing a folder that is not empty is not, except on
Linux, which can exchange two names in one step (renameat2). Elsewhere the old folder is moved aside first:
between the two renames there is no folder, and after a kill in that instant the old one lies beside the
target under a name that ends in ``veil-old``, until `put_back` restores it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path

_NOREPLACE, _EXCHANGE = 1, 2
_AT_FDCWD = -100
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def take_place(new: Path, target: Path, *, overwrite: bool) -> Path | None:
    """Put a file or folder in the place of `target` in one step; return the old one's path, if it has one.

    An empty folder counts as a free place. The old file is gone; the old folder is where the new one was.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in "new", "old":
    ...     (folder / name).mkdir()
    ...     _ = (folder / name / "part").write_text(name)
    >>> where = take_place(folder / "new", folder / "old", overwrite=True)
    >>> (folder / "old" / "part").read_text(), (where / "part").read_text()
    ('new', 'old')
    """
    if not _is_occupied(target):
        _rename_to_free_place(new, target)
        return None
    if not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    if not target.is_dir():
        os.replace(new, target)
        return None
    if not _renameat2(new, target, _EXCHANGE):
        aside = _aside(target)
        shutil.rmtree(aside, ignore_errors=True)  # of a run that was killed here and repeated since
        os.rename(target, aside)
        os.rename(new, target)
        return aside
    return new


def put_back(target: Path) -> None:
    """Restore an old folder that a killed run had moved aside before putting the new one in its place."""
    aside = _aside(target)
    if not aside.exists():
        return
    if os.path.lexists(target):
        shutil.rmtree(aside, ignore_errors=True)  # killed later: the new one is in place
    else:
        os.rename(aside, target)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.veil-old")


def _is_occupied(target: Path) -> bool:
    return any(target.iterdir()) if target.is_dir() else os.path.lexists(target)


def _rename_to_free_place(new: Path, target: Path) -> None:
    if target.is_dir():
        os.rmdir(target)  # empty, or this fails
    # A file or folder that was made there in the meantime stays.
    if not _renameat2(new, target, _NOREPLACE):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(new, target)


def _renameat2(old: Path, new: Path, flags: int) -> bool:
    """Rename by Linux's system call; False where there is none, or the file system does not know the flag."""
    if sys.platform != "linux":
        return False
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # an old C library
        return False
    if call(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(old), None, str(new))
