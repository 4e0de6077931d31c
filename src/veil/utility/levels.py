"""Columns of a release on one level: finer cells are generalized, coarser ones are blanked or stay.

Every cell becomes a function of its label, so that records that look alike still do: classes become unions of
classes. Promises that survive a union (k-anonymity, and every model that is monotone under generalization) are
kept; see `PrivacyModel.survives_union`. Nothing is read but the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import ParameterError, PlanError, did_you_mean
from veil.hierarchies import Hierarchy
from veil.hierarchies.hierarchy import ROOT, UNPUBLISHED
from veil.models.base import PrivacyModel
from veil.tables.columns import encode_values
from veil.tables.text import canonical_text
from veil.utility.labelled import LabelledTable
from veil.utility.labels import LabelledColumn

Coarser = Literal["blank", "keep"]


@dataclass(frozen=True)
class LeveledColumn:
    """A column on one level, and what that costs; suppressed records are not counted.

    Attributes
    ----------
    generalized
        Number of cells that were finer.
    coarser
        Number of cells that are coarser: they are blank, or still show their own label.
    records
        Number of records.
    """

    column: str
    level: int
    generalized: int
    coarser: int
    records: int

    def __str__(self) -> str:
        return (
            f"{self.column} on level {self.level}: {self.generalized:,} of {self.records:,} cells generalized, "
            f"{self.coarser:,} coarser"
        )


@dataclass(frozen=True, eq=False)
class Leveled:
    """A released table with some columns on one level.

    Attributes
    ----------
    table
        A frame of the release's kind, with its rows in their order.
    columns : tuple of LeveledColumn
        What happened to each column.
    not_promised : tuple of PrivacyModel
        Models of the release that a union of classes may break: the table does not promise them.
    """

    table: Any
    columns: tuple[LeveledColumn, ...]
    not_promised: tuple[PrivacyModel, ...]

    def __str__(self) -> str:
        lines = [str(each) for each in self.columns]
        if self.not_promised:
            lines.append(f"no longer promised: {', '.join(map(str, self.not_promised))}")
        return "\n".join(lines)


def at_levels(
    release: Any,
    levels: Mapping[str, int],
    *,
    coarser: Coarser = "blank",
    hierarchies: Mapping[str, Any] | None = None,
    marker: str | None = "*",
) -> Leveled:
    """Return a release with some columns on one level each.

    Parameters
    ----------
    release
        A release; or a released table, with the `hierarchies` of its columns.
    levels
        The level of each column that is to have only one.
    coarser
        What becomes of cells with a label above that level: "blank" suppresses them, "keep" leaves them.
    hierarchies, marker
        As for `count_bounds`.

    >>> from veil import hierarchies as h
    >>> after = pa.table({"age": ["20s", "23", "35", "*"]})
    >>> ages = h.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
    >>> result = at_levels(after, {"age": 1}, hierarchies={"age": ages})
    >>> result.table["age"].to_pylist()
    ['20s', '20s', '30s', '*']
    >>> at_levels(after, {"age": 0}, hierarchies={"age": ages}).table["age"].to_pylist()
    ['*', '23', '35', '*']
    """
    if coarser not in ("blank", "keep"):
        raise ParameterError(f"`coarser` should be 'blank' or 'keep', not {coarser!r}")
    labelled = LabelledTable.of(release, hierarchies, marker=marker)
    outcome = labelled.outcome
    labelled.require_labels(levels)
    table, columns = labelled.rows.table, []
    for name, level in levels.items():
        cells, column = _on_level(labelled, name, level, coarser)
        table = table.set_column(table.column_names.index(name), name, cells)
        columns.append(column)
    models = () if outcome is None else outcome.models
    people = outcome is not None and not outcome.after.owners.are_records
    broken = (
        model for model in models
        if not (model.survives_union_of_owners if people else model.survives_union) or model.reads in ("labels", "levels")
    )  # fmt: skip
    return Leveled(labelled.as_frame(table), tuple(columns), tuple(broken))


def _on_level(
    table: LabelledTable, name: str, level: int, coarser: Coarser
) -> tuple[pa.ChunkedArray, LeveledColumn]:
    """Return the cells of a column on a level, and what that costs."""
    column, hierarchy = table[name], table.hierarchies.get(name)
    if hierarchy is None:
        raise PlanError(
            f"column {name!r} has no hierarchy, and so no levels.{did_you_mean(name, table.hierarchies)}"
        )
    if not 0 <= level <= hierarchy.height:
        raise ParameterError(
            f"the level of column {name!r} should be from 0 to {hierarchy.height}, not {level}"
        )
    node, finest = _nodes(column, hierarchy, level)
    visible = ~table.suppressed
    names = _labels_on(table, column, hierarchy, level, node)
    blank = table.marker if coarser == "blank" else None
    texts = [
        names[code] if code >= 0 else blank if coarser == "blank" else text
        for code, text in zip(node.tolist(), column.labels, strict=True)
    ]
    texts[-1] = table.marker
    weights = table.rows.weights.take(visible).count_by(column.codes[visible], len(texts))
    changed = np.array(
        [code >= 0 and text != old for code, text, old in zip(node, texts, column.labels, strict=True)]
    )
    cost = LeveledColumn(
        name, level, int(weights[changed].sum()), int(weights[node < 0].sum()), int(weights.sum())
    )
    return _typed(table, column, texts, level, finest), cost


def _nodes(
    column: LabelledColumn, hierarchy: Hierarchy, level: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each label its node on a level, -1 if it is coarser; and a mask of labels that are one value."""
    label, value = column.pairs
    nodes = hierarchy.label_map(level)[value].astype(np.int64)
    width = len(column.labels)
    low, high = np.full(width, len(hierarchy.labels[level])), np.full(width, -1)
    np.minimum.at(low, label, nodes)
    np.maximum.at(high, label, nodes)
    whole = high < 0  # no pair: such a label covers everything
    node = np.where(low == high, low, -1)
    if len(hierarchy.labels[level]) == 1:
        node[whole] = 0
    return node, column.sizes == 1


