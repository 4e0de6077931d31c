"""The documentation site builds without a warning, asks nobody else for anything, and is up to date."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from veil.base.as_text import numbers_as_text
from veil.base.describe import parameters
from veil.recipe import Recipe
from veil.recipe.document import parse

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["make_reference", "make_commands", "make_recipes"])
def test_pages_made_from_declarations_are_up_to_date(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    made: Any = importlib.import_module(name)
    assert made.PAGE.read_text(encoding="utf-8") == made.text(), f"run `python docs/{name}.py`"


def test_every_field_of_a_recipe_has_an_example_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    pages: Any = importlib.import_module("make_recipes")
    step = {"kind": "RankSwapping", "columns": "age", "p": 5}
    for kind, fields in pages.EXAMPLES.items():
        listed = parameters(kind)
        assert set(fields) == {each.name for each in listed}, kind
        needed = {each.name: fields[each.name] for each in listed if each.default == "required"}
        for name, value in fields.items():
            base = needed if kind is not Recipe or name == "questions" else {"steps": [step]}
            with numbers_as_text():
                recipe = kind(**{**base, **({"person": None} if name == "questions" else {}), name: value})
            assert getattr(recipe, name) is not None


def test_every_whole_recipe_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    pages: Any = importlib.import_module("make_recipes")
    commands = [Recipe(**parse(text, "recipe").data).command for text in pages.WHOLE.values()]
    assert commands == ["anonymize", "mask", *["anonymize"] * 3, "private-table", "ask", "run"]


@pytest.mark.slow
def test_the_site_builds_without_warnings_or_broken_links_and_loads_nothing_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tutorial runs from its first cell to its last on the way."""
    pytest.importorskip("sphinx")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(tmp_path / "read"),
    ]
    built = subprocess.run([*command, str(DOCS), str(tmp_path / "site")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    monkeypatch.syspath_prepend(DOCS)
    check: Any = importlib.import_module("check_links")
    assert check.broken_links(tmp_path / "site") == []
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"<(script|img|iframe)[^>]+src=.(https?:)?//", text), page
        assert not re.search(r"<link[^>]+rel=.(stylesheet|preload).[^>]+href=.(https?:)?//", text), page


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    check: Any = importlib.import_module("check_links")
    links = [
        "other.html",
        "other.html#here",
        "#top",
        "https://example.org/",
        "gone.html",
        "other.html#gone",
        "#gone",
    ]
    page = "".join(f'<a href="{each}">x</a>' for each in links)
    (tmp_path / "page.html").write_text(f'<h1 id="top">x</h1>{page}', encoding="utf-8")
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>', encoding="utf-8")
    assert check.broken_links(tmp_path) == [
        "page.html: #gone",
        "page.html: gone.html",
        "page.html: other.html#gone",
    ]
