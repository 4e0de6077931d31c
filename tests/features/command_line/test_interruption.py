"""Ctrl-C at any moment: exit code 130, a word about it, and no half-written file."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import RECIPE, contents, process, python, veil
from veil.synthetic import patients
from veil.tables import write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

SLOW = shlex.split(
    "--qi age=intervals:2,10,20,40 --qi sex=suppression --qi zip=redaction --qi education=priority "
    "--qi occupation=priority --qi admission=dates:month,quarter,year,root=true --qi stay=intervals:5,10,20 "
    "--identifying name --others keep --model k-anonymity:5 --quality kullback-leibler --suppression-limit 0.5 "
    "--strategy best-effort --time-limit 3600"
)


def test_in_the_middle_of_a_long_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    monkeypatch.setenv("TERM", "xterm")  # one that is called dumb is shown no progress
    write(patients(20_000), tmp_path / "patients.csv")
    before = contents(tmp_path)
    ours, theirs = pty.openpty()  # a terminal, so that progress is shown
    running = process("anonymize", "patients.csv", *SLOW, "-o", "release.csv", cwd=tmp_path, stderr=theirs)
    os.close(theirs)
    shown = _read_until(ours, "searching")
    assert "searching" in shown
    running.send_signal(signal.SIGINT)
    shown = _read_until(ours, None)
    assert running.wait(timeout=300) == 130
    assert "nothing was written" in shown
    assert contents(tmp_path) == before
    os.close(ours)
    running.communicate()


# Stops in the middle of writing the table: half of it is in the temporary file.
HALF_WRITTEN = """
import sys, time
import veil.tables.writing as files
def half(table, file, format, **rest):
    file.write(b"half a ta")
    file.flush()
    print("writing", flush=True)
    time.sleep(3600)
files._write = half
from veil.cli import main
sys.argv = ["veil", "anonymize", "recipe.yaml", "--overwrite"]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_in_the_middle_of_writing(folder: Path, number: int, code: int) -> None:
    (folder / "release.csv").write_text("the old release")
    before = contents(folder)
    running = python("-c", HALF_WRITTEN, cwd=folder)
    assert running.stdout is not None
    assert running.stdout.readline() == "writing\n"
    assert any(name.endswith(".tmp") for name in contents(folder))
    running.send_signal(number)
    _, err = running.communicate(timeout=300)
    assert running.returncode == code
    assert "Traceback" not in err
    assert contents(folder) == before
    if number == signal.SIGINT:
        assert err == "stopped; nothing was written\n"


def test_after_writing_it_says_what_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("veil.cli.run.show_done", stop)
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 130
    assert ran.err == "stopped; release.csv is complete\n"
    assert (folder / "release.csv").read_text().startswith("age,")


def test_in_the_middle_of_a_compiled_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(*_: object, **__: object) -> None:
        raise SystemError("CPUDispatcher returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("veil.api.run.make_release", kernel)
    before = contents(folder)
    ran = veil("anonymize", "recipe.yaml")
    assert (ran.code, ran.err) == (130, "stopped; nothing was written\n")
    assert contents(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.2, 0.6, 1.0, 1.4, 1.8])
def test_whenever(folder: Path, delay: float) -> None:
    (folder / "recipe.yaml").write_text(RECIPE)
    before = contents(folder)
    running = process("anonymize", "recipe.yaml", cwd=folder)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(timeout=delay)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=300)
    after = contents(folder)
    # The signal may come before, while or after the release is put in place: it is whole, or not there.
    released = after.pop("release.csv", None)
    assert after == before
    if released is not None:
        assert released.count(b"\n") == before["patients.csv"].count(b"\n")
    else:
        assert running.returncode != 0
        assert "complete" not in err


def _read_until(terminal: int, text: str | None) -> str:
    """Read what a terminal shows until a text appears, or to the end."""
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal without a process with an error
        while part := os.read(terminal, 4096):
            shown += part
            if text is not None and text.encode() in shown:
                break
    return shown.decode()
