"""Compiled parts where nothing can be kept on disk, as in a container that is read only."""

from __future__ import annotations

import subprocess
import sys
import time

import numba
import pyarrow as pa
import pytest

import veil
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
    compiled = iter(range(0, 10**9, 3600))
    now = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("veil.lattice.search.compiling_seconds", lambda: next(compiled))
    monkeypatch.setattr("veil.lattice.search.time.perf_counter", lambda: next(now))
    table = pa.table({"age": list(range(20, 60)), "sex": ["f", "m"] * 20})
    plan = {
        "quasi_identifiers": {"age": h.intervals(5, 10, 20), "sex": "suppression"},
        "models": veil.KAnonymity(4),
    }
    release = veil.anonymize(table, **plan, time_limit=1)
    assert release.search.proven_optimal
