"""Files and folders that do not fit into memory, read by a DuckDB of our own.

The files are listed once: those added to a folder afterwards are not part of the table. The columns of a CSV
file are text to DuckDB, and so are those in names of folders (``year=2024``); each is cast to the type that
it has in memory (see `veil.engines.scan.types`).
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from veil.base.declare import declared
from veil.base.paths import usable
from veil.engines.dialects import collect
from veil.engines.scan.csv import RECORDS, check_agreement, csv_options
from veil.engines.scan.scan import Scan
from veil.engines.scan.types import parquet_types, text_types
from veil.errors import InputError, Say
from veil.tables.arrow import normalize
from veil.tables.formats import Csv, Feather, Format, Parquet, format_of
from veil.tables.reading import check_readable
from veil.tables.snapshot import check_snapshot

if TYPE_CHECKING:
    from ibis.backends import BaseBackend

_PATTERN = re.compile(r"[*?\[]")
_PARTITION = re.compile(r"^([^=]+)=")


@declared
class Files:
    """A file, a folder or a pattern of files of one format."""

    path: Annotated[str, Field(description="file, folder, or pattern with * and **")]
    format: Annotated[
        Format | None, Field(description="Csv(...) or Parquet(), where the names do not say it")
    ] = None
    kind: Literal["Files"] = Field(default="Files", repr=False, kw_only=True)


def is_pattern(path: str) -> bool:
    """Whether a path has wildcards for several files; a file of that very name takes precedence."""
    return _PATTERN.search(path) is not None and not os.path.exists(path)


def scan_of(path: str, format: Format | None, *, over_neighbours: bool = False) -> Scan:
    """Find the files and the way to read them; over neighbours, without looking at any value."""
    path = os.path.abspath(path)  # the working directory may be another when the rows are read
    usable(path)
    files = files_of(path)
    file_format = format if format is not None else format_of_files(files)
    if not isinstance(file_format, Csv | Parquet):
        name = "Arrow" if isinstance(file_format, Feather) else "Excel"
        raise InputError(
            f"{path}: {name} files are read into memory only. Convert them to Parquet, or leave ",
            Say("engine"),
            " out",
        )
    check_readable(files[0])
    partitions = _partitions(path, files)
    options: dict[str, Any] = {"hive_partitioning": bool(partitions)}
    kinds: dict[str, pa.DataType] = {}
    categories: frozenset[str] = frozenset()
    if partitions:
        options["hive_types_autocast"] = False
    if isinstance(file_format, Csv):
        file_format, dialect = csv_options(files, file_format)
        columns = list(dialect["columns"])
        texts = (*columns, *partitions)
        options |= dialect
    else:
        columns, texts = _check_schemas(files), partitions
        kinds, categories = parquet_types(files, over_neighbours=over_neighbours)
    way_out = ("Rename one, or read a single file with ", Say("engine", "memory"))
    check_case(path, [*columns, *partitions], *way_out)
    return Scan(tuple(map(str, files)), file_format, options, texts, kinds, categories)


def settle_format(scan: Scan, backend: BaseBackend, *, typed: bool = True) -> Scan:
    """Check that DuckDB reads CSV files as Veil does, and detect the types of all columns if `typed`."""
    head = None
    if isinstance(scan.format, Csv):
        backend.settings["preserve_insertion_order"] = True
        head = collect(backend, scan.open(backend, files=scan.files[:1]).limit(RECORDS))
        backend.settings["preserve_insertion_order"] = False
        check_agreement(Path(scan.files[0]), scan.format, head.select(list(scan.options["columns"])))
    if not typed:
        return scan
    dialect = scan.format if isinstance(scan.format, Csv) else Csv()
    try:
        kinds, dialect = text_types(scan.open(backend), scan.texts, dialect, head)
    except InputError as error:
        raise error.after(f"{scan.files[0]}: ") from None
    format = dialect if isinstance(scan.format, Csv) else scan.format
    return dataclasses.replace(scan, format=format, kinds={**scan.kinds, **kinds})


def normalize_column(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in the shape that the rest of Veil reads."""
    return normalize(pa.table({"": values})).column(0)


