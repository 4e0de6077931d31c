"""What stands in several files says the same in all of them, and nothing foreign runs unattended but what was looked at."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


def test_the_citation_is_of_this_version() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


def test_every_python_that_is_promised_is_tested() -> None:
    promised = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    jobs = read(ROOT / ".github" / "workflows" / "checks.yml")["jobs"]
    assert promised
    assert set(promised) <= set(jobs["newest"]["strategy"]["matrix"]["python"])


def test_workflows_read_only_and_run_pinned_actions() -> None:
    assert WORKFLOWS
    for path in WORKFLOWS:
        found = read(path)
        assert found["permissions"] == {"contents": "read"}
        for job in found["jobs"].values():
            assert "permissions" not in job
            for step in job["steps"]:
                assert (
                    re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
                    if "uses" in step
                    else step["run"]
                )


def test_every_test_file_is_about_a_module_or_a_capability() -> None:
    modules = {
        path.relative_to(ROOT / "src/veil").with_name(path.stem.lstrip("_"))
        for path in (ROOT / "src/veil").rglob("*.py")
    }
    files = [path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")]
    elsewhere = {"features", "architecture", "end_to_end", "fuzz", "support"}
    orphans = [
        str(path)
        for path in files
        if path.parts[0] not in elsewhere and path.with_name(path.stem.removeprefix("test_")) not in modules
    ]
    assert orphans == []


READERS = re.compile(
    r"pq\.(ParquetFile|read_\w+)\(|\bread_(parquet|csv)\(|ipc\.open_|OSFile\(|load_workbook\(|FROM \{reader\}"
)
"""Calls that open a file with rows."""

BEHIND_THE_CHECK = {
    "tables/columnar.py", "tables/csv/reader.py", "tables/excel.py", "tables/source.py",
    "engines/scan/files.py", "engines/scan/scan.py", "engines/scan/types.py",
}  # fmt: skip
"""Modules that read input: each file has been through `check_snapshot` by then."""

OF_RELEASES = {
    "verification/files.py", "verification/foreign_table.py", "verification/layout.py", "engines/write/files.py",
    "engines/dialects/base.py", "engines/dialects/duckdb.py", "engines/dialects/spark.py", "web/reading.py",
}  # fmt: skip
"""Modules that read what was just written, or what another module has opened before."""


def test_no_file_is_read_beside_the_check_of_snapshots() -> None:
    """A reader elsewhere would take the files of a lake table, or of an unfinished job, for a table."""
    rooms = ROOT / "src/veil"
    found = {
        path.relative_to(rooms).as_posix()
        for path in rooms.rglob("*.py")
        if READERS.search(path.read_text("utf-8"))
    }
    assert found == BEHIND_THE_CHECK | OF_RELEASES


@pytest.mark.skipif("VEIL_FUZZ" in os.environ, reason="all examples are asked for")
def test_properties_try_a_third_of_the_examples_and_not_a_third_of_a_third() -> None:
    often = settings(max_examples=300)
    assert [often.max_examples, settings(often, deadline=None).max_examples] == [100, 100]
    assert [settings(often, max_examples=each).max_examples for each in (9, 60, 90)] == [9, 25, 30]
    tried = []

    @often
    @given(st.integers())
    def check(number: int) -> None:
        tried.append(number)

    check()
    assert 90 <= len(tried) <= 110


def test_locks_name_versions_and_hashes_and_no_registry() -> None:
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) >= 4
    for path in locks:
        for line in path.read_text("utf-8").splitlines():
            if not line.lstrip().startswith("#"):
                assert re.fullmatch(
                    r"([\w.-]+==[\w.!+-]+( ;.*)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|)", line
                )
