"""Errors of the file system at every step of a command: a sentence, a documented exit code, and the old files or the new.

Each command runs once to count its steps (opening, writing, renaming, synchronizing, making folders), and then once for
each of them with that one failing, with another error each time.
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.cli import PLAN, Ran, contents, veil

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT, errno.EROFS)
MASK = ("mask", "patients.csv", "-o", "release.csv", "--step", "rank-swapping:age,p=20", "--overwrite")
COMMANDS: dict[str, tuple[str, ...]] = {
    "anonymize": ("anonymize", "recipe.yaml", "--overwrite", "--certificate", "certificate.json", "--report", "report.json"),
    "parquet": ("anonymize", "patients.csv", *PLAN, "-o", "release.parquet", "--overwrite"),
    "xlsx": ("anonymize", "patients.csv", *PLAN, "-o", "release.xlsx", "--overwrite"),
    "mask": MASK,
    "certificate": ("verify", "published.csv", "--certificate", "published.json"),
    "budget": ("budget", "patients.csv", "--epsilon", "1", "--file", "new.budget.json"),
    "ask": ("ask", "patients.csv", "--person", "null", "--budget", "budget.json", "--count", "--epsilon", ".1"),
}  # fmt: skip


class Steps:
    """Counts the steps of a command that touch its folder, and lets one of them fail."""

    def __init__(self, folder: Path, fails: int, error: int) -> None:
        self.folder, self.fails, self.error, self.number = str(folder), fails, error, 0

    def step(self, *places: object) -> None:
        if places and not any(
            self.folder in os.fspath(each) for each in places if isinstance(each, str | Path)
        ):
            return
        self.number += 1
        if self.number == self.fails:
            raise OSError(self.error, os.strerror(self.error))

    def before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*args: Any, **options: Any) -> Any:
            if args and isinstance(args[0], str | Path):
                self.step(*(os.path.abspath(each) for each in args[:2] if isinstance(each, str | Path)))
            else:
                self.step()
            return function(*args, **options)

        return stepping

    def opening(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            inside = isinstance(file, str | Path) and self.folder in os.path.abspath(file)
            if inside:
                self.step()
            opened = function(file, mode, *args, **options)
            return _Written(opened, self) if inside and mode.strip("bt+") in ("w", "x", "a") else opened

        return stepping


class _Written:
    """A file each of whose writes is a step."""

    def __init__(self, file: Any, steps: Steps) -> None:
        self._file, self._steps = file, steps

    def write(self, data: Any) -> Any:
        self._steps.step()
        return self._file.write(data)

    def __enter__(self) -> _Written:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@contextmanager
def injected(folder: Path, fails: int, error: int) -> Iterator[Steps]:
    steps = Steps(folder, fails, error)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "rename", "fsync", "mkdir", "link", "truncate", "ftruncate"):
            patch.setattr(os, name, steps.before(getattr(os, name)))
        patch.setattr(builtins, "open", steps.opening(builtins.open))
        patch.setattr(io, "open", steps.opening(io.open))
        yield steps


def run(folder: Path, command: tuple[str, ...], fails: int = 0, error: int = 0) -> tuple[Ran, int]:
    with injected(folder, fails, error) as steps:
        return veil(*command), steps.number


@pytest.fixture
def place(folder: Path) -> Path:
    assert (
        veil(
            "anonymize", "patients.csv", *PLAN, "-o", "published.csv", "--certificate", "published.json"
        ).code
        == 0
    )
    assert veil("budget", "patients.csv", "--epsilon", "1000", "--file", "budget.json").code == 0
    (folder / "release.csv").write_text("the old release\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_an_error_at_every_step(place: Path, name: str) -> None:
    before = contents(place)
    whole, number = run(place, COMMANDS[name])
    assert whole.code == 0, whole
    new = set(contents(place))
    errors = itertools.cycle(ERRORS)
    for fails in range(1, number + 1):
        for path in [each for each in place.rglob("*") if each.is_file()]:
            path.unlink()
        for each, content in before.items():
            (place / each).write_bytes(content)
        ran, _ = run(place, COMMANDS[name], fails, next(errors))
        told = (fails, number, ran)
        assert ran.code in (0, 1, 2, 3, 4), told
        assert "Traceback" not in ran.out + ran.err, told
        after = contents(place)
        assert set(after) <= new, told
        if ran.code != 0 and name not in ("ask", "budget"):  # of which a payment may be kept
            assert {each for each in after if after[each] != before.get(each)} in (
                set(),
                new - set(before) | {"release.csv"},
            ), told
