"""Untrusted ZIP files: checked before unpacking, and read part by part in memory."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from veil.errors import InputError

MOST_PARTS = 1_000
MOST_UNPACKED = 2_000_000_000


class Archive:
    """An archive whose parts have plain names, and are limited in number and size.

    Parameters
    ----------
    path : Path
        The file.
    times : int
        Largest size of all parts together, as a multiple of the size of the file.
    """

    def __init__(self, path: Path, *, times: int) -> None:
        try:
            self.zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file. Check the path") from None
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise InputError(f"{path}: is not a ZIP archive, or is incomplete") from None
        self.path = path
        try:
            self._check(path.stat().st_size * times)
        except BaseException:
            self.zip.close()
            raise

    def _check(self, most: int) -> None:
        parts = self.zip.infolist()
        if len(parts) > MOST_PARTS:
            raise InputError(
                f"{self.path}: has {len(parts):,} parts inside, and may have at most {MOST_PARTS:,}"
            )
        unpacked = sum(part.file_size for part in parts)
        if unpacked > min(most, MOST_UNPACKED):
            raise InputError(
                f"{self.path}: would be {unpacked:,} bytes once unpacked, which is more than its size explains. It is not opened"
            )
        names: set[str] = set()
        for part in parts:
            if not _is_plain(part.filename) or part.filename.casefold() in names:
                raise InputError(
                    f"{self.path}: has a part named {part.filename[:100]!r}, which points outside the "
                    "archive or appears twice"
                )
            names.add(part.filename.casefold())
            if part.flag_bits & 1:
                raise InputError(f"{self.path}: its parts are encrypted. Decrypt it first")

    @property
    def names(self) -> list[str]:
        """The names of its parts, without folders."""
        return [part.filename for part in self.zip.infolist() if not part.is_dir()]

    def read(self, name: str) -> bytes:
        """Return a part, with no more bytes than announced."""
        try:
            with self.zip.open(name) as file:
                return file.read()
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, zipfile.zlib.error):  # type: ignore[attr-defined]
            raise InputError(f"{self.path}: the part {name!r} is damaged") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.zip.close()


def _is_plain(name: str) -> bool:
    r"""Return whether a name stays inside the folder of the archive.

    >>> [_is_plain(name) for name in ("recipe.yaml", "hierarchies/1.csv", "../x", "/etc/x", "C:\\x", "a//b")]
    [True, True, False, False, False, False]
    """
    parts = PurePosixPath(name).parts
    return (
        bool(parts)
        and not any(sign in name for sign in ("\\", "\0", ":", "//"))
        and not name.startswith("/")
        and ".." not in parts
        and all(sign.isprintable() for sign in name)
    )
