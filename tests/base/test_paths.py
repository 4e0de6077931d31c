"""Paths that the system can look at, and those that it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from veil.base.paths import usable
from veil.errors import InputError, OutputError


def test_whether_something_is_there_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    for each in (".", "file", "file/below", "no/such/file", "dangling", "y" * 255):
        assert usable(tmp_path / each) == tmp_path / each
        assert usable(str(tmp_path / each)) == tmp_path / each


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("x" * 256, "too long"),
        ("d/" * 2500, "too long"),
        ("a\0b", r"a\0b: contains a NUL character"),
        ("\udcff", r"\udcff: the name is not valid UTF-8"),
        ("\ud800", r"\ud800: the name is not valid UTF-8"),
        ("loop", "leads back to itself"),
        ("loop/below", "leads back to itself"),
    ],
)
@pytest.mark.parametrize("error", [InputError, OutputError])
def test_refused(
    tmp_path: Path,
    name: str,
    told: str,
    error: type[InputError | OutputError],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(error) as found:
        usable(name, error)
    assert told in str(found.value)
    assert len(str(found.value)) < 200
