"""Writing files whole or not at all.

A file is written under a temporary name in the directory of its target, synced to the disk, and renamed
onto the target in one step. Whatever goes wrong on the way (an error, a full disk, Ctrl-C), the target
is as it was before and the temporary file is gone.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from veil.errors import OutputError
from veil.tables import columnar, excel
from veil.tables.arrow import only_used_categories
from veil.tables.csv.writer import write_csv
from veil.tables.formats import Csv, Excel, Format, Parquet, is_gzip, output_format


def write(table: pa.Table, path: str | os.PathLike[str], *, format: Format | None = None) -> None:
    """Write a table to a file, atomically, in the given format or the one that the name stands for.

    Only what the rows hold is written: no metadata of the table or its columns, no layout, and of a dictionary-encoded
    column no categories that do not occur.

    >>> import pyarrow as pa, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "release.csv")
    ...     write(pa.table({"age": [30, None], "zip": ["02139", ""]}), path)
    ...     print(path.read_text(), end="")
    age,zip
    30,02139
    ,""
    """
    target = Path(path)
    chosen = format if format is not None else output_format(target)
    # In one piece: where chunks begin and end would tell how the table was put together.
    table = only_used_categories(pa.table(table.columns, names=table.column_names)).combine_chunks()
    with atomic(target) as temporary, temporary.open("wb") as file:
        try:
            _write(table, file, chosen, packed=is_gzip(target))
        except pa.ArrowException as error:
            raise OutputError(f"{target}: cannot hold this table: {error}") from error


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it is synced and takes the place of `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(Path(folder, "report.html")) as temporary:
    ...         _ = temporary.write_text("<p>done</p>")
    ...     [each.name for each in Path(folder).iterdir()]
    ['report.html']
    """
    named = Path(path)
    # Behind a symbolic link, the file that it points to is replaced, not the link.
    target = Path(os.path.realpath(named))
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(6)}.tmp")
    try:
        mode = replaceable(named, target)
        # Created by us with the permissions that the user's umask gives, never opened if it exists.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise not_written(named, error) from error
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        sync(temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise not_written(named, error) from error
    finally:
        # After a success there is nothing of this name left.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    # The file is in place. A file system that cannot sync directories is no reason to say otherwise.
    with contextlib.suppress(OSError):
        sync(target.parent)


def _write(table: pa.Table, file: BinaryIO, format: Format, *, packed: bool) -> None:
    if isinstance(format, Csv):
        if packed:
            # No name and no time inside, so that the same table gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as stream:
                write_csv(table, stream, format)  # type: ignore[arg-type]
        else:
            write_csv(table, file, format)
    elif isinstance(format, Excel):
        excel.write_excel(table, file, format)
    elif isinstance(format, Parquet):
        columnar.write_parquet(table, file)
    else:
        columnar.write_feather(table, file)


def replaceable(named: Path, target: Path) -> int | None:
    """Return the permissions of a file that is to be replaced; refuse to replace anything else."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise OutputError(f"{named}: is a directory. Give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise OutputError(
            f"{named}: is not an ordinary file, and would be replaced by one. Choose another path"
        )
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(found.st_mode)


def sync(path: Path) -> None:
    """Force a file, or the entries of a directory, out of the caches onto the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open directories, and writes their entries itself.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    """Say why a file cannot be written, and the way out."""
    reason = WAYS_OUT.get(error.errno or 0, f"cannot be written: {error.strerror or error}")
    return OutputError(f"{path}: {reason}. Nothing was written")


def file_name(name: str) -> str:
    """Return a name for a file of a table, which any system takes.

    >>> file_name("pseudonyms of name")
    'pseudonyms-of-name.csv'
    """
    return (re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "table") + ".csv"
