"""The same bytes leave in every environment: other homes, hash seeds, threads and processes."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import veil
from support.cli import SOURCES
from veil import synthetic

PATHS = os.pathsep.join([str(SOURCES), *(str(Path(__file__).parents[each]) for each in (0, 1))])


def digest(place: str) -> str:
    """Anonymize, save at a place, and return the fingerprint of what stands there."""
    release = veil.anonymize(
        synthetic.patients(300, seed=1),
        quasi_identifiers={"age": "auto", "sex": "suppression", "zip": "redaction"},
        sensitive=["diagnosis"],
        models=[veil.KAnonymity(4), veil.DistinctLDiversity("diagnosis", 2)],
        others="drop",
        person=None,
        order="input",
    )
    release.save(place)
    return hashlib.sha256(Path(place).read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the fingerprint of what leaves here."""
    return digest(str(tmp_path_factory.mktemp("here") / "release.csv"))


def start(place: Path, **environment: str | None) -> subprocess.Popen[str]:
    """Run `digest` in a process of its own, with variables of the environment set, or unset where they are None."""
    given = {**os.environ, "PYTHONPATH": PATHS, "PYTHONFAULTHANDLER": "1", **environment}
    return subprocess.Popen(
        [sys.executable, "-c", f"import test_environments as t; print(t.digest({str(place)!r}))"],
        env={name: value for name, value in given.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(running: subprocess.Popen[str]) -> tuple[str, str]:
    """Return what a process printed, and what it complained of; it must have ended well."""
    out, err = running.communicate(timeout=900)
    assert running.returncode == 0, err
    return out.strip(), err


ENVIRONMENTS: list[dict[str, str | None]] = [
    {"PYTHONHASHSEED": "0", "HOME": None, "TZ": "Pacific/Kiritimati"},
    {"PYTHONHASHSEED": "4242", "HOME": "/nowhere", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONOPTIMIZE": "2"},
    {"PYTHONHASHSEED": "77", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
]


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["no home", "plain C", "one thread"])
def test_no_variable_changes_a_byte(
    tmp_path: Path, expected: str, environment: dict[str, str | None]
) -> None:
    assert told(start(tmp_path / "release.csv", **environment))[0] == expected


def test_an_installation_where_nothing_can_be_written(tmp_path: Path, expected: str) -> None:
    """Neither beside the modules nor at home. What is a file can be no folder, for root either, who may write everywhere."""
    package = shutil.copytree(
        SOURCES / "veil", tmp_path / "site-packages" / "veil", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in {each.parent for each in package.rglob("*.py")}:
        (folder / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    before = sorted(package.rglob("*"))
    out, err = told(
        start(
            tmp_path / "release.csv",
            PYTHONPATH=os.pathsep.join([str(package.parent), PATHS]),
            HOME=str(home),
            XDG_CACHE_HOME=str(home / "cache"),
            NUMBA_CACHE_DIR=None,
        )
    )
    assert out == expected
    assert err.count("NotKeptWarning: there is no writable folder") == 1
    assert sorted(package.rglob("*")) == before


@pytest.mark.slow
def test_four_processes_that_compile_at_once(tmp_path: Path, expected: str) -> None:
    """They share one empty folder for what is compiled, and write into it under each other's hands."""
    cache = tmp_path / "cache"
    cache.mkdir()
    running = [start(tmp_path / f"{number}.csv", NUMBA_CACHE_DIR=str(cache)) for number in range(4)]
    assert {told(each)[0] for each in running} == {expected}
    assert any(cache.rglob("*.nbi"))


def test_eight_threads(tmp_path: Path, expected: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(digest, [str(tmp_path / f"{number}.csv") for number in range(8)]))
    assert found == {expected}


def test_processes_of_a_pool(tmp_path: Path, expected: str) -> None:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        found = set(pool.map(digest, [str(tmp_path / f"{number}.csv") for number in range(2)]))
    assert found == {expected}


FORKED = """
import os, sys
import test_environments as t

first = t.digest(sys.argv[1])
if os.fork() == 0:
    print(t.digest(sys.argv[2]), flush=True)
    os._exit(0)
assert os.wait()[1] == 0
print(first)
"""


def test_a_process_forked_after_work(tmp_path: Path, expected: str) -> None:
    """What has run already, with its threads and compiled kernels, is forked, as web servers do it."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "a.csv"), str(tmp_path / "b.csv")],
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert ran.stdout.split() == [expected, expected], ran.stderr
