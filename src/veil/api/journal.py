"""What a run that is killed between putting files and tables in place leaves behind, for the next one to undo.

A folder of tables appears in one step, and so does each file that belongs to it: its report, its certificate, what turns
pseudonyms back. Several of them do not. So what is about to happen is written down first. If the folder has not got its
place by the time somebody looks, the files go back to what they were; if it has, nothing is to be done but to tidy up.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from veil.api.targets import Together
from veil.engines.write.locks import file_lock, put_back
from veil.tables.writing import sync


def lock_of(real: Path, name: str) -> contextlib.AbstractContextManager[None]:
    """Hold the lock of a folder that tables go to."""
    return file_lock(real.with_name(f".{real.name}.veil-lock"), name)


def write_journal(real: Path, made: Path, files: Together) -> None:
    """Write down that a folder is about to take a place, and which files go with it."""
    told = {
        "folder": _identity(made),
        "staging": [str(each) for each in files.folders],
        "moves": [
            {
                "made": _identity(new),
                "before": str(before),
                "target": str(target),
                "was_there": target.exists(),
            }
            for new, before, target in files.moves
        ],
    }
    journal = _journal(real)
    with journal.open("w", encoding="utf-8") as file:
        json.dump(told, file)
    sync(journal)


def end_journal(real: Path) -> None:
    """Forget what was written down: everything is in place, or everything is as it was."""
    _journal(real).unlink(missing_ok=True)


def recover(real: Path) -> None:
    """Undo or tidy up what a killed run has left; whoever calls holds the lock."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        told = json.loads(_journal(real).read_text(encoding="utf-8"))
        if told["folder"] != _identity(real):
            for move in reversed(told["moves"]):
                _undo(move)
        for folder in told["staging"]:
            shutil.rmtree(folder, ignore_errors=True)
    end_journal(real)
    put_back(real)


def _undo(move: dict[str, Any]) -> None:
    """Put back what a file has replaced, if it has; a file that somebody else has put there since stays."""
    target, before = Path(move["target"]), Path(move["before"])
    replaced = _identity(target) == move["made"]
    if not move["was_there"]:
        if replaced:
            target.unlink()
    elif before.exists() and (replaced or not target.exists()):
        os.replace(before, target)


def _journal(real: Path) -> Path:
    return real.with_name(f".{real.name}.veil-journal")


def _identity(path: Path) -> list[int] | None:
    """What a file or folder keeps when it is renamed."""
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_dev, status.st_ino]
