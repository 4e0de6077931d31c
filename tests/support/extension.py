"""Packages of other people that add to Veil: installed into a folder, and used in a process of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def example() -> str:
    """Return the file that CONTRIBUTING.md adds as a privacy model."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    return next(block for block in blocks if "class AtMostHalf" in block)


def install(site: Path, group: str, name: str, code: str) -> None:
    """Install a package of one module with one entry point, as pip does: `name` is the class."""
    module = name.lower()
    (site / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    about = site / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:{name}\n")


def python(
    site: Path, *arguments: str | Path, sources: Path = ROOT / "src"
) -> subprocess.CompletedProcess[str]:
    """Run Python with the installed packages on its path, in their folder."""
    path = os.pathsep.join([str(sources), str(site)])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=site,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def run(site: Path, code: str, **options: Path) -> str:
    """Run some lines of Python and return what they print."""
    ran = python(site, "-c", textwrap.dedent(code), **options)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def veil(site: Path, *arguments: str) -> str:
    """Run a command of Veil and return what it prints."""
    ran = python(site, "-m", "veil.cli", *arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
