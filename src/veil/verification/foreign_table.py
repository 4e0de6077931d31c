"""A table that somebody else made, looked at as Veil looks at its own: forms, and what stands beside the cells.

Promises are judged on values. Where one value has two forms (nothing and not-a-number, 1.5 and 1.50), whoever reads the
table can tell apart what was counted as one, so that a class is smaller than it was counted: that is broken. What else a
frame or a file holds (metadata, attributes, memory below blank cells, comments) may be harmless or may be the input; no model
judges it, so that it is an open question, which is told first.
"""

from __future__ import annotations

import dataclasses
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from veil.errors import VeilError
from veil.published.finding import Finding
from veil.tables import Csv, Excel
from veil.tables.columns import encode_values, is_list
from veil.tables.csv.reader import read_csv
from veil.tables.formats import is_gzip
from veil.tables.source import Source
from veil.verification.delivered import COMPARED, FORMS, SPELLED_TWICE, in_frame
from veil.verification.files import in_file, in_gzip
from veil.verification.layout import FOREIGN, layout_of
from veil.verification.workbook import forms_in_workbook


def look_at(source: Source) -> tuple[list[Finding], list[str]]:
    """Return what is broken by the forms of values, and the question that everything beside the cells leaves open.

    >>> both = pa.table({"pay": pa.array([1.5, None, float("nan")])})
    >>> from veil.tables import read
    >>> print(*look_at(read(both))[0])
    BROKEN: every value has one form, by which nobody tells apart what is counted as one (found: missing values of two kinds (column 'pay'))
    """
    marks = _marks(source)
    is_same = all(each.startswith(FOREIGN) for each in marks)
    # Of what an engine has condensed, nobody sees the cells.
    complaints = _complaints(source, is_same) if source.weights is None else []
    beside = [each for each in dict.fromkeys(complaints) if not each.startswith((*COMPARED, *FORMS))]
    forms = [each for each in dict.fromkeys(complaints) if each.startswith(FORMS)]
    promise = "every value has one form, by which nobody tells apart what is counted as one"
    what = "frame" if source.path is None else "file"
    open_questions = [f"what else the {what} holds: {'; '.join(beside)}"] if beside else []
    if marks:
        open_questions.append((_FOREIGN if is_same else _MARKED).format("; ".join(marks)))
    return [Finding(promise, False, "; ".join(forms))] if forms else [], open_questions


_MARKED = "whether a record is marked by the way in which it is written ({}): ask whoever wrote the file, or write the table again"
_FOREIGN = "who wrote the file: it was {}. A program that opened and saved it may do that"


def _marks(source: Source) -> list[str]:
    """Say in which ways records are written, if in more than one, or not as Veil does."""
    marks: dict[str, None] = {}
    for path, format, rows in source.files:
        try:
            marks |= dict.fromkeys(layout_of(path, format, rows))
        except (pa.ArrowException, VeilError, OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile):
            marks["what cannot be looked through"] = None
    return list(marks)


def _complaints(source: Source, is_same: bool) -> list[str]:
    """Say what is odd about a frame or a file; one that was written again and is the same spells each value once."""
    try:
        if source.path is not None:
            return _in_their_file(source, source.path, is_same)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = getattr(source.frame, "frame", None)
            return [] if frame is None else in_frame(frame, source.table)
    except (pa.ArrowException, VeilError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        return [f"what cannot be looked through ({type(error).__name__})"]


def _in_their_file(source: Source, path: Path, is_same: bool) -> list[str]:
    if isinstance(source.format, Csv):
        beside = ["lines above the table"] if source.format.skip else []
        beside += in_gzip(path) if is_gzip(path) else []
        return [*beside, *([] if is_same else _spellings(source, path, source.format))]
    assert source.format is not None
    found = list(in_file(path, source.format, source.table))
    if isinstance(source.format, Excel):
        found += [f"rows above the table ({source.format.skip})"] if source.format.skip else []
        found += forms_in_workbook(path, source.table.column_names, header=source.format.header)
    return found


def _spellings(source: Source, path: Path, format: Csv) -> list[str]:
    """Compare the texts of a CSV file with the values that they stand for."""
    plain = dataclasses.replace(format, missing=(), types={})
    texts, _ = read_csv(path, plain, as_text=True, may_be_empty=True)
    found = []
    for name, text in zip(source.table.column_names, texts.columns, strict=True):
        column = source.table[name]
        if is_list(column.type) or not len(column):
            continue
        values, codes = encode_values(column)
        spelled, places = encode_values(text)
        pairs = np.unique(codes.astype(np.int64) * len(spelled) + places)
        if len(pairs) > len(values):
            found.append(f"{SPELLED_TWICE} (column {name!r})")
    return found
