"""A journal of renames, by which the next run can undo or finish those of a killed run.

One rename is atomic; several are not. So they are first written to a journal in every staging folder. The
last target is the witness: if it is not in its place, the other renames are undone; if it is, only temporary
files are removed. It is a file, a folder, or a table of a database, for which the database decides.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from veil.base.locks import PATIENCE, file_lock
from veil.errors import OutputError
from veil.tables.disk import identity, not_written, sync, sync_folder
from veil.tables.staging import beside, empty, left_behind, take_over

_JOURNAL = "journal.json"

Witness = dict[str, Any]
"""Evidence that files are in place: {"path", "identity"} of a file or folder, or data for a database."""

Decide = Callable[[Witness], bool | None]
"""Returns whether the witness of a set is in a database; None if it belongs to another one."""


class Move(NamedTuple):
    """A rename of a file: its staging path, the backup of the file it replaces, its target and identity."""

    path: Path
    before: Path
    target: Path
    was_there: bool
    identity: list[int] | None


def at_path(path: Path, target: Path) -> Witness:
    """Return the witness of a set whose last file or folder is about to be renamed."""
    return {"path": str(target), "identity": identity(path)}


def write_journal(folders: Iterable[Path], moves: Iterable[Move], witness: Witness) -> None:
    """Write the renames that are about to happen to staging folders."""
    folders = list(folders)
    journal = {
        "folders": [str(each) for each in folders],
        "moves": [
            {"before": str(each.before), "target": str(each.target), "was_there": each.was_there, "made": each.identity}
            for each in moves
        ],
        "witness": witness,
    }  # fmt: skip
    for folder in folders:
        unfinished = folder / f"{_JOURNAL}.tmp"
        unfinished.write_text(json.dumps(journal), encoding="utf-8")
        sync(unfinished)
        os.replace(unfinished, folder / _JOURNAL)
        sync_folder(folder)


def end_journal(folders: Iterable[Path]) -> None:
    """Remove the journal: all renames are done or undone."""
    for folder in folders:
        with contextlib.suppress(OSError):
            (folder / _JOURNAL).unlink(missing_ok=True)


def undo(moves: Iterable[Move]) -> None:
    """Undo renames, and restore the files that were replaced."""
    for each in reversed([*moves]):
        with contextlib.suppress(OSError):
            _undo(each)


def _undo(move: Move) -> None:
    """Undo one rename, if it happened; a file that another process has put there since stays."""
    replaced = identity(move.target) == move.identity
    if not move.was_there:
        if replaced:
            move.target.unlink()
    elif move.before.exists() and (replaced or not move.target.exists()):
        os.replace(move.before, move.target)


def recover(targets: Collection[Path], decide: Decide = lambda _: None) -> list[Witness]:
    """Undo or finish the renames of killed runs to these targets, and return the witnesses of undone sets.

    Staging folders that are in use stay.
    """
    undone: list[Witness] = []
    for target in targets:
        for folder in left_behind(*beside(target)):
            deadline = time.monotonic() + PATIENCE
            while not _is_recovered(folder, decide, undone) and time.monotonic() < deadline:
                time.sleep(0.01)  # another run is recovering it
    return undone


def _is_recovered(folder: Path, decide: Decide, undone: list[Witness]) -> bool:
    """Recover a staging folder; return False if another run holds a part of it."""
    with take_over(folder) as ours, contextlib.ExitStack() as locks:
        if not ours:
            return True
        journal = _read(folder)
        if journal is None:
            empty(folder)
            return True
        others = [each for each in journal["folders"] if each != folder and each.is_dir()]
        for each in others:
            if not locks.enter_context(take_over(each)) and each.is_dir():
                return False
        committed = _is_committed(journal["witness"], decide)
        if committed is None:
            return True  # a run with that database decides
        targets = [each.target for each in journal["moves"]]
        if committed:
            with contextlib.suppress(OutputError), lock_all(targets, patience=0):
                pass  # leaving it removes the lock files
        else:
            with lock_all(targets):
                undo(journal["moves"])
            for place in {each.target.parent for each in journal["moves"]}:
                sync_folder(place)
            undone.append(journal["witness"])
        end_journal([folder, *others])
        for each in (folder, *others):
            with contextlib.suppress(OSError):
                empty(each)
        return True


def _is_committed(witness: Witness, decide: Decide) -> bool | None:
    if "path" in witness:
        return bool(identity(Path(witness["path"])) == witness["identity"])
    return decide(witness)


@contextlib.contextmanager
def lock_all(targets: Iterable[Path], patience: float = PATIENCE) -> Iterator[None]:
    """Lock several targets during renames, so that the files of two runs do not mix."""
    with contextlib.ExitStack() as locks:
        for target in sorted(set(targets)):
            try:
                locks.enter_context(file_lock(lock_of(target), str(target), patience))
            except OSError as error:
                raise not_written(target, error) from error
        yield


def lock_of(target: Path) -> Path:
    """Return the lock file of a target."""
    return target.with_name(f".{target.name}.veil-lock")


def _read(folder: Path) -> dict[str, Any] | None:
    """Read a journal; None if there is no complete one."""
    try:
        journal = json.loads((folder / _JOURNAL).read_text(encoding="utf-8"))
        return {
            "folders": [Path(each) for each in journal["folders"]],
            "moves": [
                Move(folder, Path(each["before"]), Path(each["target"]), each["was_there"], each["made"])
                for each in journal["moves"]
            ],
            "witness": dict(journal["witness"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None
