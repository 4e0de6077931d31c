"""Conditions such as "age >= 65", evaluated on the texts of single cells.

The type of a comparison follows from the value in the condition, never from the column: number, moment, truth
value or text. A cell that is not of that type is undecided, as a missing one is. So no cell is an error, and
none changes the type of another.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.dp.source import Selected
from veil.errors import PlanError
from veil.models.query import Query, Token, seconds_of
from veil.tables.cells import Cells, plain_form

_TRUTHS = {"true": True, "false": False}


class _Column(NamedTuple):
    cells: Cells
    is_number: bool


class Condition(Query):
    """A condition on cells; in columns of `numbers`, cells that are no numbers are missing.

    >>> from veil.dp.source import MemorySource
    >>> ages = MemorySource(pa.table({"age": ["70", "eighty", None, "34.50"]})).select(["age"])
    >>> [Condition(text, ()).mask(ages).tolist() for text in ("age > 34.5", "age is missing")]
    [[True, False, False, False], [False, False, True, False]]
    """

    def __init__(self, text: str, numbers: Collection[str]) -> None:
        super().__init__(text)
        self._numbers = numbers

    def mask(self, selected: Selected) -> NDArray[np.bool_]:
        """Return a mask of the rows for which the condition is true."""
        try:
            truth = self.condition()(selected)
        except ValueError as error:
            raise PlanError(str(error)) from None
        return np.array(pc.fill_null(truth, False), dtype=np.bool_)

    def column(self, table: Selected, name: str, at: int) -> _Column:
        return _Column(table.cells[name], name in self._numbers)

    def is_missing(self, column: _Column) -> pa.Array:
        texts = column.cells.numbers if column.is_number else column.cells.texts
        return pa.array([text is None for text in texts], pa.bool_()).take(pa.array(column.cells.codes))

    def compare(self, column: _Column, relation: Callable[[Any, Any], Any], value: Token) -> pa.Array:
        cells = column.cells
        lefts, right = _sides(cells, value)
        if isinstance(right, bool) and relation not in (operator.eq, operator.ne):
            raise ValueError("true and false have no order: compare with = or !=")
        truth = pa.array([None if left is None else relation(left, right) for left in lefts], pa.bool_())
        return truth.take(pa.array(cells.codes))


def _sides(cells: Cells, value: Token) -> tuple[list[Any], Any]:
    """Return both sides of a comparison, exactly; None for a cell of another type."""
    if value.kind == "number":
        return [None if each is None else Decimal(each) for each in cells.numbers], Decimal(value.text)
    if value.kind == "text":
        return list(cells.texts), plain_form(value.content)
    if value.kind == "moment":
        seconds, has_zone = seconds_of(value.text)
        return [_seconds(text, has_zone) for text in cells.texts], seconds
    return [None if text is None else _TRUTHS.get(text.lower()) for text in cells.texts], _TRUTHS[value.word]


def _seconds(text: str | None, has_zone: bool) -> Fraction | None:
    try:
        seconds, zoned = seconds_of(text or "")
    except ValueError:
        return None
    return seconds if zoned == has_zone else None
