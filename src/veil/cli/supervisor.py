"""A parent process: if a native library crashes, the command still ends with a message and its own exit code.

Arrow, DuckDB, Numba and the reader of Excel are native code that a damaged file can crash, and no handler inside
a crashed process is reliable. Reading each file in a process of its own first would double the reading and cover
known crashes only. So `veil` forks at the start, before heavy modules are loaded, which takes a millisecond: the
child does the work; the parent waits, forwards signals, and reports how the child died.

Nothing else changes. Both are in the process group of the shell, so Ctrl-C and Ctrl-Z at a terminal reach both:
the parent forwards only signals sent to itself. A child whose parent is killed is killed with it. The parent
ends with the exit code of the child or by the same signal; only after a crash it prints a message and ends with
`CRASHED`. There is no parent on systems other than Linux, which alone lets children die with their parents, nor
if threads are already running.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

CRASHED = 71
"""A native library has crashed."""

_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE")
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def supervise() -> None:
    """Continue in a child process; the parent does not return."""
    if sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:
        return
    signals = {getattr(signal, name) for name in (*_PASSED_ON, "SIGCHLD")}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    parent = os.getpid()
    child = os.fork()
    if child:
        os._exit(_wait(child, signals))
    import ctypes

    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)  # the parent has died before prctl
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, signals: set[int]) -> int:
    for number in signal.sigpending() & signals - {signal.SIGCHLD}:
        _send(child, number)  # it came before the fork
        signal.sigwait({number})
    for stream in (0, 1):  # pipes must depend on the child only
        with contextlib.suppress(OSError):
            os.close(stream)
    while True:
        came = signal.sigwaitinfo(signals)
        if came.si_signo != signal.SIGCHLD:
            if came.si_code <= 0:  # sent by a process; signals of a terminal have reached the child, too
                _send(child, came.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _end(os.waitstatus_to_exitcode(status))


def _send(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _end(code: int) -> int:
    """Return the exit code, or end by the signal that ended the child."""
    if code >= 0:
        return code
    name = signal.Signals(-code).name
    if name in _CRASHES:
        _print_error(
            f"a library that Veil uses has crashed ({name}), most likely on a damaged file. What was complete before is "
            "there, and nothing half-written is in its place. Write or copy the file again, or convert it to CSV; if that "
            "changes nothing, please report it"
        )
        return CRASHED
    if name == "SIGKILL":
        _print_error("the command was killed; if nobody has done so, there was not enough memory")
    else:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    os.kill(os.getpid(), -code)
    return 128 - code


def _print_error(message: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"error: {message}\n".encode())
