"""A crash of a native library ends in a sentence and a documented exit code; everything else ends as it would without."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.cli import SOURCES, contents, process, python
from veil.cli.supervisor import CRASHED

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux lets children die with their parents"
)

# A command as it is, in which what loads the libraries does something else. Naps are short: a signal that comes
# between Python's last look for one and the system call is seen after the call.
WAIT = "[time.sleep(0.1) for _ in range(3000)]"
PLANTED = """
import ctypes, os, signal, sys, time
from veil.cli import main, startup
def quick():
    print(os.getpid(), os.getppid(), os.getpgrp(), flush=True)
    {fault}
startup.quick = quick
sys.argv = ["veil", "anonymize", "recipe.yaml"]
main()
"""


def planted(folder: Path, fault: str) -> subprocess.Popen[str]:
    """Start a command that does something else in the middle."""
    return python("-c", PLANTED.format(fault=fault), cwd=folder)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("ctypes.string_at(0)", "SIGSEGV"),
        ("os.abort()", "SIGABRT"),
        ("os.kill(os.getpid(), signal.SIGBUS)", "SIGBUS"),
    ],
)
def test_a_crash_is_a_sentence_and_an_exit_code(folder: Path, fault: str, name: str) -> None:
    before = contents(folder)
    running = planted(folder, fault)
    _, err = running.communicate(timeout=300)
    assert running.returncode == CRASHED == 71
    assert err.startswith(
        f"error: a library that Veil uses has crashed ({name}), most likely on a damaged file."
    )
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
@pytest.mark.parametrize("to", ["parent", "child", "both"])
def test_signals_reach_the_child_once_and_nothing_stays(
    folder: Path, number: int, code: int, to: str
) -> None:
    running = planted(folder, WAIT)
    assert running.stdout is not None
    child, parent, group = map(int, running.stdout.readline().split())
    assert (parent, group) == (running.pid, os.getpgrp())  # the group of the shell, as ever
    if to != "child":
        os.kill(parent, number)
    if to != "parent":
        try:
            os.kill(child, number)
        except ProcessLookupError:
            assert to == "both"
    _, err = running.communicate(timeout=300)
    assert running.returncode == code
    if code > 0:
        assert err == "stopped; nothing was written\n"
    end = time.monotonic() + 60
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_and_ctrl_z_at_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both processes are stopped, go on and end together, as a shell sees it, and the child hears of Ctrl-C once."""
    import pty

    monkeypatch.setenv("PYTHONPATH", str(SOURCES))
    (folder / "planted.py").write_text(PLANTED.format(fault=WAIT))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "-i"])
    os.write(terminal, f"cd {folder}; {sys.executable} planted.py\n".encode())
    child = int(_until(terminal, rb"(\d+) \d+ \d+\r\n")[1])
    os.write(terminal, b"\x1a")
    _until(terminal, rb"Stopped")
    end = time.monotonic() + 60  # the shell may see its own child stop before that one's child does
    while Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end
        time.sleep(0.02)
    os.write(terminal, b"fg\n")
    _until(terminal, rb"planted.py")
    time.sleep(0.2)
    os.write(terminal, b"\x03")
    _until(terminal, rb"stopped; nothing was written\r\n")
    os.write(terminal, b"echo code=$?; exit\n")
    said = _until(terminal, rb"(?s)(.*)code=(\d+)")
    assert (said[2], b"stopped" in said[1]) == (b"130", False)
    os.close(terminal)
    os.waitpid(pid, 0)


def _until(terminal: int, wanted: bytes) -> re.Match[bytes]:
    """Read what a terminal shows until it has shown something."""
    shown = b""
    while (found := re.search(wanted, shown)) is None:
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 1000)
    return found


def test_nohup_is_respected(folder: Path) -> None:
    code = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    fault = "time.sleep(1); os._exit(7)"
    running = python("-c", code + PLANTED.format(fault=fault), cwd=folder)
    assert running.stdout is not None
    child, parent, _ = map(int, running.stdout.readline().split())
    for each in (parent, child):
        os.kill(each, signal.SIGHUP)
    running.communicate(timeout=300)
    assert running.returncode == 7


def test_exit_codes_and_streams_are_those_of_the_child(folder: Path) -> None:
    for arguments, code in ((["--version"], 0), (["risk", "nothing.csv", "--qi", "age"], 2)):
        running = process(*arguments, cwd=folder)
        out, err = running.communicate(timeout=300)
        assert (running.returncode, bool(out), bool(err)) == (code, code == 0, code == 2)


def test_who_has_threads_is_not_forked(folder: Path) -> None:
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n"
    running = python("-c", code + PLANTED.format(fault="ctypes.string_at(0)"), cwd=folder)
    out, _ = running.communicate(timeout=300)
    assert int(out.split()[0]) == running.pid
    assert running.returncode == -signal.SIGSEGV
