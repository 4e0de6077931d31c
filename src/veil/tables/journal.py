"""What a run that is killed between putting one file in place and the next leaves behind, for the next run to undo.

One rename happens at once; several do not. So what is about to happen is written down first, in every staging folder. What
appears last is the witness: if it is not in its place when somebody looks, the others go back to what they were; if it is,
nothing is left but to tidy up. It may be a file, a folder, or a table of a database, which only the database can tell of.
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
from veil.tables.staging import beside, empty, left_behind, taken_over

_JOURNAL = "journal.json"

Witness = dict[str, Any]
"""What tells whether a set was put in place: {"path", "identity"} of a file or folder, or what a database knows."""

Decide = Callable[[Witness], bool | None]
"""Says whether the witness of a set is in a database; None if that is another one."""


class Move(NamedTuple):
    """A file that takes a place: where it was made, where that goes which it replaces, and what it is known by."""

    made: Path
    before: Path
    target: Path
    was_there: bool
    identity: list[int] | None


def at_path(made: Path, target: Path) -> Witness:
    """The witness of a set whose last file or folder is about to take its place."""
    return {"path": str(target), "identity": identity(made)}


def write_journal(folders: Iterable[Path], moves: Iterable[Move], witness: Witness) -> None:
    """Write down, in staging folders, what is about to happen."""
    folders = list(folders)
    told = {
        "folders": [str(each) for each in folders],
        "moves": [
            {"before": str(each.before), "target": str(each.target), "was_there": each.was_there, "made": each.identity}
            for each in moves
        ],
        "witness": witness,
    }  # fmt: skip
    for folder in folders:
        unfinished = folder / f"{_JOURNAL}.tmp"
        unfinished.write_text(json.dumps(told), encoding="utf-8")
        sync(unfinished)
        os.replace(unfinished, folder / _JOURNAL)
        sync_folder(folder)


def end_journal(folders: Iterable[Path]) -> None:
    """Forget what was written down: everything is in place, or everything is as it was."""
    for folder in folders:
        with contextlib.suppress(OSError):
            (folder / _JOURNAL).unlink(missing_ok=True)


def undo(moves: Iterable[Move]) -> None:
    """Put back what files have replaced."""
    for each in reversed([*moves]):
        with contextlib.suppress(OSError):
            _undo(each)


def _undo(move: Move) -> None:
    """Put one back, if it was replaced; a file that somebody else has put there since stays."""
    replaced = identity(move.target) == move.identity
    if not move.was_there:
        if replaced:
            move.target.unlink()
    elif move.before.exists() and (replaced or not move.target.exists()):
        os.replace(move.before, move.target)


def recover(targets: Collection[Path], decide: Decide = lambda _: None) -> list[Witness]:
    """Undo or tidy up what killed runs have left beside these targets; what is in use stays.

    Return the witnesses of sets that were undone.
    """
    undone: list[Witness] = []
    for target in targets:
        for folder in left_behind(*beside(target)):
            deadline = time.monotonic() + PATIENCE
            while not _is_recovered(folder, decide, undone) and time.monotonic() < deadline:
                time.sleep(0.01)  # another run is at it
    return undone


def _is_recovered(folder: Path, decide: Decide, undone: list[Witness]) -> bool:
    """Whether nothing more is to be done about a folder."""
    with taken_over(folder) as ours, contextlib.ExitStack() as held:
        if not ours:
            return True
        told = _read(folder)
        if told is None:
            empty(folder)
            return True
        others = [each for each in told["folders"] if each != folder and each.is_dir()]
        for each in others:
            if not held.enter_context(taken_over(each)) and each.is_dir():
                return False
        committed = _is_committed(told["witness"], decide)
        if committed is None:
            return True  # another run can tell
        targets = [each.target for each in told["moves"]]
        if committed:
            with contextlib.suppress(OutputError), turns(targets, patience=0):
                pass  # whose end removes the files that were locked
        else:
            with turns(targets):
                undo(told["moves"])
            for place in {each.target.parent for each in told["moves"]}:
                sync_folder(place)
            undone.append(told["witness"])
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
def turns(targets: Iterable[Path], patience: float = PATIENCE) -> Iterator[None]:
    """Hold several targets while files are put in their places, so that sets of two runs do not mix."""
    with contextlib.ExitStack() as held:
        for target in sorted(set(targets)):
            try:
                held.enter_context(file_lock(lock_of(target), str(target), patience))
            except OSError as error:
                raise not_written(target, error) from error
        yield


def lock_of(target: Path) -> Path:
    """The file that whoever writes to a target keeps locked."""
    return target.with_name(f".{target.name}.veil-lock")


def _read(folder: Path) -> dict[str, Any] | None:
    """Read a journal; None if there is none that was finished."""
    try:
        told = json.loads((folder / _JOURNAL).read_text(encoding="utf-8"))
        return {
            "folders": [Path(each) for each in told["folders"]],
            "moves": [
                Move(folder, Path(each["before"]), Path(each["target"]), each["was_there"], each["made"])
                for each in told["moves"]
            ],
            "witness": dict(told["witness"]),
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None
