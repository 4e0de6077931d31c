"""Lenient reading of CSV files, with a guessed format: for inspection, never for a release.

The guess is shown with the findings, and a release needs the format to be given by the user.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from veil.errors import InputError, VeilError
from veil.tables.csv.ambiguities import MARKS, find_ambiguities
from veil.tables.csv.proposal import propose_reading
from veil.tables.formats import Csv, format_of
from veil.tables.reading import read_bytes
from veil.tables.source import Source, read


class LenientReading(NamedTuple):
    """A table, the format that was guessed to read it, and the reasons; neither if no guess was needed."""

    source: Source
    format: Csv | None = None
    reasons: tuple[str, ...] = ()


def read_leniently(path: Path) -> LenientReading:
    """Read a file; if it is a CSV file that cannot be read as it is, with a guessed format."""
    try:
        reading = LenientReading(read(path))
    except InputError as refused:
        reading = _read_otherwise(path, refused)
    return _with_marks(path, reading)


def _read_otherwise(path: Path, refused: InputError) -> LenientReading:
    """Read a refused file in another encoding, or from a later line on; or raise the refusal."""
    try:
        usual = format_of(path)
        if not isinstance(usual, Csv):
            raise refused
        parameters, reasons = propose_reading(read_bytes(path)), []
        if encoding := parameters.get("encoding"):
            reasons.append(f"its text is not UTF-8 and seems to be {encoding}")
        if skip := parameters.get("skip"):
            reasons.append(f"its table seems to begin in line {skip + 1}")
        format = dataclasses.replace(usual, **parameters)
        return LenientReading(read(path, format=format), format, tuple(reasons))
    except InputError:
        raise refused from None


def _with_marks(path: Path, reading: LenientReading) -> LenientReading:
    """Read columns of text as numbers if they look so, unless the numbers of other columns would change."""
    before, usual = reading.source.table, reading.format or reading.source.format
    proposal = find_ambiguities(before, reading.source.format).format
    if proposal is None or not isinstance(usual, Csv):
        return reading
    marks = {"decimal": proposal.decimal, "thousands": proposal.thousands}
    if marks == {"decimal": usual.decimal, "thousands": usual.thousands}:
        return reading
    try:
        format = dataclasses.replace(reading.format or format_of(path), **marks)  # type: ignore[arg-type]
        source = read(path, format=format)
    except VeilError:
        return reading
    numbers = [name for name in before.column_names if not pa.types.is_string(before.schema.field(name).type)]
    if not all(source.table[name].equals(before[name]) for name in numbers):
        return reading
    usual_marks = {"thousands": None, "decimal": "."}
    example = next(text for text, each in MARKS.values() if usual_marks | each == marks)
    reasons = (*reading.reasons, f"its numbers look like {example}")
    return LenientReading(source, format, reasons)  # type: ignore[arg-type]
