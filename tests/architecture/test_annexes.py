"""An annex can be deleted: what anonymizes a table does not need it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {"policy": "ByPolicies", "questions": "Questions", "private_table": "PrivateTable"}


def run(folder: Path, *command: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("annex", KINDS)
def test_all_have_one_shape(annex: str) -> None:
    """At its top, an annex has its step and its part of a report; its work is in folders."""
    folder = ROOT / "src" / "veil" / annex
    modules = {path.name for path in folder.glob("*.py")}
    assert {"__init__.py", "step.py"} <= modules <= {"__init__.py", "step.py", "sections.py"}
    folders = {path.name for path in folder.iterdir() if path.is_dir()} - {"__pycache__"}
    assert all((folder / name / "__init__.py").exists() for name in folders - {"words"})


@pytest.mark.slow
@pytest.mark.parametrize("annex", KINDS)
def test_the_house_stands_without_it(annex: str, tmp_path: Path) -> None:
    """Commands, the demo, recipes and tests of `api/` run on a copy of the package in which its folder is gone."""
    ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    for name in ("src", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("api", "support", "conftest.py"):
        copy = shutil.copytree if (ROOT / "tests" / name).is_dir() else shutil.copy
        copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.rmtree(tmp_path / "src" / "veil" / annex)
    assert run(tmp_path, "-c", "import veil; print(veil.__file__)").startswith(str(tmp_path))
    assert "anonymize" in run(tmp_path, "-m", "veil", "--help")
    run(tmp_path, "-m", "veil", "demo")
    kinds = run(tmp_path, "-c", "from veil.recipe.steps import annexes; print(*sorted(annexes()))")
    assert kinds.split() == sorted(KINDS[each] for each in KINDS if each != annex)
    tests = ["tests/api/test_promises.py", "tests/api/test_targets.py", "tests/api/test_run.py"]
    run(tmp_path, "-m", "pytest", "-q", "-x", "-m", "not slow", *tests)