def _labels_on(
    table: LabelledTable,
    column: LabelledColumn,
    hierarchy: Hierarchy,
    level: int,
    node: NDArray[np.int64],
) -> tuple[str | None, ...]:
    """Return the labels of a level; those derived from the data are named by released values only."""
    labels = hierarchy.labels[level]
    if hierarchy.naming is None or UNPUBLISHED not in {labels[code] for code in node[node >= 0].tolist()}:
        return labels
    assert table.outcome is not None
    prepared = table.outcome.searched
    rows = table.outcome.origins[(node >= 0)[column.codes] & ~table.suppressed]
    mask = np.zeros(hierarchy.size, np.bool_)
    mask[prepared.codes[prepared.encoding.names.index(column.name)][rows]] = True
    return hierarchy.named_by({level: mask}).labels[level]


def _typed(
    table: LabelledTable,
    column: LabelledColumn,
    texts: list[str | None],
    level: int,
    finest: NDArray[np.bool_],
) -> pa.ChunkedArray:
    """Return the cells with these texts: of the original type if all of them show values of the input or nothing."""
    outcome = table.outcome
    if outcome is not None and column.name in outcome.original.column_names and None not in column.values:
        values, _ = encode_values(outcome.original[column.name])
        place = {text: at for at, text in enumerate(canonical_text(values, column=column.name))}
        used = {texts[code] for code in np.unique(column.codes).tolist()} - {table.marker, ROOT, None}
        if level == 0 and not pa.types.is_string(values.type) and used <= place.keys():
            places = [place.get(text) for text in texts]
            return pa.chunked_array([values.take(pa.array(places, pa.int64()).take(pa.array(column.codes)))])
    return pa.chunked_array([pa.array(texts, pa.string()).take(pa.array(column.codes))])
