"""Stopped at any step, a release is there as a whole or as it was; the next run goes on as if nothing had happened.

Every change of the file system is a place to die, as SQLite has it. Here a sample of them is tried, chosen by a fixed rule; VEIL_FUZZ
asks for all, with each signal, and with and without something to replace, which takes hours.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.cli import SOURCES
from support.crashing import kernel
from support.engines.servers import mysql_programs, postgres_programs

POINTS = {
    "anonymize": 6,
    "mask": 3,
    "private table": 2,
    "policy": 2,
    "report": 2,
    "certificate": 2,
    "budget": 2,
    "file of DuckDB": 3,
    "folder": 2,
    "several tables": 2,
    "table of DuckDB": 3,
    "several tables of DuckDB": 2,
    "table of PostgreSQL": 2,
    "several tables of PostgreSQL": 2,
    "table of MariaDB": 2,
    "several tables of MariaDB": 3,
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not kernel.is_possible(),
    reason="needs Linux 5.19, which tells of system calls",
)


def has_mysql() -> bool:
    return mysql_programs() is not None and importlib.util.find_spec("MySQLdb") is not None


Found = list[dict[str, Any]]


def tried(folder: Path, signals: str, *cases: str) -> Found:
    """What was found at the points of some cases."""
    ran = subprocess.run(
        [sys.executable, "-m", "support.crashing.run", folder, signals, *cases],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (SOURCES, Path(__file__).parents[1], *sys.path))),
        },
        timeout=36_000,
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.slow
def test_stopped_at_any_step(tmp_path: Path) -> None:
    """All in one process, which has to import everything but once."""
    missing = {"PostgreSQL": postgres_programs() is None, "MariaDB": not has_mysql()}
    cases = [each for each in POINTS if not missing.get(each.rpartition(" ")[2])]
    sample = [each if os.environ.get("VEIL_FUZZ") else f"{each}:{POINTS[each]}" for each in cases]
    found = tried(tmp_path, "SIGKILL,SIGINT,SIGTERM", *sample)
    assert {each["case"] for each in found} == set(cases)
    assert [each for each in found if each["problems"]] == []


def test_a_writer_that_is_not_atomic_is_found_out(tmp_path: Path) -> None:
    found = tried(tmp_path, "SIGKILL", "planted")
    # A kill meets a step just before or just after it happens: before the first nothing is there, after the last all is.
    for old in (False, True):
        points = [each for each in found if each["old"] == old]
        assert len(points) == 6
        assert all(each["problems"] for each in points[1:-1])
