"""Operations of the file system, with errors in Veil's words."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from pathlib import Path

from veil.errors import OutputError


def replaceable(path: Path, target: Path) -> int | None:
    """Return the permissions of a file that is to be replaced; refuse to replace anything else."""
    try:
        status = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path}: is a directory. Give the path of a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise OutputError(
            f"{path}: is not an ordinary file, and would be replaced by one. Choose another path"
        )
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(status.st_mode)


def sync(path: Path) -> None:
    """Force a file, or the entries of a directory, out of the caches onto the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open directories, and writes their entries itself.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Sync a folder if the file system can; its entries are in place anyway."""
    with contextlib.suppress(OSError):
        sync(path)


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def identity(path: Path) -> list[int] | None:
    """Return numbers that identify a file or folder, also after it is renamed; None if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return [status.st_dev, status.st_ino]
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


WAYS_OUT: dict[int, str] = {
    errno.ENOSPC: "the disk is full. Free some space or choose another disk",
    errno.EDQUOT: "your disk quota is used up. Free some space or choose another disk",
    errno.EFBIG: "the file would be larger than allowed here. Choose another disk, or write Parquet",
    errno.EACCES: "no permission to write there. Choose another path, or ask for permission",
    errno.EPERM: "no permission to write there. Choose another path, or ask for permission",
    errno.EROFS: "the file system is read-only. Choose another path",
    errno.ENOENT: "the directory does not exist. Create it, or choose another path",
    errno.ENOTDIR: "a part of the path is a file, not a directory. Choose another path",
    errno.ENAMETOOLONG: "the name is too long. Choose a shorter one",
}


def not_written(path: Path, error: OSError) -> OutputError:
    """Return an error with the reason why a file cannot be written, and a way out."""
    reason = WAYS_OUT.get(error.errno or 0, f"cannot be written: {error.strerror or error}")
    return OutputError(f"{path}: {reason}. Nothing was written")
