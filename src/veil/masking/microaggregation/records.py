"""Records as points: distances of records with numbers and categories.

The squared distance of two records is a sum over their columns. A number adds its squared difference, scaled.
A category adds 1 if both differ or, with a hierarchy, the square of the level on which they get the same
label over the height. As labels that agree on a level agree on all above, that square is a weighted count of
the levels on which they differ: every level becomes one column of codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from veil.base.arrays import Codes, Integers
from veil.errors import InputError, PlanError
from veil.hierarchies.hierarchy import Hierarchy
from veil.tables.columns import Floats, Groups, column_of, encode_values, is_quantity, numbers, whole_numbers

Distance = Literal["range", "standard deviation", "raw"]

_LARGEST = 1e150
"""Largest number whose squared differences are floats."""


class Coordinates(NamedTuple):
    """Records as columns of coordinates: `numbers` columns of scaled numbers, then columns of codes.

    Attributes
    ----------
    cells : float array (columns, rows)
        Scaled numbers, then codes from 0 on.
    numbers : int
        How many columns are numbers.
    weights : float array
        What a difference adds to the squared distance, for each column of codes.
    """

    cells: Floats
    numbers: int
    weights: Floats

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.cells.shape[1])

    def coordinates(self) -> Floats:
        """Return points of a Euclidean space, one row a record, with the distances of the records.

        Each code becomes a coordinate of its own, so that means and sums of squares have a meaning.
        """
        parts = [self.cells[: self.numbers].T]
        for codes, weight in zip(self.cells[self.numbers :].astype(np.int64), self.weights, strict=True):
            parts.append(np.sqrt(weight / 2) * (codes[:, None] == np.arange(codes.max(initial=-1) + 1)))
        return np.ascontiguousarray(np.concatenate(parts, axis=1), np.float64)


def records_of(
    table: pa.Table,
    columns: Sequence[str],
    method: object,
    *,
    distance: Distance = "range",
    hierarchies: Mapping[str, Any] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> Coordinates:
    """Read columns of a table as records. Numbers and dates must be finite; a missing category is one.

    A number is divided by the length of its range (`bounds`, or that of the data), by its standard deviation,
    or not at all. A column with a single value has no effect.

    >>> table = pa.table({"age": [20, 30, 40], "sex": ["f", "m", "f"]})
    >>> records_of(table, ["age", "sex"], "").cells.tolist()
    [[1.0, 1.5, 2.0], [0.0, 1.0, 0.0]]
    """
    scaled, coded, weights = [], [], []
    for name in columns:
        column = column_of(table, name, method)
        if name in (bounds or {}) and not is_quantity(column.type):
            raise PlanError(
                f"{method}: `bounds` are for numbers and dates, and column {name!r} holds values of type {column.type}"
            )
        if name in (hierarchies or {}):
            levels = _levels(column, (hierarchies or {})[name], name)
        elif is_quantity(column.type):
            values = quantities(table, name, method)
            scaled.append(
                values
                / _unit(values, distance, _check_bounds((bounds or {}).get(name), values, name, method))
            )
            continue
        else:
            levels = [encode_values(column)[1]]
        height = len(levels)
        for level, codes in enumerate(levels):
            coded.append(codes.astype(np.float64))
            weights.append(((level + 1) ** 2 - level**2) / height**2)
    cells = np.array([*scaled, *coded], np.float64).reshape(-1, table.num_rows)
    return Coordinates(np.ascontiguousarray(cells), len(scaled), np.array(weights, np.float64))


def quantities(table: pa.Table, name: str, method: object) -> Floats:
    """Return a column of numbers, dates or times as finite floats small enough to be squared."""
    column = column_of(table, name, method)
    if pa.types.is_temporal(column.type):
        table = pa.table({name: whole_numbers(column)})
    values = numbers(table, name, method)
    large = np.flatnonzero(np.abs(values) > _LARGEST)
    if large.size:
        raise InputError(
            f"{method}: column {name!r} holds {values[large[0]]:g} in row {large[0] + 1}, too large a number for "
            f"squared distances. Divide the column so that it stays below {_LARGEST:g}"
        )
    return values


def group_facts(*partitions: Groups) -> dict[str, int]:
    """Return the number of groups, and the sizes of the smallest and the largest one."""
    sizes = np.concatenate([np.bincount(groups) for groups in partitions])
    return {"groups": int(sizes.size), "smallest group": int(sizes.min()), "largest group": int(sizes.max())}


def _check_bounds(
    bounds: tuple[float, float] | None, values: Floats, name: str, method: object
) -> tuple[float, float] | None:
    if bounds is not None:
        outside = np.flatnonzero((values < bounds[0]) | (values > bounds[1]))
        if outside.size:
            raise InputError(
                f"{method}: column {name!r} holds {values[outside[0]]:g} in row {outside[0] + 1}, outside "
                f"its `bounds` from {bounds[0]:g} to {bounds[1]:g}. Widen them"
            )
    return bounds


def _unit(values: Floats, distance: Distance, bounds: tuple[float, float] | None) -> float:
    if distance == "raw":
        return 1.0
    if distance == "standard deviation":
        unit = float(values.std())
    elif bounds is not None:
        unit = bounds[1] - bounds[0]
    else:
        unit = float(np.ptp(values)) if values.size else 0.0
    return unit if unit > 0 else 1.0


def _levels(column: pa.ChunkedArray, builder: Any, name: str) -> list[Codes]:
    """Return codes of the labels on each level but the last, where all are or count as equal."""
    values, rows = encode_values(column)
    hierarchy: Hierarchy = builder.build(values, np.bincount(rows, minlength=len(values)), name)
    leaves = hierarchy.encode(values, name)[rows]
    return [hierarchy.label_map(level)[leaves] for level in range(max(1, hierarchy.height))]


def places_in_hierarchy(column: pa.ChunkedArray, builder: Any, name: str) -> Integers:
    """Return the place of each row's value among the leaves of a hierarchy, branch by branch; -1 if missing.

    Branches are in the order of the hierarchy, so the places depend on nothing else.
    """
    values, rows = encode_values(column)
    hierarchy: Hierarchy = builder.build(values, np.bincount(rows, minlength=len(values)), name)
    leaves = hierarchy.encode(values, name)
    levels = [hierarchy.label_map(level)[leaves] for level in range(hierarchy.height + 1)]
    place = np.empty(len(values), np.int64)
    place[np.lexsort(levels)] = np.arange(len(values))  # the last level decides first
    place[np.array(values.is_null(), np.bool_)] = -1
    return place[rows]
