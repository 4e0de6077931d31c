"""The columns of a table that becomes private: numbers within public bounds, and values of a public domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.dp.declared import Bounded, Declared, key_text
from veil.dp.neighbours import Neighbours
from veil.errors import HierarchyError, InputError, ParameterError, did_you_mean
from veil.hierarchies.hierarchy import Hierarchy
from veil.tables.columns import encode_values
from veil.tables.text import canonical_text

Domain = Hierarchy | Sequence[Any]


@dataclass(frozen=True)
class Numbers:
    """A column of numbers: whole numbers of steps, from the lower bound to the upper one."""

    name: str
    bounds: Bounded
    is_whole: bool
    """Whether the type of the column is one of whole numbers."""
    steps: NDArray[np.int64] = field(repr=False)

    @property
    def reach(self) -> int:
        """The range of the column, in steps."""
        return max(1, self.bounds.highest - self.bounds.lowest)

    def values(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers that steps make, no further than the bounds."""
        return np.clip(steps * float(self.bounds.step), float(self.bounds.low), float(self.bounds.high))


@dataclass(frozen=True)
class Categories:
    """A column of values of a domain, by their places in it."""

    name: str
    values: tuple[Any, ...]
    hierarchy: Hierarchy | None
    codes: NDArray[np.int64] = field(repr=False)


Column = Numbers | Categories


def read_columns(
    table: pa.Table,
    bounds: Mapping[str, tuple[Any, Any]],
    domains: Mapping[str, Domain],
    missing: Mapping[str, Any],
    neighbours: Neighbours,
) -> list[Column]:
    """Return all columns; refuse one of which nothing is declared, and values that no declaration covers.

    Numbers outside of their bounds are moved to them, and nothing is said about it.
    """
    names = table.column_names
    for name in (*bounds, *domains, *missing):
        if name not in names:
            raise InputError(f"there is no column {name!r}.{did_you_mean(name, names)}")
    if not names or table.num_rows == 0:
        raise InputError("the table is empty: there is nothing to make private")
    declared = Declared(neighbours, bounds, {}, missing)
    columns: list[Column] = []
    for name in names:
        if name in bounds and name in domains:
            raise ParameterError(f"column {name!r} has both bounds and a domain: give only one of them")
        if name in bounds:
            columns.append(_numbers(table[name], declared.bounded(name), missing.get(name)))
        elif name in domains:
            columns.append(_categories(table[name], name, domains[name]))
        else:
            raise ParameterError(
                f'column {name!r} has neither bounds nor a domain: say bounds={{"{name}": (0, 100)}} or '
                f'domains={{"{name}": [...]}}, based on public knowledge, or leave the column out of the table'
            )
    return columns


def _numbers(column: pa.ChunkedArray, bounded: Bounded, missing: Any) -> Numbers:
    if missing == "leave out":
        raise ParameterError(
            f"a missing value of {bounded.name!r} cannot be left out of a table: say which number to use "
            "instead"
        )
    steps, _ = bounded.read(column)
    if missing is None and column.null_count:
        raise InputError(
            f'column {bounded.name!r} has missing values: say which number to use for them, missing={{"{bounded.name}": 0}}'
        )
    return Numbers(bounded.name, bounded, pa.types.is_integer(column.type), steps)


def _categories(column: pa.ChunkedArray, name: str, domain: Any) -> Categories:
    values, codes = encode_values(column)
    if isinstance(domain, Hierarchy):
        try:
            found = domain.encode(values, name).astype(np.int64)
        except HierarchyError:
            raise InputError(_lacking(name, "hierarchy")) from None
        return Categories(name, domain.labels[0], domain, found[codes])
    if isinstance(domain, str) or not isinstance(domain, Sequence) or not domain:
        raise ParameterError(
            f"the domain of {name!r} should be a hierarchy or a list of values, not {domain!r}"
        )
    places = {key_text(value): place for place, value in enumerate(domain)}
    if len(places) < len(domain):
        raise ParameterError(f"the domain of {name!r} names a value twice")
    found = np.array([places.get(text, -1) for text in canonical_text(values, column=name)], np.int64)
    if (found < 0).any():
        raise InputError(_lacking(name, "domain"))
    return Categories(name, tuple(domain), None, found[codes])


def _lacking(name: str, what: str) -> str:
    return f"column {name!r} has values that its {what} lacks: recode them, or add all values that people can have"
