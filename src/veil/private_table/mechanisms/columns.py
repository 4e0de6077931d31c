"""The columns of a private table: numbers within public bounds, and values of a public domain.

The value of a record is a total function of the text of its cell and of declarations: a number is clamped to
its bounds, and a cell that is no number, or not in the domain, counts as declared. The type of the column is
declared, too. An error or a type that depends on a cell would be an answer without a privacy loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.dp.declared import Bounded, Declared, key_text
from veil.dp.source import Selected
from veil.errors import InputError, ParameterError, did_you_mean
from veil.hierarchies.hierarchy import Hierarchy
from veil.tables.cells import Cells, plain_form

Domain = Hierarchy | Sequence[Any]


@dataclass(frozen=True)
class Numbers:
    """A column of numbers: whole numbers of steps, from the lower bound to the upper one."""

    name: str
    bounds: Bounded
    is_whole: bool
    """Whether it is declared to have whole numbers, by bounds of type int."""
    steps: NDArray[np.int64] = field(repr=False)

    @property
    def substitute(self) -> Fraction:
        """The number for cells that are none."""
        assert isinstance(self.bounds.missing, Fraction)
        return self.bounds.missing

    @property
    def reach(self) -> int:
        """The range of the column, in steps."""
        return max(1, self.bounds.highest - self.bounds.lowest)

    def values(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers from steps, clipped to the bounds."""
        return np.clip(steps * float(self.bounds.step), float(self.bounds.low), float(self.bounds.high))


@dataclass(frozen=True)
class CategoricalColumn:
    """A column of values of a domain, by their places in it."""

    name: str
    values: tuple[Any, ...]
    hierarchy: Hierarchy | None
    codes: NDArray[np.int64] = field(repr=False)


Column = Numbers | CategoricalColumn


def read_columns(selected: Selected, declared: Declared, domains: Mapping[str, Domain]) -> list[Column]:
    """Return all columns; refuse one without a declaration."""
    bounds, missing = declared.bounds, declared.missing
    for name in (*bounds, *domains, *missing):
        if name not in selected.cells:
            raise InputError(f"there is no column {name!r}.{did_you_mean(name, list(selected.cells))}")
    columns: list[Column] = []
    for name, cells in selected.cells.items():
        if name in bounds and name in domains:
            raise ParameterError(f"column {name!r} has both bounds and a domain: give only one of them")
        if name in bounds:
            columns.append(_numbers(cells, declared.bounded(name), bounds[name]))
        elif name in domains:
            columns.append(_categories(cells, name, domains[name], missing))
        else:
            raise ParameterError(
                f'column {name!r} has neither bounds nor a domain: say bounds={{"{name}": (0, 100)}} or '
                f'domains={{"{name}": [...]}}, based on public knowledge, or leave the column out of the table'
            )
    return columns


def _numbers(cells: Cells, bounded: Bounded, bounds: Sequence[Any]) -> Numbers:
    if bounded.missing == "leave out":
        raise ParameterError(
            f"a missing value of {bounded.name!r} cannot be left out of a table: say which number to use "
            "instead"
        )
    if bounded.missing is None:
        bounded = replace(bounded, missing=(bounded.low + bounded.high) / 2)
    is_whole = all(isinstance(bound, Integral) for bound in bounds)
    return Numbers(bounded.name, bounded, is_whole, bounded.read(cells)[0])


def _categories(cells: Cells, name: str, domain: Any, missing: Mapping[str, Any]) -> CategoricalColumn:
    hierarchy = domain if isinstance(domain, Hierarchy) else None
    values = domain.labels[0] if isinstance(domain, Hierarchy) else domain
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ParameterError(
            f"the domain of {name!r} should be a hierarchy or a list of values, not {domain!r}"
        )
    places = {_text(value, hierarchy): place for place, value in reversed(list(enumerate(values)))}
    if hierarchy is None:
        if len(places) < len(values):
            raise ParameterError(f"the domain of {name!r} names a value twice")
        _check_type(name, values)
    other = places.get(_text(missing.get(name), hierarchy))
    if other is None:
        hint = f", not {missing[name]!r}" if name in missing else ""
        raise ParameterError(
            f"say which value of its domain a cell of {name!r} counts as that is missing or not one of them, even if there is "
            f'none: missing={{"{name}": {values[0]!r}}}{hint}; or list the missing value (None; NULL in a hierarchy) in the '
            "domain"
        )
    codes = np.array([places.get(text, other) for text in cells.texts], np.int64)
    return CategoricalColumn(name, tuple(values), hierarchy, codes[cells.codes])


def _text(value: Any, hierarchy: Hierarchy | None) -> str | None:
    """Return the text of a value as cells spell it; labels of a hierarchy are texts."""
    return key_text(value) if hierarchy is None or value is None else plain_form(str(value))


def _check_type(name: str, values: Sequence[Any]) -> None:
    """Refuse a list of values that have no common type."""
    try:
        pa.array(values)
    except (pa.ArrowException, OverflowError):
        raise ParameterError(
            f"the domain of {name!r} has values of several types, which a column cannot hold: write them as text"
        ) from None
