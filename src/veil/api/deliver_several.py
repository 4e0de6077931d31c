"""Delivery of several tables: frames by name, and a folder or a database with all of them, or with none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veil.api.deliver import check_origins, files_of, make_apart, places_apart, write_origins
from veil.api.targets import check_targets, is_database
from veil.base.locks import file_lock
from veil.base.progress import ProgressLike, following
from veil.base.signals import uninterrupted
from veil.engines.database import Database, database_of
from veil.engines.fetch import Fetched
from veil.engines.relation import Relation
from veil.engines.write.locks import put_back, take_place
from veil.errors import OutputError, PlanError, Say
from veil.outcome.linked_tables import TableOut
from veil.outcome.outcome import Outcome
from veil.outcome.written import Written
from veil.tables import output_format, write
from veil.tables.atomic import AtomicWrite
from veil.tables.disk import not_written, remove, sync, sync_folder
from veil.tables.journal import at_path, lock_of, recover
from veil.tables.staging import Staging
from veil.tables.staging import beside as staging_beside
from veil.tables.writing import file_name
from veil.verification.files import check_file


def save_tables(
    outcome: Outcome,
    target: Any,
    *,
    apart: str | os.PathLike[str] | None = None,
    origins: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: ProgressLike = None,
    beside: AtomicWrite | None = None,
    **options: Any,
) -> Written:
    """Write all tables into a folder or a database: all of them, or none.

    Files that are made `beside` them appear with them.
    """
    if options:
        raise PlanError(
            f"`{next(iter(options))}` is only for a single table, and there are several: leave it out"
        )
    place = place_of_tables(target)
    check_place(outcome, place, overwrite=overwrite)
    places_apart = [] if apart is None else _places_apart(outcome, Path(apart), place, overwrite=overwrite)
    if origins is not None:
        check_origins(Path(origins), Path(os.devnull) if isinstance(place, Database) else release_in(place))
        check_targets({"origins": Path(origins)}, keep=_files_read(outcome), overwrite=overwrite)

    together = AtomicWrite(overwrite=overwrite) if beside is None else contextlib.nullcontext(beside)
    with following(progress) as tracker, together as files:
        tracker.phase("writing the tables")
        make_apart(outcome, places_apart, files)
        if origins is not None:
            make_origins(outcome, Path(origins), files)
        if isinstance(place, Database):
            from veil.engines.write.linked_tables import write_tables  # needs Ibis

            tables = {name: each.table for name, each in outcome.tables.items()}
            write_tables(place, tables, _relations(outcome), overwrite=overwrite, beside=files)
        else:
            _write_folder(outcome, place, files, overwrite=overwrite)
    places = places_apart if origins is None else [*places_apart, Path(origins)]
    return Written(str(place), apart=tuple(places), verification=outcome.verification)


def make_origins(outcome: Outcome, path: Path, files: AtomicWrite) -> None:
    """Make the file with the origins of all tables: the input row of each row."""
    with files.making(path, 0o600) as staging_path:
        write_origins(outcome, staging_path)


def _files_read(outcome: Outcome) -> list[Path]:
    return [path for each in outcome.tables.values() for path in files_of(each.source)]


def place_of_tables(target: Any) -> Path | Database:
    """Return the place of several tables: the path of a folder, or a database."""
    if (database := database_of(target)) is not None:
        return database
    if not isinstance(target, str | os.PathLike) or is_database(Path(target)):  # may contain a password
        raise OutputError("several tables are written to a folder or a database. Give its path or URL")
    return Path(target)


def check_place(outcome: Outcome, place: Path | Database, *, overwrite: bool) -> None:
    """Refuse a place that tables cannot be written to, or that exists already."""
    check_tables_target(place, list(outcome.tables), _relations(outcome), overwrite=overwrite)
    if isinstance(place, Database):
        return
    files = [file_of(name, each) for name, each in outcome.tables.items()]
    if len(set(files)) < len(files):
        raise OutputError(f"two tables would be written to the same file: {', '.join(files)}. Rename one")
    if any(path.resolve().is_relative_to(place.resolve()) for path in _files_read(outcome)):
        raise OutputError(f"{place}: the tables were read from there. Choose another folder")


def check_tables_target(
    place: Path | Database,
    names: Sequence[str],
    relations: Sequence[Relation] = (),
    *,
    overwrite: bool,
    beside: Sequence[Path] = (),
) -> None:
    """Refuse a folder or a database that tables cannot be written to; `relations` are the inputs in engines.

    Files `beside` them that a killed run has put in place alone are restored.
    """
    if isinstance(place, Path):
        real = Path(os.path.realpath(place))
        if real.parent.is_dir() and os.access(real.parent, os.W_OK):
            with file_lock(lock_of(real), str(place)):
                _recover(real)
        _check_folder(place, overwrite=overwrite)
        return
    from veil.engines.write.linked_tables import check_database  # needs Ibis

    places = [Path(os.path.realpath(each)) for each in beside]
    check_database(place, names, relations, overwrite=overwrite, beside=places)


def release_in(folder: str | Path) -> Path:
    """Return a path in the folder of a release, which contains nothing but the release."""
    return Path(folder) / "release"


def _check_folder(folder: Path, *, overwrite: bool) -> None:
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise OutputError(f"{folder}: the directory does not exist. Create it, or choose another path")
    if not os.access(parent, os.W_OK):
        raise OutputError(f"{folder}: the directory cannot be written to. Choose another path")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file. Give a folder for the tables")
    if folder.exists() and not overwrite:
        raise OutputError(f"{folder}: already exists. Choose another folder, or say ", Say("overwrite", True))


def file_of(name: str, table: TableOut) -> str:
    """Return the name of the file of a table, in the format of its input."""
    path = table.source.path
    ending = ".csv" if path is None else "".join(path.suffixes[-2:]).lower() or ".csv"
    return file_name(name).removesuffix(".csv") + ending


def _relations(outcome: Outcome) -> list[Relation]:
    """Return the input tables that are in an engine, which must not be overwritten."""
    return [each.source.relation for each in outcome.tables.values() if isinstance(each.source, Fetched)]


def _places_apart(outcome: Outcome, folder: Path, place: Path | Database, *, overwrite: bool) -> list[Path]:
    if not outcome.apart:
        raise OutputError(f"{folder}: this release has no pseudonyms to reverse. Leave `apart` out")
    release = place if isinstance(place, Database) else release_in(place)
    return places_apart(outcome, folder, release, overwrite=overwrite)


def _write_folder(outcome: Outcome, folder: Path, files: AtomicWrite, *, overwrite: bool) -> None:
    """Write all tables next to the folder, in a private place, and move them there in one step.

    The files that go with them come first: a release without them cannot be reversed. The remains of a
    killed run are restored or removed by the next one.
    """
    real = Path(os.path.realpath(folder))
    with _explained(folder), file_lock(lock_of(real), str(folder)):
        _recover(real)
        _check_folder(folder, overwrite=overwrite)
        staging = Staging(*staging_beside(real))
        try:
            new_folder = staging.files / real.name
            _make_tables(outcome, new_folder)
            if real.exists():
                new_folder.chmod(real.stat().st_mode & 0o7777)
            sync(new_folder)
            with uninterrupted():
                with files.placing(at_path(new_folder, real)):
                    old = take_place(new_folder, real, overwrite=overwrite)
                sync_folder(real.parent)
                if old is not None:
                    remove(old)
        finally:
            staging.remove()


def _recover(real: Path) -> None:
    """Undo or tidy up the remains of a killed run; the caller holds the lock."""
    put_back(real)
    recover([real])


def _make_tables(outcome: Outcome, folder: Path) -> None:
    """Write each table to a file in a folder, and check it."""
    folder.mkdir()
    for name, each in outcome.tables.items():
        path = folder / file_of(name, each)
        format = output_format(path, each.source.format)
        write(each.table, path, format=format)
        check_file(path, format, each.table)
        sync(path)


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise not_written(folder, error) from error
