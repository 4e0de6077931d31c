"""Compilation of a table of labels into codes, with checks that it is rectangular and a tree."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from veil.base.arrays import Codes
from veil.errors import HierarchyError
from veil.tables.text import canonical_text

Label = str | None


def to_columns(
    rows: Sequence[Sequence[Any]], source: str, lines: Sequence[int] | None
) -> list[Sequence[Any]]:
    """Turn rows into columns, refusing rows of unequal length."""
    if not len(rows):
        raise empty(source)
    where = lines if lines is not None else range(1, len(rows) + 1)
    for row, line in zip(rows, where, strict=True):
        if isinstance(row, str):
            raise HierarchyError(f"{source}, row {line}: a row should be a list of labels, not {row!r}")
        if len(row) != len(rows[0]):
            value = f" (value {row[0]!r})" if len(row) else ""
            raise HierarchyError(
                f"{source}, row {line}{value}: expected {len(rows[0])} columns "
                f"as in row {where[0]}, found {len(row)}"
            )
    return list(zip(*rows, strict=True))


def empty(source: str) -> HierarchyError:
    """Return the error for a table without rows."""
    return HierarchyError(f"{source} is empty: it needs one row for each value of the column")


def texts(column: Sequence[Any]) -> Sequence[Label]:
    """Return labels as text; numbers, dates and the like in the canonical text of their type."""
    if set(map(type, column)) <= {str, type(None)}:
        return column
    return [value if type(value) is str or value is None else text_of(value) for value in column]


def text_of(value: Any) -> Label:
    """Return the canonical text of one value of any type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        return None
    return canonical_text(pa.array([value]))[0]


def encode_labels(column: Sequence[Label], missing: str | None) -> tuple[Codes, tuple[Label, ...]]:
    """Number the distinct labels by first appearance."""
    if missing is not None:
        word = missing.casefold()
        size = len(word)  # spares most labels the case folding
        column = [None if text and len(text) == size and text.casefold() == word else text for text in column]
    encoded = pa.array(column, pa.string()).dictionary_encode(null_encoding="encode")
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return codes, tuple(encoded.dictionary.to_pylist())


def number_labels(
    codes: npt.NDArray[np.integer[Any]], labels: Sequence[str]
) -> tuple[Codes, tuple[Label, ...]]:
    """Renumber labels by first appearance, and merge equal ones, as `encode_labels` would."""
    codes, different = codes.astype(np.int32, copy=False), tuple(dict.fromkeys(labels))
    if len(different) < len(labels):
        place = {label: number for number, label in enumerate(different)}
        codes = np.array([place[label] for label in labels], np.int32)[codes]
    first = np.full(len(different), len(codes), np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    number = np.empty(len(different), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return number[codes], tuple(different[at] for at in order.tolist())


def first_rows(codes: Codes, size: int) -> npt.NDArray[np.intp]:
    """Return the first row in which each code appears."""
    first = np.empty(size, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def parents(below: Codes, above: Codes, size: int) -> Codes:
    """Return the code above each code below."""
    parents = np.empty(size, dtype=np.int32)
    parents[below] = above
    return parents


def check_repeats(
    codes: list[Codes],
    labels: list[tuple[Label, ...]],
    first: npt.NDArray[np.intp],
    source: str,
    where: Sequence[int],
) -> None:
    """Warn of a value that is listed again with the same labels; refuse it with other labels."""
    original = first[codes[0]]
    repeated = np.flatnonzero(original != np.arange(len(original)))
    if not len(repeated):
        return
    for level, code in enumerate(codes):
        differs = repeated[code[repeated] != code[original[repeated]]]
        if len(differs):
            row, earlier = int(differs[0]), int(original[differs[0]])
            value = _show(labels[0][codes[0][row]])
            raise HierarchyError(
                f"{source}: value {value} is listed twice with different labels on level {level}: "
                f"{_show(labels[level][code[earlier]])} in row {where[earlier]} and "
                f"{_show(labels[level][code[row]])} in row {where[row]}. Keep one of the two rows"
            )
    row = int(repeated[0])
    more = f", and {len(repeated) - 1} more rows repeat earlier ones" if len(repeated) > 1 else ""
    warnings.warn(
        f"{source}: value {_show(labels[0][codes[0][row]])} is listed twice with the same labels, "
        f"in rows {where[int(original[row])]} and {where[row]}{more}. "
        "Both rows count in the shares, as in ARX; delete one to count the value once",
        stacklevel=4,
    )


def check_tree(
    level: int, codes: list[Codes], labels: list[tuple[Label, ...]], source: str, where: Sequence[int]
) -> None:
    """Refuse a label with more than one parent."""
    below, above = codes[level], codes[level + 1]
    first = first_rows(below, len(labels[level]))
    wrong = np.flatnonzero(above != above[first[below]])
    if not len(wrong):
        return
    row = int(wrong[0])
    earlier = int(first[below[row]])
    raise HierarchyError(
        f"{source} is not a tree: label {_show(labels[level][below[row]])} of level {level} belongs to "
        f"{_show(labels[level + 1][above[earlier]])} (row {where[earlier]}, value "
        f"{_show(labels[0][codes[0][earlier]])}) and to {_show(labels[level + 1][above[row]])} "
        f"(row {where[row]}, value {_show(labels[0][codes[0][row]])}) on level {level + 1}. "
        f"Give the label two names on level {level}, or one parent on level {level + 1}"
    )


def _show(label: Label) -> str:
    return "NULL (missing)" if label is None else repr(label)
