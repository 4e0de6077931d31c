"""Files that are no table by themselves: those of lake tables, which have a log, and of unfinished jobs.

The files of a Delta, Iceberg or Hudi table also hold deleted rows and old versions of rows. Only its log
defines the current ones, so these files are not read directly.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from veil.errors import InputError

_UNLOGGED = re.compile(r"\.(csv|tsv|txt|json|jsonl|xlsx|xlsm|xls|ods)(\.gz)?$", re.IGNORECASE)
"""Names of files that cannot be part of a lake table, so that a log beside them does not matter."""
_PARTITION = re.compile(r"[^=]+=|.{1,2}$")
"""Folders within a table: partitions, and the random prefixes of Delta."""
_STAGING = re.compile(r"_temporary$|__magic|\.spark-staging-")
"""Folders in which Hadoop, its committers for S3 and Spark keep uncommitted files."""
_SPARK_PART = re.compile(r"part-([0-9]{5}-[0-9a-f]{8}-|[rm]-[0-9]{5})")
_UNFINISHED = re.compile(
    r"(\.part|\._copying_|\.inprogress(\..*)?|\.crdownload|\.filepart)$|^\..*\.inprogress\.", re.IGNORECASE
)


class UnfinishedWarning(UserWarning):
    """A folder looks like the output of a job, without a sign that the job has finished."""


def check_snapshot(files: Iterable[Path], folder: Path | None = None) -> None:
    """Refuse files that are no table by themselves: those of a lake table, or of an unfinished job.

    `folder` is the source if it is more than a single file: everything in it should be finished. Not all
    programs write ``_SUCCESS``, so its absence is only a warning.
    """
    files = list(files)
    checked: set[Path] = set()
    for file in files:
        for path in {Path(os.path.abspath(file)), Path(os.path.realpath(file))}:
            if path.parent not in checked and not _UNLOGGED.search(path.name):
                checked.add(path.parent)
                _check_log(path)
            _check_finished(path)
    if folder is not None and folder.is_dir():
        for place, folders, names in os.walk(folder):
            _check_job(Path(place), folders, names)
    if folder is not None and not folder.is_file():
        _warn_of_no_success(files)


def _warn_of_no_success(files: list[Path]) -> None:
    part = next((file for file in files if _SPARK_PART.match(file.name)), None)
    # With partitions, it is in the folder above.
    if part is not None and not any((place / "_SUCCESS").exists() for place in part.parents):
        warnings.warn(
            f"{part}: has no _SUCCESS beside it, which jobs of Spark and Hadoop write when they are done. Make sure that all "
            "parts are there",
            UnfinishedWarning,
            stacklevel=2,
        )


def _check_log(file: Path) -> None:
    """Refuse a file in the folder of a lake table."""
    for folder, between in _upwards(file):
        inside = all(_PARTITION.match(each) for each in between)
        if (folder / "_delta_log").is_dir() and (inside or _lists(folder / "_delta_log", file)):
            raise _refusal(file, folder, "Delta", "deltalake.DeltaTable(folder).to_pyarrow_table()")
        if _is_iceberg(folder / "metadata"):
            raise _refusal(file, folder, "Iceberg", "pyiceberg's table.scan().to_arrow()")
        if (folder / ".hoodie").is_dir():
            raise _refusal(file, folder, "Hudi", "a query of your engine")
    if (file.parent / ".hoodie_partition_metadata").exists():
        raise _refusal(file, file.parent, "Hudi", "a query of your engine")


def _upwards(file: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the folders above a file, each with the names of those in between."""
    for folder in file.parents:
        yield folder, file.relative_to(folder).parts[:-1]


def _lists(log: Path, file: Path) -> bool:
    """Whether a Delta log lists a file, or may do so in a part that only its own reader can read."""
    path = file.relative_to(log.parent).as_posix()
    spellings = {json.dumps(each)[1:-1].encode() for each in (path, quote(path), quote(quote(path)))}
    for entry in sorted(log.iterdir()):
        if entry.suffix != ".json":
            return True  # a checkpoint
        try:
            content = entry.read_bytes()
        except OSError:
            return True
        if any(each in content for each in spellings):
            return True
    return False


def _is_iceberg(metadata: Path) -> bool:
    """Whether a folder is an Iceberg log, as other programs use its name, too."""
    try:
        names = sorted(os.listdir(metadata))
    except OSError:
        return False
    if "version-hint.text" in names or any(name.endswith(".gz.metadata.json") for name in names):
        return True
    for name in [name for name in names if name.endswith(".metadata.json")]:
        try:
            if b'"format-version"' in (metadata / name).read_bytes():
                return True
        except OSError:
            return True  # an unreadable file may be such a log
    return False


def _refusal(file: Path, folder: Path, kind: str, reader: str) -> InputError:
    return InputError(
        f"{file}: belongs to the {kind} table in {folder}, whose files also hold deleted rows and old versions of rows: "
        f"only its log tells which are current. Read the table with {reader}, and give the result or a file written from it"
    )


def _check_finished(file: Path) -> None:
    """Refuse a file that a job is still writing."""
    siblings = (
        set(os.listdir(file.parent)) if file.name.startswith("part-") and file.parent.is_dir() else set()
    )
    if any(map(_STAGING.match, file.parts)) or _UNFINISHED.search(file.name):
        raise _unfinished(file, "is still being written")
    _check_job(file.parent, siblings, {each for each in siblings if each.startswith("_")})


def _check_job(place: Path, folders: Iterable[str], names: Iterable[str]) -> None:
    """Refuse a folder with traces of an unfinished job."""
    if staging := sorted(filter(_STAGING.match, folders)):
        raise _unfinished(place, f"has a folder {staging[0]}")
    begun = {each.removeprefix("_started_") for each in names if each.startswith("_started_")}
    ended = {each.removeprefix("_committed_") for each in names if each.startswith("_committed_")}
    if begun - ended:
        raise _unfinished(place, f"has _started_{min(begun - ended)} without _committed_{min(begun - ended)}")
    for name in sorted(names):
        if _UNFINISHED.search(name):
            raise _unfinished(place, f"has {name}, which is still being written")


def _unfinished(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: {why}, so that a job is not done with it, or has failed. Wait until it is done; or, if it will never be, "
        "remove what it left behind"
    )
