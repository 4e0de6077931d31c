"""Detection of a title above the header of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def header_below(names: Sequence[Any], rows: Sequence[Sequence[Any]]) -> int | None:
    """Return which of the rows seems to be the header if `names` is a title; None if `names` is the header.

    It is a title if the first column has a name, but half of the columns have none, and most rows of its
    length have a value in one of those.

    >>> header_below(["Ward 3", None], [["age", "sex"], [34, "m"], [51, "f"]])
    0
    >>> header_below(["age", None], [[34, None], [51, None]])
    """
    unnamed = [place for place, name in enumerate(names) if name in (None, "")]
    alike = [(number, row) for number, row in enumerate(rows) if len(row) == len(names)]
    filled = sum(any(row[place] not in (None, "") for place in unnamed) for _, row in alike)
    if 0 in unnamed or 2 * len(unnamed) < len(names) or 2 * filled <= len(alike):
        return None
    complete = (number for number, row in alike if all(value not in (None, "") for value in row))
    return next(complete, 0)
