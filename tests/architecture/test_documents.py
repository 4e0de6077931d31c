"""What documents for contributors say of the code: the files they name are there, and the path is as long as they say."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "veil"
PATH = ROOT / "docs" / "path.md"


@pytest.mark.parametrize("document", [PATH, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_files_that_are_named_are_there(document: Path) -> None:
    text = re.sub(r"(?s)```.*?```", "", document.read_text())
    names = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", text))
    assert len(names) > 3
    example = {"src/veil/models/frequency.py", "tests/models/test_frequency.py"}  # which a reader is to write
    known = {path.name for path in SOURCES.rglob("*.py")}
    for name in names - example:
        there = (SOURCES / name).exists() or (ROOT / name).exists()
        assert there or ("/" not in name and name in known), name


def _files(call: Callable[[], Any]) -> set[str]:
    """Return the files of Veil in which a function runs."""
    call()  # imports do not count
    files: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{SOURCES}/") and frame.f_code.co_flags & 1:
            files.add(path.removeprefix(f"{SOURCES}/"))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files


def test_the_path_is_as_long_as_it_says(tmp_path: Path) -> None:
    rows = [
        f"P{i},{20 + i * 7 % 60},{'fm'[i % 2]},{2100 + i * 13 % 90},{'abcd'[i * 5 % 4]}" for i in range(500)
    ]
    table = tmp_path / "p.csv"
    table.write_text("\n".join(["name,age,sex,zip,diagnosis", *rows]) + "\n")
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(5, 10, 20), "sex": h.suppression(), "zip": h.redaction()},
        "sensitive": ["diagnosis"],
        "identifying": ["name"],
        "others": "drop",
        "models": [KAnonymity(5)],
        "suppression_limit": 0.05,
        "person": None,
    }
    release = veil.anonymize(table, **plan)
    traced = [
        _files(lambda: veil.anonymize(table, **plan)),
        _files(lambda: release.save(tmp_path / "o.csv", overwrite=True)),
        _files(lambda: release.report(tmp_path / "r.html", overwrite=True)),
    ]
    said = re.findall(r"(\d+)\s+(?:files )?in (\d+)", PATH.read_text().split("## How long the path is")[1])
    measured = [(len(files), len({name.split("/")[0] for name in files})) for files in traced]
    for (files, rooms), (number, room_count) in zip(said, measured, strict=True):
        assert abs(int(files) - number) <= 0.1 * number, f"docs/path.md says {said}, traced {measured}"
        assert abs(int(rooms) - room_count) <= 1, f"docs/path.md says {said}, traced {measured}"
