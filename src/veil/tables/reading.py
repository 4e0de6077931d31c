"""Opening files for reading, with errors that name the problem of a path and a way out."""

from __future__ import annotations

import gzip
import stat
import zlib
from pathlib import Path

from veil.base.paths import usable
from veil.errors import InputError, did_you_mean
from veil.tables.formats import is_gzip
from veil.tables.snapshot import check_snapshot


def check_readable(path: Path) -> None:
    """Refuse a path unless it is a file that can be opened, is not empty and is a table by itself.

    A pipe can be read only once, so that its first byte would be missing afterwards; a device may never end.
    """
    usable(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: is a directory, not a file. Give the path of one table file in it")
        if not stat.S_ISREG(mode):
            raise InputError(
                f"{path}: is a pipe or a device, but Veil reads a table more than once. Write it to a file "
                "first, and give its path"
            )
        with path.open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path}: the file is empty. It should hold a table with at least one row")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.{_neighbour(path)}") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it. Ask its owner, or run as another user") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror or error}") from error
    check_snapshot([path])


def read_bytes(path: Path) -> bytes:
    """Return the whole content of a file, unpacked if its name ends in ``.gz``."""
    check_readable(path)
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if is_gzip(path) else data
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"{path}: is not a complete gzip file ({error}). Copy it again, or rename it if it is not compressed"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _neighbour(path: Path) -> str:
    """Return a hint at a file with a similar name, or at a directory that does not exist."""
    if not path.parent.is_dir():
        return f" There is no directory {path.parent} either: check the path"
    try:
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return " Check the path"
    hint = did_you_mean(path.name, names)
    return hint if "Did you mean" in hint else " Check the path"
