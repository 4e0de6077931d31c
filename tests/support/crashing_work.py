"""Work for disposable processes that goes wrong."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import numpy as np


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


# --- sessions in processes of their own, in which measuring risks goes wrong


def _live(fault: Any, connection: Any, *arguments: Any) -> None:
    import veil
    from veil.web.apart import live

    def analyze(*_: Any, **__: Any) -> None:
        time.sleep(0.3)  # until the task has been announced
        fault()

    veil.risk.analyze = analyze  # type: ignore[assignment]
    live(connection, *arguments)


def live_until_segfault(*arguments: Any) -> None:
    """Serve a session that crashes."""
    _live(segfault, *arguments)


def live_until_abort(*arguments: Any) -> None:
    """Serve a session that ends as C++ does where nobody catches an exception."""
    _live(os.abort, *arguments)


def live_until_memory_is_gone(*arguments: Any) -> None:
    """Serve a session that takes memory without end."""
    _live(_take_all, *arguments)


def _take_all() -> None:
    taken = []
    while True:
        taken.append(np.ones(1 << 24, np.uint8))


def live_slowly(*arguments: Any) -> None:
    """Serve a session that takes long."""
    _live(lambda: time.sleep(300), *arguments)


def live_and_tell_headers(*arguments: Any) -> None:
    """Serve a session that answers with the names of the headers it gets."""
    from starlette.requests import Request
    from starlette.responses import JSONResponse

    from veil.web import apart

    async def tell(scope: Any, receive: Any, send: Any) -> None:
        await JSONResponse(list(Request(scope).headers))(scope, receive, send)

    apart.api = lambda: tell  # type: ignore[assignment]
    apart.live(*arguments)
