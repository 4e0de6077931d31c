"""Compiled parts where nothing can be kept on disk, as in a container that is read only."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import pyarrow as pa
import pytest

import veil
from support.cli import SOURCES, python
from veil import hierarchies as h
from veil.base.compiled import compiling_seconds

# No folder will do: what Numba finds if neither the package, nor the home, nor NUMBA_CACHE_DIR can be written to.
NOWHERE = """
import warnings
from numba.core import caching

caching.CacheImpl._locator_classes.clear()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import pyarrow as pa
    import veil

    table = pa.table({"sex": ["f", "f", "m"]})
    release = veil.anonymize(table, quasi_identifiers={"sex": "suppression"}, models=veil.KAnonymity(2))
print(len([each for each in told if each.category.__name__ == "NotKeptWarning"]), release.transformation)
"""


def test_it_runs_and_says_once_that_nothing_is_kept() -> None:
    ran = subprocess.run([sys.executable, "-c", NOWHERE], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "1 {'sex': 1}"


def test_the_time_of_compiling_is_known() -> None:
    before, began = compiling_seconds(), time.perf_counter()
    numba.njit(lambda x: x + 1)(1)
    passed = time.perf_counter() - began
    assert 0 < compiling_seconds() - before <= passed


def test_no_limit_of_time_is_about_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that compiles for an hour in the middle of a search finds what any other finds in a second."""
    table = pa.table({"age": list(range(20, 60)), "sex": ["f", "m"] * 20})
    plan = {
        "quasi_identifiers": {"age": h.intervals(5, 10, 20), "sex": "suppression"},
        "models": veil.KAnonymity(4),
    }
    veil.anonymize(table, **plan)  # compiles for real, which takes looks at the clock
    compiled, now = iter(range(0, 10**9, 3600)), iter(range(0, 10**9, 3600))
    monkeypatch.setattr("veil.lattice.search.compiling_seconds", lambda: next(compiled))
    monkeypatch.setattr("veil.lattice.search.time.perf_counter", lambda: next(now))
    release = veil.anonymize(table, **plan, time_limit=1)
    assert release.search.proven_optimal


DOUBLE = """
import sys
from veil.base.compiled import compiling_seconds
from {module} import double
print(double(21), compiling_seconds() > 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_code_on_disk_is_compiled_again(tmp_path: Path, ending: str) -> None:
    """Numba would run what it finds, and the process would end where the damage is."""
    (tmp_path / "doubling.py").write_text(
        "from veil.base.compiled import kernel\n\n@kernel\ndef double(number):\n    return 2 * number\n"
    )

    def run() -> str:
        running = python(
            "-c",
            DOUBLE.format(module="doubling"),
            env={
                **os.environ,
                "PYTHONPATH": f"{SOURCES}:{tmp_path}",
                "NUMBA_CACHE_DIR": str(tmp_path / "kept"),
            },
        )
        out, err = running.communicate(timeout=300)
        assert running.returncode == 0, err
        return out.strip()

    assert [run(), run()] == ["42 True", "42 False"]
    (file,) = (tmp_path / "kept").rglob(f"*.{ending}")
    content = bytearray(file.read_bytes())
    for place in range(40, len(content), 97):
        content[place] ^= 0xFF
    file.write_bytes(content)
    assert [run(), run()] == ["42 True", "42 False"]


@pytest.mark.slow
def test_code_for_a_type_that_another_version_has_not_is_compiled_again(tmp_path: Path) -> None:
    source = (
        "from typing import NamedTuple\nfrom veil.base.compiled import kernel\n\n"
        "class {name}(NamedTuple):\n    number: int\n\n@kernel\ndef double(given):\n    return 2 * given.number\n"
    )
    code = "import doubling\nprint(doubling.double(doubling.{name}(21)))"
    for name in ("First", "Other"):
        (tmp_path / "doubling.py").write_text(source.format(name=name))
        environment = {"PYTHONPATH": f"{SOURCES}:{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        running = python("-c", code.format(name=name), env={**os.environ, **environment})
        out, err = running.communicate(timeout=300)
        assert (running.returncode, out.strip()) == (0, "42"), err
