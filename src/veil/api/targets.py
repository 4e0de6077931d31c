"""Where results go: may it be written there, and several files together or not at all."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from veil.engines.database import Database, is_url
from veil.engines.relation import Relation
from veil.errors import MissingDependencyError, OutputError, Say
from veil.recipe.places import is_folder
from veil.tables import Format, output_format
from veil.tables.writing import not_written, replaceable, sync

# May it be written there


def check_targets(targets: Mapping[str, Path], *, keep: Collection[Path], overwrite: bool) -> None:
    """Refuse targets that cannot be written to, before hours are spent on what goes there.

    Files to `keep` must not be written over, whatever else may be.
    """
    kept = {path.resolve() for path in keep}
    taken: set[Path] = set()
    for what, path in targets.items():
        if path.resolve() in kept:
            raise OutputError(f"{path}: the {what} would replace what it is made from. Choose another path")
        if path.resolve() in taken:
            raise OutputError(
                f"{path}: the {what} would replace another file of the same run. Choose another path"
            )
        taken.add(path.resolve())
        check_target(path, overwrite=overwrite)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a path to which nothing can be written, or at which there is something already."""
    if is_database(path):  # which is not repeated, as it may hold a password
        raise OutputError("this goes into a file, not into a database. Give the path of one")
    folder = path.resolve().parent
    if path.is_dir():
        raise OutputError(f"{path}: is a directory. Give the path of a file in it")
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: exists already. Choose another path, or say ", Say("overwrite", True))
    if not folder.is_dir():
        raise OutputError(f"{path}: the directory does not exist. Create it, or choose another path")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the directory cannot be written to. Choose another path")


def goes_along(folder: Path, release: Any) -> bool:
    """Whether a folder is that of a release or lies below it, so that whoever passes that folder on passes on both.

    A database may be a file as well; what a server holds is in no folder.

    >>> goes_along(Path("out/mine"), Path("out/release.csv")), goes_along(Path("mine"), Path("out/release.csv"))
    (True, False)
    >>> goes_along(Path("out"), "duckdb://out/release.db#shown"), goes_along(Path("out"), "postgres://host/out#shown")
    (True, False)
    """
    if isinstance(release, str) and is_url(release):
        release = Database(release)
    place = release.file if isinstance(release, Database) else Path(release)
    return place is not None and folder.resolve().is_relative_to(place.resolve().parent)


