"""Files that appear together or not at all, whatever happens on the way: an error, Ctrl-C, a full disk, a kill."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from veil.base.signals import uninterrupted
from veil.errors import OutputError, Say
from veil.tables.disk import identity, not_written, replaceable, sync, sync_folder
from veil.tables.journal import Move, Witness, at_path, end_journal, recover, turns, undo, write_journal
from veil.tables.staging import Staging, beside, is_staged


class _Staged(NamedTuple):
    """A folder in which a file is made, where it goes, and the mode that it gets."""

    staging: Staging
    target: Path
    mode: int | None


class Together:
    """Files that are made in folders beside their targets, then renamed onto these, the last one at the very end.

    Until then, nothing is to be seen of them. If a renaming fails, those before it are undone, and what was replaced is back;
    Ctrl-C waits until all is done. After a kill the next run that writes there undoes or finishes what it finds.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Together() as files:
    ...         for name in ("release.csv", "report.html"):
    ...             _ = files.staging_path(Path(folder, name)).write_text("done")
    ...     sorted(each.name for each in Path(folder).iterdir())
    ['release.csv', 'report.html']
    """

    def __init__(self, *, overwrite: bool = True) -> None:
        self.overwrite = overwrite
        self._staged: list[_Staged] = []
        self._is_done = False

    def __enter__(self) -> Together:
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
        """Yield where to make a file, under its own name; errors are told about its target.

        Without a mode, it has that of the file it replaces.
        """
        staged = self.staging_path(target, mode)
        try:
            yield staged
        except OutputError as error:
            words = [
                each.replace(str(staged), str(target)) if isinstance(each, str) else each
                for each in error.words
            ]
            raise OutputError(*words) from None
        except OSError as error:
            raise not_written(target, error) from error

    def staging_path(self, target: Path, mode: int | None = None) -> Path:
        """Return where to make a file, under its own name."""
        if is_staged(target):  # by others, who put it in its place
            return target
        # Behind a symbolic link, the file that it points to is replaced.
        real = Path(os.path.realpath(target))
        with _explain_errors(target):
            recover([real])
            before = replaceable(target, real)
        with _explain_errors(target), uninterrupted():
            made = Staging(*beside(real))
            self._staged.append(_Staged(made, real, before if mode is None else mode))
        return made.files / target.name

    @property
    def has_files(self) -> bool:
        """Whether there is something to put in place."""
        return bool(self._moves())

    def _moves(self) -> list[tuple[Move, int | None]]:
        found = []
        for each in self._staged:
            for made in each.staging.files.iterdir():
                before = each.staging.folder / "before" / made.name
                found.append((Move(made, before, each.target, each.target.exists(), None), each.mode))
        return found

    def put_in_place(self) -> None:
        """Rename all files onto their targets, in the order in which they were asked for."""
        with self.placing():
            pass

    @contextlib.contextmanager
    def placing(self, witness: Witness | None = None) -> Iterator[None]:
        """Rename all files onto their targets, and let the body of `with` put that in place which they go with.

        If that fails, they are gone again. The witness tells afterwards whether it was done; without one, the last file does.
        """
        if self._is_done:
            yield
            return
        moves = []
        for move, mode in self._moves():
            with _explain_errors(move.target):
                if mode is not None:
                    move.made.chmod(mode)
                sync(move.made)
            moves.append(move._replace(identity=identity(move.made)))
        alone = len(moves) == 1 and witness is None  # one rename happens at once
        with turns(() if alone else [each.target for each in moves]), uninterrupted():
            folders = self._write_journal(moves, witness)
            try:
                for move in moves:
                    with _explain_errors(move.target):
                        self._rename(move, is_last=witness is None and move is moves[-1])
                yield
            except BaseException:
                self._is_done = True  # nothing of it will be
                undo(moves)
                end_journal(folders)
                raise
            self._is_done = True
            for folder in {move.target.parent for move in moves}:
                sync_folder(folder)
            end_journal(folders)

    def _write_journal(self, moves: list[Move], witness: Witness | None) -> list[Path]:
        """Write down what is about to happen, unless it happens at once; also beside the witness, if it has a place."""
        if len(moves) + (witness is not None) < 2:
            return []
        told = witness or at_path(moves[-1].made, moves[-1].target)
        if "path" in told and witness is not None:
            with _explain_errors(Path(told["path"])):
                place = Path(told["path"])
                self._staged.append(_Staged(Staging(*beside(place)), place, None))
        folders = [each.staging.folder for each in self._staged]
        with _explain_errors(moves[-1].target):
            write_journal(folders, moves, told)
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
        os.replace(move.made, move.target)


@contextlib.contextmanager
def _explain_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise not_written(target, error) from error
