"""Work for disposable processes that goes wrong."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any


def segfault(*arguments: Any) -> None:
    """Read where nothing is, as a parser does that believes a damaged file."""
    ctypes.string_at(0)


def tell_process_and_sleep(file: str) -> None:
    """Write down which process this is, and take long."""
    Path(file).write_text(str(os.getpid()))
    time.sleep(300)


def take_memory(size: int) -> int:
    """Take some memory, every page of it."""
    return sum(bytearray(size)[::4096])


def open_file(path: str) -> Any:
    """Make what a document may not name."""
    from veil import hierarchies as h

    return h.file(path)


def refuse(path: str) -> None:
    """Refuse a file, with a way out."""
    from veil.errors import InputError, Say

    raise InputError(f"{path}: say ", Say("others", "keep"))
