"""File formats as declared values, used for reading and writing.

A parameter left at ``None`` is detected when the file is read; the `Source` then has the complete format, so
that the release can be written in the same dialect.
"""

from __future__ import annotations

import codecs
import dataclasses
import os
import stat
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.errors import InputError, OutputError, VeilError

MOST_SKIPPED = 1_000_000_000

_NOT_FOR_FILES = frozenset(("idna", "punycode", "unicode-escape", "raw-unicode-escape"))
"""Codecs of Python for domain names and source code."""

Formulas = Annotated[
    Literal["warn", "refuse", "keep"],
    Field(
        description="what to do about texts that a spreadsheet would take for formulas, when they are written"
    ),
]
TypeName = Literal["string", "integer", "decimal", "float", "date", "timestamp", "boolean"]


@declared
class Csv:
    """Text with one record a line and a separator between fields.

    Columns get a type only where nothing is lost by it: ``02139``, ``+5`` and ``1e5`` stay text. `types`
    decides for single columns. `missing` lists the spellings of a missing value; they count only where
    they are not quoted, and by default only an empty field is missing (``NA`` may be Namibia, and
    ``NULL`` a name).

    >>> Csv(separator=";", missing=("", "NA"), types={"zip": "string"}).separator
    ';'
    >>> Csv(separator=";;")
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `separator` of Csv should be one printable ASCII character or a tab, not ';;'
    """

    separator: Annotated[str | None, Field(description="between fields; detected if not given")] = None
    encoding: Annotated[
        str | None, Field(description="UTF-8, or UTF-16 with a byte order mark, if not given")
    ] = None
    quote: Annotated[str | None, Field(description="around fields; nothing is quoted if null")] = '"'
    escape: Annotated[str | None, Field(description="before a character that is meant literally")] = None
    header: Annotated[bool, Field(description="whether the first record names the columns")] = True
    missing: Annotated[tuple[str, ...], Field(description="unquoted spellings of a missing value")] = ("",)
    columns: Annotated[tuple[str, ...] | None, Field(description="names instead of the file's own")] = None
    types: Annotated[
        dict[str, TypeName], Field(description="types of columns, instead of detecting them")
    ] = Field(default_factory=dict)
    decimal: Annotated[Literal[".", ","], Field(description="the decimal mark of numbers")] = "."
    thousands: Annotated[
        Literal[".", ",", "'", " "] | None,
        Field(
            description="between groups of three digits, as the point in 16.092,04; numbers are written without it"
        ),
    ] = None
    time_separator: Annotated[
        Literal["T", " "] | None, Field(description="between date and time; detected if not given")
    ] = None
    skip: Annotated[
        int, Field(ge=0, le=MOST_SKIPPED, description="lines above the table, such as a title")
    ] = 0
    formulas: Formulas = "warn"
    kind: Literal["csv"] = Field(default="csv", repr=False, kw_only=True)

    @model_validator(mode="after")
    def _check(self) -> Csv:
        marks = {"separator": self.separator, "quote": self.quote, "escape": self.escape}
        for name, mark in marks.items():
            if mark is not None and (len(mark) != 1 or not (mark == "\t" or " " <= mark <= "~")):
                raise ValueError(
                    f"`{name}` of Csv should be one printable ASCII character or a tab, not {mark!r}"
                )
        characters = [mark for mark in marks.values() if mark is not None]
        if len(set(characters)) < len(characters):
            raise ValueError("`separator`, `quote` and `escape` of Csv should differ from each other")
        if self.thousands is not None and self.thousands in (self.decimal, self.separator):
            raise ValueError("`thousands` of Csv should differ from `decimal` and `separator`")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)  # refused by codecs that are not for text
                if codecs.lookup(self.encoding).name in _NOT_FOR_FILES:
                    raise LookupError
            except (LookupError, ValueError):
                raise ValueError(
                    f"`encoding` of Csv should be a known encoding such as 'utf-8', 'latin-1' or 'cp1252', "
                    f"not {self.encoding!r}"
                ) from None
        return self


