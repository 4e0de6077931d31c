"""What stands in several files says the same in all of them, and nothing foreign runs unattended but what was looked at."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

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
    assert jobs["newest"]["strategy"]["matrix"]["python"] == promised


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


def test_locks_name_versions_and_hashes_and_no_registry() -> None:
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) >= 4
    for path in locks:
        for line in path.read_text("utf-8").splitlines():
            if not line.lstrip().startswith("#"):
                assert re.fullmatch(
                    r"([\w.-]+==[\w.!+-]+( ;.*)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|)", line
                )
