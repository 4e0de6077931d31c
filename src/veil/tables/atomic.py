"""Atomic writes: files that appear together or not at all, despite errors, Ctrl-C, a full disk or a kill."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from veil.base.signals import uninterrupted
from veil.errors import OutputError, Say
from veil.tables.disk import identity, not_written, replaceable, sync, sync_folder
from veil.tables.journal import Move, Witness, at_path, end_journal, lock_all, recover, undo, write_journal
from veil.tables.staging import Staging, beside, is_staged


class _StagedFile(NamedTuple):
    """The staging folder of a file, its target, and its mode."""

    staging: Staging
    target: Path
    mode: int | None


class AtomicWrite:
    """Files that are written to staging folders beside their targets, then renamed onto these, all or none.

    If a rename fails, those before it are undone, and replaced files are restored; Ctrl-C waits until all is
    done. After a kill, the next run that writes there undoes or finishes the renames.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with AtomicWrite() as files:
    ...         for name in ("release.csv", "report.html"):
    ...             _ = files.staging_path(Path(folder, name)).write_text("done")
    ...     sorted(each.name for each in Path(folder).iterdir())
    ['release.csv', 'report.html']
    """

    def __init__(self, *, overwrite: bool = True) -> None:
        self.overwrite = overwrite
        self._staged: list[_StagedFile] = []
        self._is_done = False

    def __enter__(self) -> AtomicWrite:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.put_in_place()
        finally:
            with uninterrupted():
                for each in self._staged:
                    each.staging.remove()

    @contextlib.contextmanager
    def making(self, target: Path, mode: int | None = None) -> Iterator[Path]:
        """Yield the staging path of a file; errors name its target.

        Without a mode, it has that of the file it replaces.
        """
        path = self.staging_path(target, mode)
        try:
            yield path
        except OutputError as error:
            words = [
                each.replace(str(path), str(target)) if isinstance(each, str) else each
                for each in error.words
            ]
            raise OutputError(*words) from None
        except OSError as error:
            raise not_written(target, error) from error

    def staging_path(self, target: Path, mode: int | None = None) -> Path:
        """Return the path in a staging folder to which to write a file."""
        if is_staged(target):  # already in another staging folder, whose owner renames it
            return target
        # Behind a symbolic link, the file that it points to is replaced.
        real = Path(os.path.realpath(target))
        with _explain_errors(target):
            recover([real])
            before = replaceable(target, real)
        with _explain_errors(target), uninterrupted():
            staging = Staging(*beside(real))
            self._staged.append(_StagedFile(staging, real, before if mode is None else mode))
        return staging.files / target.name

    @property
    def has_files(self) -> bool:
        """Whether any file was staged."""
        return bool(self._moves())

    def _moves(self) -> list[tuple[Move, int | None]]:
        moves = []
        for each in self._staged:
            for path in each.staging.files.iterdir():
                before = each.staging.folder / "before" / path.name
                moves.append((Move(path, before, each.target, each.target.exists(), None), each.mode))
        return moves

    def put_in_place(self) -> None:
        """Rename all files onto their targets, in the order of their staging."""
        with self.placing():
            pass

    @contextlib.contextmanager
    def placing(self, witness: Witness | None = None) -> Iterator[None]:
        """Rename all files onto their targets, then run the body of `with`; if that fails, undo the renames.

        Whether the body was done is read from the witness after a kill; without one, from the last file.
        """
        if self._is_done:
            yield
            return
        moves = []
        for move, mode in self._moves():
            with _explain_errors(move.target):
                if mode is not None:
                    move.path.chmod(mode)
                sync(move.path)
            moves.append(move._replace(identity=identity(move.path)))
        alone = len(moves) == 1 and witness is None  # one rename happens at once
        with lock_all(() if alone else [each.target for each in moves]), uninterrupted():
            folders = self._write_journal(moves, witness)
            try:
                for move in moves:
                    with _explain_errors(move.target):
                        self._rename(move, is_last=witness is None and move is moves[-1])
                yield
            except BaseException:
                self._is_done = True  # by undoing it
                undo(moves)
                end_journal(folders)
                raise
            self._is_done = True
            for folder in {move.target.parent for move in moves}:
                sync_folder(folder)
            end_journal(folders)

    def _write_journal(self, moves: list[Move], witness: Witness | None) -> list[Path]:
        """Write a journal of the renames if there are several; also beside the witness, if it is a file."""
        if len(moves) + (witness is not None) < 2:
            return []
        last = witness or at_path(moves[-1].path, moves[-1].target)
        if "path" in last and witness is not None:
            with _explain_errors(Path(last["path"])):
                place = Path(last["path"])
                self._staged.append(_StagedFile(Staging(*beside(place)), place, None))
        folders = [each.staging.folder for each in self._staged]
        with _explain_errors(moves[-1].target):
            write_journal(folders, moves, last)
        return folders

    def _rename(self, move: Move, *, is_last: bool) -> None:
        if not self.overwrite and move.target.exists():
            raise OutputError(
                f"{move.target}: was created by another process in the meantime. Nothing was written: choose "
                "another path, or say ",
                Say("overwrite", True),
            )
        if move.was_there and not is_last:
            move.before.parent.mkdir(exist_ok=True)
            try:
                os.link(move.target, move.before)  # so that the target is never missing
            except OSError:  # not every file system has links
                os.replace(move.target, move.before)
        os.replace(move.path, move.target)


@contextlib.contextmanager
def _explain_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise not_written(target, error) from error
