"""The rooms of `src/veil` keep their order, and a room that does not is noticed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = ROOT / "pyproject.toml"


def linted(folder: Path, cache: Path) -> tuple[int, str]:
    """What the contracts say of the package `veil` in a folder: exit code and text, without line breaks."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
    ]
    ran = subprocess.run(
        [*command, "--no-logo", "--config", str(CONTRACTS), "--cache-dir", str(cache)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, " ".join((ran.stdout + ran.stderr).split())


def test_every_contract_is_kept(tmp_path: Path) -> None:
    code, told = linted(ROOT / "src", tmp_path)
    assert (code, "0 broken" in told) == (0, True), told


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package that may be spoiled."""
    folder = tmp_path_factory.mktemp("layers")
    ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    shutil.copytree(ROOT / "src" / "veil", folder / "veil", ignore=ignored)
    return folder


FOR_TYPES = (
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from veil.lattice.search import Search\n"
)
WHEN_CALLED = "def late():\n    from veil.api import verify\n"

SPOILED = {
    "upwards": ("tables/text.py", "import veil.api.verify\n", "One direction", "veil.tables.text -> veil.api.verify"),
    "upwards, when called": ("risk/limits.py", WHEN_CALLED, "One direction", "veil.risk.limits -> veil.api.verify"),
    "upwards, for types": ("quality/base.py", FOR_TYPES, "One direction", "veil.quality.base -> veil.lattice.search"),
    "sideways": ("dp/walk.py", "import veil.masking\n", "One direction", "veil.dp.walk -> veil.masking"),
    "a file at the root": ("loose.py", "", "One direction", "veil.loose"),
    "the engine in the verifier": (
        "verification/release.py",
        "from veil.classes import table\n",
        "The verifier shares nothing with the engine",
        "veil.verification.release -> veil.classes.table",
    ),
    "another door to Numba": (
        "models/base.py",
        "import numba\n",
        "One door to Numba",
        "veil.models.base -> numba",
    ),
    "Ibis elsewhere": ("risk/uniques.py", "import ibis\n", "Only engines know Ibis", "veil.risk.uniques -> ibis"),
    "an engine by its name": (
        "engines/copy.py",
        "from veil.engines.dialects import mysql\n",
        "Engines are told apart in dialects only",
        "veil.engines.copy -> veil.engines.dialects.mysql",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("file", "code", "contract", "culprit"), SPOILED.values(), ids=SPOILED.keys())
def test_what_breaks_a_contract_is_named(
    copied: Path, file: str, code: str, contract: str, culprit: str
) -> None:
    path = copied / "veil" / file
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text((before or "") + "\n" + code, encoding="utf-8")
    try:
        exit_code, told = linted(copied, copied / "cache")
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before, encoding="utf-8")
    assert exit_code == 1, told
    assert f"{contract} BROKEN" in told
    assert culprit in told


def rooms_named(path: Path) -> set[str]:
    """Rooms of which a file imports something by a name in a text, which no contract sees."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            first = node.args[0]
            start = first.values[0] if isinstance(first, ast.JoinedStr) else first
            if isinstance(start, ast.Constant) and str(start.value).startswith("veil."):
                found.add(str(start.value).split(".")[1])
    return found


def test_no_room_reaches_another_by_a_name_in_a_text(tmp_path: Path) -> None:
    """Only the package itself does, which lists its annexes, and the command that starts the workbench."""
    source = ROOT / "src" / "veil"
    for path in source.rglob("*.py"):
        if path not in (source / "__init__.py", source / "cli" / "workbench.py"):
            assert rooms_named(path) <= {path.relative_to(source).parts[0]}, path
    spoiled = tmp_path / "spoiled.py"
    spoiled.write_text('import importlib\nimportlib.import_module("veil.engines.questions")\n')
    assert rooms_named(spoiled) == {"engines"}
