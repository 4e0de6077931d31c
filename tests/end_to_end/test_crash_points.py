"""Stopped at any step, a release is there as a whole or as it was; the next run goes on as if nothing had happened.

Every change of the file system is a place to die, as SQLite has it. Here a sample of them is tried, chosen by a fixed rule; VEIL_FUZZ
asks for all, with each signal, which takes an hour.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli import SOURCES
from support.crashing import kernel
from support.engines.servers import postgres_programs

POINTS = {
    "anonymize": 9,
    "mask": 6,
    "private table": 4,
    "report": 3,
    "certificate": 3,
    "budget": 4,
    "file of DuckDB": 6,
    "folder": 5,
    "several tables": 5,
    "table of DuckDB": 4,
    "table of PostgreSQL": 4,
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not kernel.is_possible(),
    reason="needs Linux 5.19, which tells of system calls",
)


def tried(case: str, folder: Path, signals: str, points: int | None) -> list[dict[str, Any]]:
    """What was found at the points of a case."""
    ran = subprocess.run(
        [sys.executable, "-m", "support.crashing.run", case, folder, signals, *([] if points is None else [str(points)])],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{Path(__file__).parents[1]}"},
        timeout=36_000,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()][1:]


@pytest.mark.parametrize("case", POINTS)
def test_stopped_at_any_step(tmp_path: Path, case: str) -> None:
    if "PostgreSQL" in case and postgres_programs() is None:
        pytest.skip("needs PostgreSQL's server: make servers, or apt install postgresql")
    found = tried(
        case, tmp_path, "SIGKILL,SIGINT,SIGTERM", None if os.environ.get("VEIL_FUZZ") else POINTS[case]
    )
    assert len(found) >= 3
    assert [each for each in found if each["problems"]] == []


def test_a_writer_that_is_not_atomic_is_found_out(tmp_path: Path) -> None:
    found = tried("planted", tmp_path, "SIGKILL", None)
    assert found
    assert all(each["problems"] for each in found)
