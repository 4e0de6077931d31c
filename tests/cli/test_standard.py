"""Standard streams that are closed, full, or read by nobody: a sentence, a documented exit code, and nothing lost."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import PATIENTS, PLAN, python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams of POSIX")

PLAIN = shlex.join(PLAN)
FULL = "error: standard output cannot be written: No space left on device."


def shell(line: str) -> tuple[int, str]:
    """Run a line of bash in which `veil` is the command; return its exit code and standard error."""
    command = f'veil() {{ {shlex.quote(sys.executable)} -m veil.cli "$@"; }}; {line}'
    sources = str(Path(__file__).parents[2] / "src")
    ran = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": sources},
        check=False,
        timeout=300,
    )
    return ran.returncode, ran.stderr


def test_a_full_standard_output(folder: Path) -> None:
    code, err = shell(f"veil anonymize patients.csv {PLAIN} -o - -q >/dev/full")
    assert (code, err.startswith(FULL)) == (2, True)
    code, err = shell("veil --version >/dev/full")
    assert (code, err.startswith(FULL)) == (2, True)


def test_a_closed_standard_output_says_what_is_complete(folder: Path) -> None:
    code, err = shell(f"veil anonymize patients.csv {PLAIN} -o release.csv >&-")
    assert code == 2
    assert "standard output" in err
    assert "closed" in err
    assert "release.csv is complete" in err
    assert (folder / "release.csv").read_text().count("\n") == PATIENTS.count("\n")


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    (folder / "many.csv").write_text(PATIENTS + PATIENTS.split("\n", 1)[1] * 4000)
    code, err = shell(
        f"set -o pipefail; veil anonymize many.csv {PLAIN} --person null -o - -q | head -1 >/dev/null"
    )
    assert (code, err) == (141, "")


def test_closed_and_full_standard_error_change_nothing(folder: Path) -> None:
    assert shell(f"veil anonymize patients.csv {PLAIN} -o release.csv 2>&-")[0] == 0
    assert shell("veil risk nothing.csv --qi age 2>/dev/full")[0] == 2


def test_standard_input_that_cannot_be_kept(folder: Path) -> None:
    code, err = shell(f"veil anonymize - {PLAIN} -o release.csv <&-")
    assert (code, "input is closed" in err) == (2, True)


def test_a_folder_that_is_gone(folder: Path) -> None:
    code, err = shell(f"mkdir gone; cd gone; rmdir ../gone; veil risk {folder}/patients.csv --qi age")
    assert (code, "folder is gone" in err) == (2, True)


def test_threads_that_cannot_be(folder: Path) -> None:
    code, err = shell("NUMBA_NUM_THREADS=0 veil risk patients.csv --qi age")
    assert (code, "NUMBA_NUM_THREADS" in err) == (2, True)


# A signal while a library runs Python code: it makes an error of its own of the exit that the handler asks for.
SWALLOWED = """
import os, signal, sys
import veil.api.run as run
def stop(*_, **__):
    try:
        os.kill(os.getpid(), {number})
        signal.pause()
    except BaseException as error:
        raise {wrapped} from None
run.make_release = stop
from veil.cli import main
sys.argv = ["veil", "anonymize", "recipe.yaml", "--overwrite"]
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("wrapped", ["TypeError('of a schema')", "__import__('veil').errors.PlanError('x')"])
def test_a_stop_that_a_library_has_swallowed(folder: Path, number: int, code: int, wrapped: str) -> None:
    running = python("-c", SWALLOWED.format(number=int(number), wrapped=wrapped), cwd=folder)
    _, err = running.communicate(timeout=300)
    assert (running.returncode, err) == (code, "stopped; nothing was written\n")
