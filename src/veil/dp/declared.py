"""Public declarations about columns: bounds, keys, and the treatment of missing values.

Values outside of them are clamped or left out, as declared, and never reported: an error that depends on the
data would be an answer without a privacy loss.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veil.dp.grid import exact_value
from veil.dp.neighbours import Neighbours, check_neighbours
from veil.dp.source import Selected
from veil.dp.unit import Unit
from veil.errors import ParameterError
from veil.tables.cells import Cells, plain_form, spell_object

Outside = Literal["clamp", "leave out"]
Missing = Fraction | Literal["leave out"]

_FINENESS = 20
"""The larger bound is about 2 to this power steps, so that the sum of 2^40 values is a machine number."""


@dataclass(frozen=True)
class Bounded:
    """A column of numbers within bounds, as whole numbers of steps. Each depends on its own record alone."""

    name: str
    low: Fraction
    high: Fraction
    missing: Missing | None
    outside: Outside

    @property
    def step(self) -> Fraction:
        """The step of the grid that values are rounded to."""
        largest = max(abs(self.low), abs(self.high))
        return Fraction(2) ** (math.ceil(math.log2(largest)) - _FINENESS)

    @property
    def lowest(self) -> int:
        """The lower bound in steps."""
        return round(self.low / self.step)

    @property
    def highest(self) -> int:
        """The upper bound in steps."""
        return round(self.high / self.step)

    def require_missing(self) -> None:
        """Refuse a column without a declaration of its missing values."""
        if self.missing is None:
            raise ParameterError(
                f'say how missing values of {self.name!r} are counted, even if there are none: missing={{"{self.name}": '
                '"leave out"}, or a number'
            )

    def read(self, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the values in steps, and a mask of those that count. Cells without numbers are missing."""
        values = np.array([np.nan if each is None else float(each) for each in cells.numbers])
        missing_mask = np.isnan(values)
        counted_mask = np.ones(len(values), np.bool_)
        if self.missing == "leave out":
            counted_mask &= ~missing_mask
        if self.outside == "leave out":
            counted_mask &= missing_mask | ((values >= float(self.low)) & (values <= float(self.high)))
        replacement = float(self.low) if isinstance(self.missing, str | None) else float(self.missing)
        within = np.clip(np.where(missing_mask, replacement, values), float(self.low), float(self.high))
        steps = np.clip(np.rint(within / float(self.step)).astype(np.int64), self.lowest, self.highest)
        return steps[cells.codes], counted_mask[cells.codes]


@dataclass(frozen=True)
class Declared:
    """All declarations of a session."""

    neighbours: Neighbours
    unit: Unit
    """The owners of rows: answers hide all rows of one person."""
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    keys: Mapping[str, Sequence[Hashable]] = field(default_factory=dict)
    missing: Mapping[str, Any] = field(default_factory=dict)
    outside: Outside = "clamp"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        if self.outside not in ("clamp", "leave out"):
            raise ParameterError(f'`outside` should be "clamp" or "leave out", not {self.outside!r}')
        for name in self.bounds:
            self.bounded(name)
        for name in self.keys:
            self.cells([name])

    def bounded(self, name: str) -> Bounded:
        """Return the bounds of a column."""
        ends = self.bounds.get(name)
        if ends is None:
            raise ParameterError(
                f'column {name!r} has no bounds: say which range its values are in, bounds={{"{name}": (0, 100)}}, '
                "based on public knowledge, not on the data"
            )
        try:
            low, high = (exact_value(each, "bounds") for each in ends)
        except (TypeError, ValueError):
            raise ParameterError(f"the bounds of {name!r} should be two numbers, not {ends!r}") from None
        if low >= high:
            raise ParameterError(
                f"the bounds of {name!r} should be a lower and a higher number, not {ends[0]!r} and {ends[1]!r}"
            )
        missing = self.missing.get(name)
        if missing is not None and missing != "leave out":
            missing = min(max(exact_value(missing, "missing"), low), high)
        return Bounded(name, low, high, missing, self.outside)

    def cells(self, names: Sequence[str]) -> list[Any]:
        """Return the cells of a histogram: keys, or combinations of keys of several columns."""
        lists = []
        for name in names:
            keys = list(self.keys.get(name, ()))
            if not keys:
                raise ParameterError(
                    f'column {name!r} has no keys: say which values to count, keys={{"{name}": [...]}}, '
                    "based on public knowledge: the answer says how often each occurs"
                )
            texts = [key_text(each) for each in keys]
            if len(set(texts)) < len(texts):
                twice = next(each for each in texts if texts.count(each) > 1)
                raise ParameterError(f"the keys of {name!r} name {twice!r} twice")
            lists.append(keys)
        return lists[0] if len(lists) == 1 else list(itertools.product(*lists))

    def cell_of(self, selected: Selected, names: Sequence[str]) -> NDArray[np.int64]:
        """Return the cell of each row; -1 for values that are no keys."""
        cell = np.zeros(selected.rows, np.int64)
        inside = np.ones(selected.rows, np.bool_)
        for name in names:
            places = {key_text(key): place for place, key in enumerate(self.keys[name])}
            cells = selected.cells[name]
            key_codes = np.array([places.get(text, -1) for text in cells.texts], np.int64)[cells.codes]
            inside &= key_codes >= 0
            cell = cell * len(places) + key_codes
        cell[~inside] = -1
        return cell


def key_text(key: Any) -> str | None:
    """Return the text of a key in the plain form of cells; None is a missing value.

    >>> key_text(1.0), key_text("1.0"), key_text("f"), key_text(True), key_text(None)
    ('1', '1', 'f', 'true', None)
    """
    text = spell_object(key)
    if text is None and key is not None and key == key:  # not a number is missing, too
        raise ParameterError(
            f"{key!r} is no value of a cell: name texts, numbers, dates, truth values, or None"
        )
    return None if text is None else plain_form(text)