@declared
class Parquet:
    """Apache Parquet."""

    kind: Literal["parquet"] = Field(default="parquet", repr=False, kw_only=True)


@declared
class Feather:
    """Arrow IPC files, also known as Feather."""

    kind: Literal["feather"] = Field(default="feather", repr=False, kw_only=True)


@declared
class Excel:
    """One sheet of an Excel workbook (``.xlsx``); the only sheet that holds anything if not named."""

    sheet: Annotated[str | None, Field(description="name of the sheet")] = None
    header: Annotated[bool, Field(description="whether the first row names the columns")] = True
    skip: Annotated[
        int, Field(ge=0, le=MOST_SKIPPED, description="rows above the table, such as a title")
    ] = 0
    formulas: Formulas = "warn"
    kind: Literal["excel"] = Field(default="excel", repr=False, kw_only=True)


Format = Csv | Parquet | Feather | Excel

_SUFFIXES: dict[str, Format] = {
    ".csv": Csv(),
    ".txt": Csv(),
    ".tsv": Csv(separator="\t"),
    ".tab": Csv(separator="\t"),
    ".parquet": Parquet(),
    ".pq": Parquet(),
    ".feather": Feather(),
    ".arrow": Feather(),
    ".ipc": Feather(),
    ".xlsx": Excel(),
    ".xlsm": Excel(),
}


def is_gzip(path: Path) -> bool:
    """Whether a file is compressed with gzip, by its name."""
    return path.suffix.lower() == ".gz"


def is_small_file(source: object) -> bool:
    """Whether a source is the path of one file that memory surely has room for, whatever its format."""
    try:
        status = os.stat(source) if isinstance(source, str | os.PathLike) else None
    except (OSError, ValueError):
        return False
    return status is not None and stat.S_ISREG(status.st_mode) and status.st_size < 1 << 23


def format_of(path: Path, *, error: type[VeilError] = InputError) -> Format:
    r"""Return the format of a file by its name, or raise `error`.

    >>> format_of(Path("patients.TSV")).separator
    '\t'
    """
    plain = path.with_suffix("") if is_gzip(path) else path
    suffix = plain.suffix.lower()
    format = _SUFFIXES.get(suffix)
    if format is None or (is_gzip(path) and not isinstance(format, Csv)):
        what = f"the ending {path.suffix!r} is unknown" if path.suffix else "the name has no ending"
        raise error(
            f"{path}: {what}, so the file format is unclear. Supported extensions are "
            f"{', '.join(_SUFFIXES)} and .csv.gz; or give `format=`, for example format=Csv()"
        )
    return format


def output_format(path: Path, like: Format | None = None) -> Format:
    r"""Return the format to write to `path`: that of its name, in the dialect of `like` if of one kind.

    Titles above a table and the name of its sheet are not taken over, as they may be confidential.

    >>> output_format(Path("release.csv"), Csv(separator=";", skip=2)).separator
    ';'
    >>> output_format(Path("release.tsv"), Csv(separator=";")).separator
    '\t'
    """
    format = similar_format(path, like, error=OutputError)
    if isinstance(format, Excel) and like is not None:
        return dataclasses.replace(format, skip=0, sheet=None)
    return dataclasses.replace(format, skip=0, thousands=None) if isinstance(format, Csv) else format


def similar_format(path: Path, like: Format | None = None, *, error: type[VeilError] = InputError) -> Format:
    """Return the format of a file by its name, in the dialect of `like` if of one kind; or raise `error`."""
    format = format_of(path, error=error)
    if like is None or like.kind != format.kind:
        return format
    if isinstance(like, Csv) and isinstance(format, Csv) and format.separator is not None:
        return dataclasses.replace(like, separator=format.separator)
    return like
