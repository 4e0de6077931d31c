"""Features of a release for models: how likely each cell stands for each value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import ParameterError, PlanError
from veil.hierarchies.hierarchy import MISSING_WORD
from veil.utility.bounds import number_ranges
from veil.utility.labelled import LabelledTable
from veil.utility.labels import LabelledColumn

Floats = NDArray[np.float64]


def features(
    release: Any,
    columns: str | Iterable[str] | None = None,
    *,
    numeric: str | Iterable[str] = (),
    level: int | Mapping[str, int] = 0,
    hierarchies: Mapping[str, Any] | None = None,
    marker: str | None = "*",
) -> Any:
    """Return the columns of a release as numbers for a model: a frame of its kind, row by row.

    A column becomes one feature for each value of its domain. A cell that shows the value has a 1 there; one
    that shows a label has equal shares, adding up to 1, for the values that the label covers. So labels of
    several levels fit together, and a model trained on them predicts from original values. Rows of suppressed
    records cover everything: leave them out of training.

    Parameters
    ----------
    release
        A release; or a released table, with the `hierarchies` of its columns.
    columns
        By default the quasi-identifiers, or the columns that have hierarchies.
    numeric
        Columns that become a single feature: the mean of the numbers that the label covers.
    level
        Level of the hierarchy whose labels become features in place of the values, for all columns that have
        such a level, or by column.
    hierarchies, marker
        As for `count_bounds`.

    >>> from veil import hierarchies as h
    >>> after = pa.table({"age": ["20s", "35"], "sex": ["f", "m"]})
    >>> ages = h.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
    >>> features(after, ["age", "sex"], hierarchies={"age": ages}).to_pydict()
    {'age=21': [0.5, 0.0], 'age=23': [0.5, 0.0], 'age=35': [0.0, 1.0], 'sex=f': [1.0, 0.0], 'sex=m': [0.0, 1.0]}
    >>> features(after, "age", level=1, hierarchies={"age": ages}).to_pydict()
    {'age=20s': [1.0, 0.0], 'age=30s': [0.0, 1.0]}
    >>> features(after, "age", numeric="age", hierarchies={"age": ages}).to_pydict()
    {'age': [22.0, 35.0]}
    """
    table = LabelledTable.of(release, hierarchies, marker=marker)
    names = table.names if columns is None else [columns] if isinstance(columns, str) else list(columns)
    numbers = {numeric} if isinstance(numeric, str) else set(numeric)
    for name in numbers - set(names):
        raise PlanError(f"`numeric` names {name!r}, which is not among the columns")
    result: dict[str, pa.Array] = {}
    for name in names:
        column = table[name]
        if name in numbers:
            by_label = {name: _means(column)}
        else:
            by_label = _shares(table, column, level.get(name, 0) if isinstance(level, Mapping) else level)
        for feature, values in by_label.items():
            result[feature] = pa.array(values[column.codes])
    return table.as_frame(pa.table(result))


def _means(column: LabelledColumn) -> Floats:
    """Return the mean number of each label, and of the released numbers for labels that cover everything."""
    _, means, _, _ = number_ranges(column)
    counts = np.bincount(column.codes, minlength=means.size)
    known = (column.sizes < len(column.values)) & ~np.isnan(means) & (counts > 0)
    if known.any():
        means[column.sizes == len(column.values)] = float(counts[known] @ means[known]) / counts[known].sum()
    return means


def _shares(table: LabelledTable, column: LabelledColumn, level: int) -> dict[str, Floats]:
    """Return the features of a column, each with the share of every label."""
    hierarchy, shares = table.hierarchies.get(column.name), column.membership()
    if level < 0:
        raise ParameterError(f"`level` should be 0 or more, not {level}")
    names = column.values
    if hierarchy is not None and level:
        if level > hierarchy.height:
            raise ParameterError(
                f"`level` should be at most {hierarchy.height} for column {column.name!r}, not {level}"
            )
        names = hierarchy.labels[level]
        nodes = np.zeros((len(column.values), len(names)))
        nodes[np.arange(len(column.values)), hierarchy.label_map(level)] = 1.0
        shares = shares @ nodes
    return {
        f"{column.name}={MISSING_WORD if text is None else text}": shares[:, at]
        for at, text in enumerate(names)
    }
