"""A count query on both tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import ParameterError
from veil.tables.columns import is_measured, is_number
from veil.tables.text import canonical_text
from veil.utility.column import as_number
from veil.utility.comparison import Comparison
from veil.utility.queries import QueryComparison

Condition = tuple[Any, Any] | Sequence[Any]
"""The first and the last value that count, as a tuple; or a list of values."""


@dataclass(frozen=True)
class CountAnswer:
    """The number of records in the original, and its estimate from the release.

    Attributes
    ----------
    count : int
        In the original.
    answer : float
        Estimate from the release; see `veil.utility.query_error`.
    error : float, optional
        |answer - count| / count; None if the count is 0.
    """

    count: int
    answer: float
    error: float | None


def count_query(comparison: Comparison, conditions: Mapping[str, Condition]) -> CountAnswer:
    """Count the records that fulfil conditions on some columns of the comparison, before and after.

    >>> before = pa.table({"age": [21, 23, 35], "sex": ["f", "f", "m"]})
    >>> after = pa.table({"age": ["20-29", "20-29", "*"], "sex": ["f", "f", "m"]})
    >>> from veil import hierarchies as h
    >>> ages = h.table([["21", "20-29", "*"], ["23", "20-29", "*"], ["35", "30-39", "*"]])
    >>> count_query(Comparison(before, after, {"age": ages, "sex": None}), {"age": (20, 22), "sex": ["f"]})
    CountAnswer(count=1, answer=1.0, error=0.0)
    """
    if not conditions:
        raise ParameterError("a count needs a condition: say which values of which column to count")
    for name in conditions:
        if name not in comparison.columns:
            names = ", ".join(map(repr, comparison.columns))
            raise ParameterError(f"column {name!r} is not compared; these are: {names}")
    inside = {}
    for name, condition in conditions.items():
        column = comparison.columns[name]
        inside[name] = values_inside(column.hierarchy.labels[0], column.cells.values.type, name, condition)
    queries = QueryComparison(comparison)
    count, answer = (queries.count_inside(inside, from_release=side) for side in (False, True))
    return CountAnswer(round(count), answer, abs(answer - count) / count if count else None)


def values_inside(
    values: Sequence[str | None], kind: pa.DataType, name: str, condition: Condition
) -> NDArray[np.bool_]:
    """Return a mask of the values of a column, given as texts, that fulfil a condition."""
    if not isinstance(condition, tuple):
        texts = {_spell(each, kind, name) for each in condition}
        return np.array([value in texts for value in values], np.bool_)
    first, last = condition
    if is_number(kind) or not (isinstance(first, str) or is_measured(kind)):
        low, high = (_number(each, name) for each in (first, last))
        return np.array([low <= as_number(value) <= high for value in values], np.bool_)
    ends = [_spell(each, kind, name) or "" for each in (first, last)]
    return np.array([value is not None and ends[0] <= value <= ends[1] for value in values], np.bool_)


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"column {name!r} has numbers, and {value!r} is not a number") from None


def _spell(value: Any, kind: pa.DataType, name: str) -> str | None:
    """Return a value as the domain spells it."""
    if value is None:
        return None
    try:
        typed = pa.scalar(str(value) if isinstance(value, str) else value).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        expected = "dates" if is_measured(kind) else "other values"
        raise ParameterError(f"column {name!r} has {expected}, and {value!r} is none") from None
    return canonical_text(pa.array([typed.as_py()], kind), column=name)[0]
