"""Compressed files, checked before they are unpacked."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

from veil.errors import InputError
from veil.tables.formats import is_gzip

MOST_UNPACKED = 2_000_000_000
MOST_TIMES = 200
"""The largest compression ratio: sheets are text that compresses well, but a larger ratio is a zip bomb."""

MOST_PARTS = 10_000


def check_packed(path: Path) -> None:
    """Refuse a compressed file that would become too large when unpacked."""
    if is_gzip(path):
        _check_gzip(path)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if len(parts) > MOST_PARTS:
                raise InputError(f"{path}: has {len(parts):,} parts inside, and may have {MOST_PARTS:,}")
            _check_growth(path, sum(part.file_size for part in parts))


def _check_gzip(path: Path) -> None:
    size = 0
    try:
        with gzip.open(path) as file:
            while piece := file.read(1 << 20):
                size += len(piece)
                _check_growth(path, size)
    except (OSError, EOFError, zlib.error):
        return  # the reader has a better message


def _check_growth(path: Path, unpacked: int) -> None:
    packed = path.stat().st_size
    if unpacked > MOST_UNPACKED or unpacked > max(1_000_000, MOST_TIMES * packed):
        raise InputError(
            f"{path}: would be {unpacked:,} bytes or more once unpacked, and has {packed:,} now. Unpack it yourself, and "
            "send a file that can be read as it is"
        )
