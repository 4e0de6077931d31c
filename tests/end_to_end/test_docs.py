"""Every Python block in the documentation runs, in order, in a folder of its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from veil.base.registry import REGISTRY
from veil.masking import METHODS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("[!_]*.md")),
    *sorted((ROOT / "docs" / "concepts").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    module = ModuleType(page.stem)
    monkeypatch.setitem(sys.modules, page.stem, module)  # where declared classes look up their annotations
    METHODS.registered()  # what is imported while a page runs would be forgotten with what the page declares
    for base, known in REGISTRY.items():  # what a page declares is gone with it
        monkeypatch.setitem(REGISTRY, base, dict(known))
    for block in blocks:
        exec(compile(block, str(page), "exec"), module.__dict__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not heading or heading[1:] in headings(file), target + heading


def headings(page: Path) -> set[str]:
    """Return the anchors of a page as GitHub makes them of its headings."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}
