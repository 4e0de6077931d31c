"""What the next run makes of a set that was half in place."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.refusals import refused
from veil.errors import OutputError
from veil.tables.atomic import AtomicWrite
from veil.tables.journal import Witness, recover

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork")

NAMES = ("report.html", "certificate.json")


def killed(folder: Path, *, done: bool, witness: Witness | None = None) -> None:
    """A set whose run dies in the middle of putting it in place, or right after."""
    child = os.fork()
    if not child:
        with AtomicWrite() as files:
            for name in NAMES:
                files.staging_path(folder / name).write_text("new")
            with files.placing(
                witness or {"path": str(folder / "release"), "identity": None if done else [0, 0]}
            ):
                os._exit(0)
    os.waitpid(child, 0)


def state(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in sorted(folder.iterdir()) if each.is_file()}


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("looked_at", NAMES)
def test_without_its_witness_a_set_is_undone(tmp_path: Path, old: bool, looked_at: str) -> None:
    for name in NAMES if old else ():
        (tmp_path / name).write_text("old")
    before = state(tmp_path)
    killed(tmp_path, done=False)
    assert state(tmp_path)[looked_at] == "new"
    recover([tmp_path / looked_at])
    assert state(tmp_path) == before
    assert not any(each.is_dir() for each in tmp_path.iterdir())


def test_with_its_witness_a_set_stays(tmp_path: Path) -> None:
    killed(tmp_path, done=True)
    recover([tmp_path / NAMES[0]])
    assert state(tmp_path) == dict.fromkeys(sorted(NAMES), "new")
    assert not any(each.is_dir() for each in tmp_path.iterdir())


def test_a_file_that_somebody_has_put_there_since_stays(tmp_path: Path) -> None:
    killed(tmp_path, done=False)
    (tmp_path / NAMES[0]).unlink()
    (tmp_path / NAMES[0]).write_text("by hand")
    recover([tmp_path / NAMES[0]])
    assert state(tmp_path) == {NAMES[0]: "by hand"}


@pytest.mark.parametrize(("answer", "left"), [(True, 2), (False, 0), (None, 2)])
def test_what_a_database_holds_only_the_database_can_tell(
    tmp_path: Path, answer: bool | None, left: int
) -> None:
    killed(tmp_path, done=False, witness={"database": "duckdb://clinic.db#release", "staged": "t"})
    recover([tmp_path / NAMES[0]])
    assert set(NAMES) <= set(state(tmp_path))  # nobody knows yet
    undone = recover([tmp_path / NAMES[0]], lambda witness: answer)
    assert [each["staged"] for each in undone] == (["t"] if answer is False else [])
    assert len([each for each in state(tmp_path) if not each.endswith("lock")]) == left
    assert any(each.is_dir() for each in tmp_path.iterdir()) == (answer is None)


def test_a_set_that_may_replace_nothing_replaces_nothing(tmp_path: Path) -> None:
    with AtomicWrite(overwrite=False) as files:
        for name in reversed(NAMES):
            files.staging_path(tmp_path / name).write_text("new")
        (tmp_path / "report.html").write_text("theirs")
        with refused(OutputError, "report.html", "another process"):
            files.put_in_place()
    assert state(tmp_path) == {"report.html": "theirs"}
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_about_to_happen_is_on_the_disk_before_anything_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that loses power keeps what was synced, in no other order: the journal has to be first."""
    events: list[tuple[str, str, str]] = []
    sync, replace = os.fsync, os.replace
    identities: dict[tuple[int, int], str] = {}

    def noting_sync(descriptor: int) -> None:
        found = os.fstat(descriptor)
        for folder, folders, files in os.walk(tmp_path):
            for path in [Path(folder), *(Path(folder, each) for each in (*folders, *files))]:
                identities[path.stat().st_dev, path.stat().st_ino] = str(path)
        events.append(("sync", identities[found.st_dev, found.st_ino], ""))
        sync(descriptor)

    def noting_replace(source: str | Path, target: str | Path) -> None:
        events.append(("rename", str(source), str(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(os, "replace", noting_replace)
    for name in NAMES:
        (tmp_path / name).write_text("old")
    with AtomicWrite() as files:
        for name in NAMES:
            files.staging_path(tmp_path / name).write_text("new")
    first = next(at for at, (what, _, to) in enumerate(events) if what == "rename" and Path(to).name in NAMES)
    before = events[:first]
    journals = [
        (at, source, to) for at, (what, source, to) in enumerate(before) if to.endswith("journal.json")
    ]
    assert journals
    for at, source, target in journals:
        assert ("sync", source, "") in before[:at]
        assert ("sync", str(Path(target).parent), "") in before[at:]
