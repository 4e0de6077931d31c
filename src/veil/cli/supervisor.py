"""A parent that waits: if a native library crashes, the command still ends in a sentence and a documented exit code.

Arrow, DuckDB, Numba and the reader of Excel are native code, which a damaged file can make crash, and no handler inside a
crashed process can be relied on. To read each file in a process of its own first would cost a second reading, and covers
only what is known to crash. So `veil` forks at the very start, before anything heavy is loaded, which takes about a
millisecond: the child does everything, and the parent only waits, passes signals on, and says how the child has died.

What the world sees stays as it is. Both are in the process group of the shell, so that Ctrl-C and Ctrl-Z at a terminal reach
both: the parent passes on only what was sent to itself. A child whose parent is killed is killed with it. The parent ends
with the exit code of the child or, where a signal has ended that, by the same signal; only for signals of a crash it says a
sentence and ends with `CRASHED`. On other systems than Linux, which alone lets children die with their parents, and where
threads are running already, there is no parent: a crash ends as the system ends it.
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
    """Go on in a child; the parent does not return."""
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
        os._exit(128 + signal.SIGKILL)  # it has died before it could take anybody along
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, signals: set[int]) -> int:
    for number in signal.sigpending() & signals - {signal.SIGCHLD}:
        _send(child, number)  # it came before there was a child that could hear it
        signal.sigwait({number})
    for stream in (0, 1):  # whoever is at the other end waits for the child, not for us
        with contextlib.suppress(OSError):
            os.close(stream)
    while True:
        came = signal.sigwaitinfo(signals)
        if came.si_signo != signal.SIGCHLD:
            if came.si_code <= 0:  # somebody has sent it; what a terminal sends has reached the child, too
                _send(child, came.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _end(os.waitstatus_to_exitcode(status))


def _send(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _end(code: int) -> int:
    """Return the exit code, or end by the signal that has ended the child."""
    if code >= 0:
        return code
    name = signal.Signals(-code).name
    if name in _CRASHES:
        _say(
            f"a library that Veil uses has crashed ({name}), most likely on a damaged file. What was complete before is "
            "there, and nothing half-written is in its place. Write or copy the file again, or convert it to CSV; if that "
            "changes nothing, please report it"
        )
        return CRASHED
    if name == "SIGKILL":
        _say("the command was killed; if nobody has done so, there was not enough memory")
    else:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    os.kill(os.getpid(), -code)
    return 128 - code


def _say(message: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"error: {message}\n".encode())
