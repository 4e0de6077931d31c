"""Files that appear together or not at all, whatever their targets are."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

import pytest

from support import refusals
from veil.errors import OutputError
from veil.tables.atomic import AtomicWrite

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")


def put(*targets: Path, text: str = "new") -> None:
    with AtomicWrite() as files:
        for target in targets:
            with files.making(target) as path:
                path.write_text(text)


@posix
def test_permissions_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.bin", tmp_path / "link.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    with AtomicWrite() as files:
        staged = files.staging_path(link)
        assert staged.name == "link.csv"  # whose ending tells how to write it
        staged.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.csv", "real.bin"]


@posix
def test_a_mode_that_is_asked_for_is_never_wider(tmp_path: Path) -> None:
    target = tmp_path / "secret.csv"
    target.write_text("old")
    target.chmod(0o644)
    with AtomicWrite() as files, files.making(target, mode=0o600) as path:
        path.write_text("new")
        assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_what_was_replaced_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    first.write_text("old")
    second.write_text("old")
    rename = os.replace

    def link(*_: object) -> None:
        raise OSError("no links here")

    def replace(made: Path, target: Path) -> None:
        if target == third:
            raise OSError(28, "No space left on device")
        rename(made, target)

    monkeypatch.setattr("os.replace", replace)
    if not links:
        monkeypatch.setattr("os.link", link)
    with refusals.refused(OutputError, "c: the disk", "full", "Nothing was written"):
        put(first, second, third)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"a": "old", "b": "old"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_nothing_is_to_be_seen_before_the_end_nor_if_it_ends_badly(tmp_path: Path, when: str) -> None:
    def visible() -> list[str]:
        return [each.name for each in tmp_path.iterdir() if not each.name.startswith(".")]

    def stopped() -> None:
        with AtomicWrite() as files:
            files.staging_path(tmp_path / "a").write_text("new")
            assert visible() == []
            with files.placing() if when == "after" else contextlib.nullcontext():
                assert visible() == (["a"] if when == "after" else [])
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []


def test_errors_are_told_about_the_target(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    with pytest.raises(OutputError) as refused, AtomicWrite() as files, files.making(target) as path:
        raise OutputError(f"{path}: cannot hold this table")
    assert str(refused.value) == f"{target}: cannot hold this table"
    with refusals.refused(OutputError, "disk is full"), AtomicWrite() as files, files.making(target):
        raise OSError(28, "No space left on device")
    with refusals.refused(OutputError, "directory", "not exist"):
        put(tmp_path / "nowhere" / "a.csv")
    with refusals.refused(OutputError, "is a directory"):
        put(tmp_path)


@posix
def test_devices_are_never_replaced() -> None:
    with refusals.refused(OutputError, "not an ordinary"):
        put(Path("/dev/null"))
    assert not Path("/dev/null").is_file()
