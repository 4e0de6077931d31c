"""Disposable processes that parse untrusted files with limits, so that a crash is only an error message.

Crafted files can make parsers of binary formats crash or exhaust the memory. A helper process, started once
with all modules loaded, does nothing but fork: each file is read in a fork of its own, and each session
(`veil.web.apart`) is a fork that stays until its connection is closed. Where processes cannot fork (Windows),
each file gets a new process. This keeps the server and all sessions alive; it is no sandbox.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from http import HTTPStatus
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar, cast

from veil.base.references import untrusted
from veil.engines.settings import available_memory
from veil.errors import InputError, VeilError
from veil.web.problems import TOO_LARGE, Refused, problem_of

Result = TypeVar("Result")

LONGEST = 1800.0
"""Seconds after which reading a file is given up."""
LOOK = 0.05
"""Seconds after which a waiting thread checks whether its task was stopped."""
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")


class Children:
    """Launcher of processes that end with their work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None

    def run(
        self, work: Callable[..., Result], *arguments: Any, name: str, check: Callable[[], None]
    ) -> Result:
        """Run `work` in a process of its own and return its result; `name` is the file in messages.

        `check` is called again and again; if it raises, the process is killed.
        """
        connection, process = self._fork(), None
        end = time.monotonic() + LONGEST

        def receive() -> Any:
            while not connection.poll(LOOK):
                check()
                if time.monotonic() > end:
                    raise InputError(f"{name}: could not be read within {LONGEST / 60:.0f} minutes")
            return connection.recv()

        try:
            process = receive()
            connection.send((available_memory(), False, work, arguments))
            error, words, result = receive()
            process = None  # it has ended, and its id may be reused
        except (EOFError, OSError):
            process = None
            raise InputError(
                f"{name}: the file is damaged, or {TOO_LARGE}. What read it has crashed; nothing else is affected"
            ) from None
        finally:
            if process is not None:
                with contextlib.suppress(OSError):
                    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            connection.close()
        if error is not None:
            raise error(*words)
        return cast("Result", result)

    def begin(self, work: Callable[..., None], *arguments: Any, memory: int) -> tuple[int, socket.socket]:
        """Start a process that stays; `work` gets a connection first. Return its id and the other end."""
        try:
            connection = self._fork()
            process = int(connection.recv())
        except EOFError:  # the helper has died before it could fork
            connection = self._fork()
            process = int(connection.recv())
        connection.send((memory, True, work, arguments))
        control = socket.socket(fileno=os.dup(connection.fileno()))
        connection.close()
        with self._lock:
            # The process needs the helper to have files read.
            socket.send_fds(control, [b"."], [self._running().fileno()])
        return process, control

    def adopt(self, control: socket.socket) -> None:
        """Use a helper that another process has started."""
        self._control = control

    def _fork(self) -> Connection:
        if not CAN_FORK:
            ours, theirs = get_context("spawn").Pipe()
            get_context("spawn").Process(target=_work, args=(theirs,), daemon=True).start()
            theirs.close()
            return ours
        mine, child_end = socket.socketpair()
        with child_end, self._lock:
            try:
                socket.send_fds(self._running(), [b"."], [child_end.fileno()])
            except OSError:  # the helper was killed
                self._control = None
                socket.send_fds(self._running(), [b"."], [child_end.fileno()])
        return Connection(mine.detach())

    def warm(self) -> None:
        """Start the helper, so that the first file does not wait for it."""
        if CAN_FORK:
            with self._lock:
                self._running()

    def _running(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair()
            with theirs:
                helper = subprocess.Popen(
                    [sys.executable, "-P", "-c", "from veil.web.child import serve; serve()"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,  # a traceback may contain a value of the table
                    env={
                        **os.environ,
                        "OPENBLAS_NUM_THREADS": "1",
                        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
                    },
                )
            weakref.finalize(self, _end, helper, self._control)  # at the end of this process
        return self._control


def _end(helper: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    helper.kill()
    helper.wait()


CHILDREN = Children()
"""The one helper of this process. It ends with the process, whose end closes the connection."""


_LOADED = (
    *("veil.web.reading", "veil.recipe.deid", "veil.tables.excel"),
    *("pyarrow.csv", "pyarrow.feather", "pyarrow.parquet", "pandas", "_strptime", "zoneinfo", "tarfile"),
)
"""Modules loaded before the first request, so that no fork has to. Arrow loads pandas if it is installed."""
_LATER = (
    *("veil.api.anonymize", "numba.np.arraymath", "veil.risk.concerns.collect", "veil.api.mask"),
    *("veil.api.relax", "veil.api.advice", "veil.report.write"),
    *("sklearn.linear_model", "sklearn.naive_bayes", "sklearn.tree"),
)
"""Modules that tasks need, loaded one after the other while there is no request."""


def serve() -> None:
    """Fork on request until the parent is gone. Nothing else may run here: forking with threads is unsafe."""
    for each in _LOADED:
        _load(each)
    from veil.web.apart import api  # here, as it imports this module

    api()
    gc.freeze()  # pages shared with all forks stay shared if the collector does not touch them
    later = list(_LATER)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks are not waited for; so none becomes a zombie
    with socket.socket(fileno=os.dup(0)) as control:
        while True:
            while later and not select.select([control], [], [], 0)[0]:
                _load(later.pop(0))
                gc.freeze()
            message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                return
            if os.fork() == 0:
                control.close()
                # The same connection: if the helper dies, no fork may hold its end.
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                _work(Connection(descriptors[0]))
                os._exit(0)
            os.close(descriptors[0])


def _load(name: str) -> None:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)


def _work(connection: Connection) -> None:
    connection.send(os.getpid())
    memory, stays, work, arguments = connection.recv()
    _limit(memory)
    if stays:
        work(connection, *arguments)
        return
    answer: tuple[type[Exception] | None, tuple[Any, ...], Any]
    try:
        with untrusted():
            answer = None, (), work(*arguments)
    except MemoryError:
        answer = InputError, (f"the file {TOO_LARGE}",), None
    except VeilError as error:
        answer = type(error), error.words, None
    except Exception as error:
        problem = problem_of(error)
        answer = Refused, (problem.detail, HTTPStatus(problem.status), problem.type), None
    connection.send(answer)


def _limit(memory: int) -> None:
    """Limit the memory of this process, let the OOM killer choose it first, and disable core dumps."""
    with contextlib.suppress(ImportError):  # on Windows
        import resource

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):  # without /proc there is no limit
            # Data, not addresses: tables are memory-mapped, and threads reserve more than they use.
            used = int(Path("/proc/self/statm").read_text("ascii").split()[5]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))
            Path("/proc/self/oom_score_adj").write_text("500", "ascii")
