"""What the tests of the command line share: running it, and seeing that nothing was written."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner

from veil.cli.app import app

SOURCES = Path(__file__).parents[2] / "src"

PATIENTS = """\
name,age,sex,zip,diagnosis
Ada,23,f,02139,flu
Bob,27,m,02138,cold
Cem,34,m,02141,flu
Dia,38,f,02139,gout
Eve,41,f,02142,flu
Fay,45,f,02138,cold
"""

RECIPE = """\
input: patients.csv
output: release.csv
order: input
steps:
  - kind: Generalize
    quasi_identifiers:
      age: {kind: intervals, widths: [10, 20]}
      sex: suppression
      zip: redaction
    sensitive: [diagnosis]
    identifying: [name]
    models:
      - {kind: KAnonymity, k: 2}
"""

PLAN = shlex.split(
    "--qi age=intervals:10,20 --qi sex=suppression --qi zip=redaction "
    "--sensitive diagnosis --identifying name --model k-anonymity:2"
)


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed; line breaks of error messages are left alone."""

    code: int
    out: str
    err: str


_built = cache(get_command)  # once: to put the command line together takes longer than most commands do


def veil(*arguments: str | Path) -> Ran:
    """Run a command in this process."""
    with patch("typer.testing._get_command", _built, create=True):
        result = CliRunner().invoke(app, [str(each) for each in arguments])
    return Ran(result.exit_code, result.stdout, result.stderr)


def process(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return python("-m", "veil.cli", *arguments, **options)


def python(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """Start Python with the sources on its path."""
    settings: dict[str, object] = {
        "preexec_fn": _hear_of_closed_terminals if _is_deaf() else None,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "env": {**os.environ, "PYTHONPATH": str(SOURCES)},
        **options,
    }
    return subprocess.Popen([sys.executable, *map(str, arguments)], **settings)  # type: ignore[call-overload,no-any-return]


def _is_deaf() -> bool:
    """Whether tests run under nohup: what they start would ignore a closed terminal, too."""
    return hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def _hear_of_closed_terminals() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with what it holds, so that two moments can be compared."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }
