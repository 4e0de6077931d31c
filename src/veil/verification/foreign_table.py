"""A table of unknown origin, checked as Veil checks its own: forms of values, and content besides cells.

Promises are about values. Where one value has two forms (missing and not-a-number, 1.5 and 1.50), readers can
distinguish records that were counted as one class: the class is smaller than counted, and the promise broken.
Other contents of a frame or a file (metadata, attributes, memory under blank cells, comments) may be harmless
or may be the input. No model judges them, so they are an open question, which is reported first.
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


def check_foreign_table(source: Source) -> tuple[list[Finding], list[str]]:
    """Return findings about broken forms of values, and the open question about everything besides the cells.

    >>> both = pa.table({"pay": pa.array([1.5, None, float("nan")])})
    >>> from veil.tables import read
    >>> print(*check_foreign_table(read(both))[0])
    BROKEN: every value has one form, by which nobody tells apart what is counted as one (found: missing values of two kinds (column 'pay'))
    """
    marks = _marks(source)
    is_same = all(each.startswith(FOREIGN) for each in marks)
    # The cells of a table condensed by an engine are not seen here.
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
    """Return the ways in which records are written, if several, or if Veil writes otherwise."""
    marks: dict[str, None] = {}
    for path, format, rows in source.files:
        try:
            marks |= dict.fromkeys(layout_of(path, format, rows))
        except (pa.ArrowException, VeilError, OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile):
            marks["what cannot be looked through"] = None
    return list(marks)


def _complaints(source: Source, is_same: bool) -> list[str]:
    """Return the oddities of a frame or a file; one that is reproduced exactly spells each value once."""
    try:
        if source.path is not None:
            return _in_foreign_file(source, source.path, is_same)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = getattr(source.frame, "frame", None)
            return [] if frame is None else in_frame(frame, source.table)
    except (pa.ArrowException, VeilError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        return [f"what cannot be looked through ({type(error).__name__})"]


def _in_foreign_file(source: Source, path: Path, is_same: bool) -> list[str]:
    if isinstance(source.format, Csv):
        beside = ["lines above the table"] if source.format.skip else []
        beside += in_gzip(path) if is_gzip(path) else []
        return [*beside, *([] if is_same else _spellings(source, path, source.format))]
    assert source.format is not None
    complaints = list(in_file(path, source.format, source.table))
    if isinstance(source.format, Excel):
        complaints += [f"rows above the table ({source.format.skip})"] if source.format.skip else []
        complaints += forms_in_workbook(path, source.table.column_names, header=source.format.header)
    return complaints


def _spellings(source: Source, path: Path, format: Csv) -> list[str]:
    """Compare the texts of a CSV file with their values."""
    plain = dataclasses.replace(format, missing=(), types={})
    texts, _ = read_csv(path, plain, as_text=True, may_be_empty=True)
    complaints = []
    for name, text in zip(source.table.column_names, texts.columns, strict=True):
        column = source.table[name]
        if is_list(column.type) or not len(column):
            continue
        values, codes = encode_values(column)
        spellings, places = encode_values(text)
        pairs = np.unique(codes.astype(np.int64) * len(spellings) + places)
        if len(pairs) > len(values):
            complaints.append(f"{SPELLED_TWICE} (column {name!r})")
    return complaints
