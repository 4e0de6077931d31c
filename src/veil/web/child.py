"""Disposable processes: what strangers send is parsed there, with limits, so that a crash is a sentence and nothing else.

Parsers of binary formats can be made to crash, and to take memory without end. A helper process, which is started once and
has everything loaded, does nothing but fork: each file gets a fork of its own, and the fork is gone when the file is read.
Where processes cannot fork (Windows), each file gets a new process. This keeps the server and everybody's sessions alive;
it is no sandbox.
"""

from __future__ import annotations

import contextlib
import importlib
import os
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
from typing import Any, TypeVar, cast

import pyarrow as pa

from veil.base.references import untrusted
from veil.engines.settings import available_memory
from veil.errors import InputError, VeilError
from veil.web.problems import Refused, problem_of

Result = TypeVar("Result")

LONGEST = 1800.0
"""Seconds after which a file is given up."""
LOOK = 0.05
"""Seconds after which a thread that waits asks whether anybody still wants to know."""
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
_TOO_LARGE = (
    "needs more memory than this machine has left. Send fewer rows or columns, or close other tables first"
)


class Children:
    """Starts processes that end with their work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None

    def run(
        self, work: Callable[..., Result], *arguments: Any, name: str, check: Callable[[], None]
    ) -> Result:
        """Return what `work` returns in a process of its own; `name` is the file in messages.

        `check` is asked all the time, and ends the process if it raises.
        """
        connection, process = self._start(), None
        end = time.monotonic() + LONGEST

        def receive() -> Any:
            while not connection.poll(LOOK):
                check()
                if time.monotonic() > end:
                    raise InputError(f"{name}: could not be read within {LONGEST / 60:.0f} minutes")
            return connection.recv()

        try:
            process = receive()
            connection.send((available_memory(), work, arguments))
            error, words, result = receive()
            process = None  # it has ended, and its number may soon be somebody else's
        except (EOFError, OSError):
            process = None
            raise InputError(
                f"{name}: the file is damaged, or {_TOO_LARGE}. What read it has crashed; nothing else is affected"
            ) from None
        finally:
            if process is not None:
                with contextlib.suppress(OSError):
                    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            connection.close()
        if error is not None:
            raise error(*words)
        return cast("Result", result)

    def _start(self) -> Connection:
        if not CAN_FORK:
            ours, theirs = get_context("spawn").Pipe()
            get_context("spawn").Process(target=_work, args=(theirs,), daemon=True).start()
            theirs.close()
            return ours
        mine, given = socket.socketpair()
        with given, self._lock:
            try:
                socket.send_fds(self._running(), [b"."], [given.fileno()])
            except OSError:  # somebody has ended the helper
                self._control = None
                socket.send_fds(self._running(), [b"."], [given.fileno()])
        return Connection(mine.detach())

    def warm(self) -> None:
        """Start the helper, which the first file would have to wait for."""
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
                    stderr=subprocess.DEVNULL,  # what dies here may say a value of the table
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
"""One helper for all that this process serves. It ends with the process, whose end closes the connection."""


_LOADED = (
    *("veil.web.reading", "veil.recipe.deid", "veil.tables.excel"),
    *("pyarrow.csv", "pyarrow.feather", "pyarrow.parquet", "pandas", "_strptime", "zoneinfo", "tarfile"),
)
"""What is loaded before anybody asks, so that no fork has to. Arrow loads pandas where there is one."""


def serve() -> None:
    """Fork whenever asked, until whoever has started this is gone. Nothing else may run here: forks of threads are unsafe."""
    for each in _LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(each)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for forks, so none stays as a zombie
    with socket.socket(fileno=os.dup(0)) as control:
        while True:
            asked, given, _, _ = socket.recv_fds(control, 1, 1)
            if not asked:
                return
            if os.fork() == 0:
                control.close()
                _work(Connection(given[0]))
                os._exit(0)
            os.close(given[0])


def _work(connection: Connection) -> None:
    connection.send(os.getpid())
    memory, work, arguments = connection.recv()
    _limit(memory)
    answer: tuple[type[Exception] | None, tuple[Any, ...], Any]
    try:
        with untrusted():
            answer = None, (), work(*arguments)
    except (MemoryError, pa.ArrowMemoryError):
        answer = InputError, (f"the file {_TOO_LARGE}",), None
    except VeilError as error:
        answer = type(error), error.words, None
    except Exception as error:
        problem = problem_of(error)
        answer = Refused, (HTTPStatus(problem["status"]), problem["detail"], problem["type"]), None
    connection.send(answer)


def _limit(memory: int) -> None:
    """Take no more memory than is free, and leave no image of it behind."""
    with contextlib.suppress(ImportError):  # on Windows
        import resource

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        taken = _address_space()
        if taken is not None:
            resource.setrlimit(resource.RLIMIT_AS, (taken + memory, taken + memory))


def _address_space() -> int | None:
    """Return how many bytes of addresses this process has, of which a limit counts all; None where nobody says."""
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None