def files_of(path: str) -> list[Path]:
    """Return the files of a folder, of a pattern or of a path; together they must be one whole table."""
    files = _find_files(path)
    check_snapshot(files, Path(path))
    return files


def _find_files(path: str) -> list[Path]:
    if is_pattern(path):
        files = [Path(each) for each in glob.glob(path, recursive=True)]
        files = [each for each in files if each.is_file() and _visible(each.name)]
        if not files:
            raise InputError(f"{path}: no file matches. Check the pattern; ** matches nested folders")
        return sorted(files)
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    inside = sorted(each for each in folder.rglob("*") if each.is_file())
    visible = [each for each in inside if all(map(_visible, each.relative_to(folder).parts))]
    if not visible:
        raise InputError(f"{path}: the folder contains no files. Give a folder of Parquet or CSV files")
    return visible


def _root(path: str) -> str:
    if not is_pattern(path):
        return path
    parts = Path(path).parts
    return str(Path(*parts[: next(number for number, part in enumerate(parts) if _PATTERN.search(part))]))


def _visible(name: str) -> bool:
    """Whether a file is data: Spark and others use such names for markers and metadata."""
    return not name.startswith((".", "_"))


def format_of_files(files: list[Path]) -> Format:
    """Return the one format of some files, by their names."""
    formats = {format_of(file).kind: (format_of(file), file) for file in files}
    if len(formats) > 1:
        both = " and ".join(f"{file} ({kind})" for kind, (_, file) in sorted(formats.items())[:2])
        raise InputError(
            f"the files have different formats: {both}. Give a pattern for files of one format, for example "
            "'folder/*.parquet'"
        )
    return next(iter(formats.values()))[0]


def _partitions(path: str, files: list[Path]) -> tuple[str, ...]:
    """Return the columns in the names of folders, which must be the same for all files."""
    inside = [file.relative_to(_root(path)).parts[:-1] for file in files]
    if not any(_PARTITION.match(part) for parts in inside for part in parts):
        return ()
    columns = {
        tuple(match[1] for part in file.parts[:-1] if (match := _PARTITION.match(part))): file
        for file in files
    }
    if len(columns) > 1:
        one, other = list(columns.items())[:2]
        raise InputError(
            f"{path}: the folder names do not encode the same columns: {one[1]} has {_list_names(one[0])}, "
            f"{other[1]} has {_list_names(other[0])}. Give the files that belong together"
        )
    return next(iter(columns))


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) if names else "none"


def _check_schemas(files: list[Path]) -> list[str]:
    """Return the columns; refuse files that differ in them, as DuckDB casts to the types of the first."""
    import pyarrow.parquet as pq

    expected: dict[str, str] = {}
    for file in files:
        try:
            schema = pq.read_metadata(file).schema
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{file}: not a readable Parquet file: {str(error).splitlines()[0]}. Write or copy it again"
            ) from None
        columns = (schema.column(number) for number in range(len(schema)))
        types = {column.path: f"{column.physical_type} ({column.logical_type})" for column in columns}
        expected = expected or types
        for name in sorted(expected.keys() | types.keys()):
            if expected.get(name) != types.get(name):
                raise InputError(
                    f"{file}: column {name!r} is {types.get(name, 'absent')}, but in {files[0]} it is "
                    f"{expected.get(name, 'absent')}. Write the files with one schema, or give those that have"
                )
    return list(dict.fromkeys(path.partition(".")[0] for path in expected))


def check_case(name: str, columns: list[str], *way_out: str | Say) -> None:
    """Refuse columns whose names DuckDB would take for the same and silently rename."""
    spellings: dict[str, str] = {}
    for each in dict.fromkeys(columns):
        if (other := spellings.setdefault(each.lower(), each)) != each:
            raise InputError(
                f"{name}: columns {other!r} and {each!r} differ only in case, which DuckDB cannot tell apart. ",
                *way_out,
            )