def is_database(path: Path) -> bool:
    """Whether somebody gave the URL of a database for a path.

    >>> is_database(Path("postgres://host/clinic#patients")), is_database(Path("C:/patients.csv"))
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\#]", str(path)) is not None


def check_ending(path: Path, what: str, endings: Collection[str]) -> None:
    """Refuse a name whose ending stands for nothing that can be made."""
    if path.suffix.lower() not in endings:
        found = f"not {path.suffix!r}" if path.suffix else "and it has none"
        raise OutputError(f"{path}: the name of a {what} should end in {' or '.join(endings)}, {found}")


def require(what: str, *modules: str, extra: str) -> None:
    """Refuse to begin what would fail at its end for want of a library."""
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise MissingDependencyError(
            f"{what} need {' and '.join(modules)}. Install them with: pip install 'veil-anonymizer[{extra}]'"
        )


def check_output(output: str | Database, relation: Relation, *, overwrite: bool) -> None:
    """Refuse a place that the engine cannot write to, before hours are spent on what goes there."""
    from veil.engines.write.open import target_of

    if isinstance(output, Database):
        if output.file is not None and output.table is not None and not output.file.exists():
            check_target(output.file, overwrite=overwrite)
            return
    elif (folder := Path(os.path.realpath(output)).parent).is_dir() and not os.access(folder, os.W_OK):
        raise OutputError(f"{output}: the directory cannot be written to. Choose another path")
    target = target_of(
        output, relation, token="", overwrite=overwrite, format=written_format(output, relation)
    )
    with target.explain_errors():
        there = target.exists()
    if there and not overwrite and not _left_by_a_run(output):
        raise OutputError(
            f"{target.name}: exists already. Choose another place, or say ", Say("overwrite", True)
        )


def _left_by_a_run(output: str | Database) -> bool:
    """Whether a run was stopped so late that its release may be in place: the same again finds out."""
    if isinstance(output, Database):
        return False
    place = Path(os.path.realpath(output))
    pattern = re.compile(re.escape(f".{place.name}.veil-") + "[0-9a-f]{12}")
    return any(pattern.fullmatch(each.name) for each in place.parent.iterdir())


def written_format(output: str | Database, relation: Relation) -> Format | None:
    """Return how to write a file: as what was read, if that was the same kind of file."""
    if isinstance(output, Database) or is_folder(output):
        return None
    path = Path(output)
    if path.is_dir() or not path.suffix:
        return None
    return output_format(path, None if relation.scan is None else relation.scan.format)


# Together or not at all


class _Staged(NamedTuple):
    """A folder with files that are made: where they go, and for a single file its target, and the mode of what is there."""

    folder: Path
    where: Path
    target: Path | None
    mode: int | None


class Together:
    """Files that appear together or not at all: made in folders beside their targets, then renamed onto these.

    Until `put_in_place`, nothing is to be seen of them. If a renaming fails or is interrupted, those before it are undone,
    and what was replaced is back.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Together() as files:
    ...         for name in ("release.csv", "report.html"):
    ...             _ = files.staging_path(Path(folder, name)).write_text("done")
    ...     sorted(each.name for each in Path(folder).iterdir())
    ['release.csv', 'report.html']
    """

    def __init__(self) -> None:
        self._staged: list[_Staged] = []
        self._renamed: list[tuple[Path, Path, bool]] = []
        self._is_done = False

    def __enter__(self) -> Together:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.put_in_place()
            else:
                self.undo()
        finally:
            for each in self._staged:
                shutil.rmtree(each.folder, ignore_errors=True)

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
        real = Path(
            os.path.realpath(target)
        )  # behind a symbolic link, the file that it points to is replaced
        with _explain_errors(target):
            before = replaceable(target, real)
        return self._folder(target, real.parent, real, before if mode is None else mode) / target.name

    def staging_folder(self, target: Path) -> Path:
        """Return where to make files, under their own names, that go into a folder that exists."""
        return self._folder(target, Path(os.path.realpath(target)))

    def _folder(self, target: Path, where: Path, real: Path | None = None, mode: int | None = None) -> Path:
        with _explain_errors(target):
            made = tempfile.mkdtemp(prefix=f".{target.name[:80]}.", suffix=".tmp", dir=where)
        self._staged.append(_Staged(Path(made), where, real, mode))
        return Path(made)

    @property
    def folders(self) -> list[Path]:
        """Where the files are made."""
        return [each.folder for each in self._staged]

    @property
    def moves(self) -> list[tuple[Path, Path, Path]]:
        """What is about to be renamed: each file, where that goes which it replaces, and its target."""
        return [(made, _before(made), target) for made, target, _ in self._moves()]

    def _moves(self) -> list[tuple[Path, Path, int | None]]:
        return [
            (made, each.target or each.where / made.name, each.mode)
            for each in self._staged
            for made in sorted(each.folder.iterdir())
        ]

    def put_in_place(self) -> None:
        """Rename all files onto their targets, in the order in which they were asked for."""
        if self._is_done:
            return
        moves = self._moves()
        try:
            for made, target, mode in moves:
                with _explain_errors(target):
                    if mode is not None:
                        made.chmod(mode)
                    sync(made)
            for made, target, _ in moves:
                with _explain_errors(target):
                    self._rename(made, target)
        except BaseException:
            self.undo()
            raise
        self._is_done = True
        # All is in place. A file system that cannot sync directories is no reason to say otherwise.
        for folder in {target.parent for _, target, _ in moves}:
            with contextlib.suppress(OSError):
                sync(folder)

    def _rename(self, made: Path, target: Path) -> None:
        before = _before(made)
        self._renamed.append((target, before, target.exists()))
        if target.exists():
            try:
                os.link(target, before)  # so that the target is never missing
            except OSError:  # not every file system has links
                os.replace(target, before)
        os.replace(made, target)

    def keep(self) -> None:
        """Let files that are in place stay there, whatever happens from now on."""
        self._renamed.clear()

    def undo(self) -> None:
        """Put back whatever has been replaced."""
        while self._renamed:
            target, before, was_there = self._renamed.pop()
            with contextlib.suppress(OSError):
                if not was_there:
                    target.unlink(missing_ok=True)
                elif before.exists():
                    os.replace(before, target)


def _before(made: Path) -> Path:
    """Where that goes which a file replaces."""
    return made.with_name(f"{made.name}.before")


@contextlib.contextmanager
def _explain_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise not_written(target, error) from error
