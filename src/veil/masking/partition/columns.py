"""Quasi-identifiers in a partition: ranks in an order, the width of a range of ranks, and its label.

A column without a hierarchy is a line: its values in their order, a missing value last. A column with one is
a tree, with its values numbered so that the values below a node are contiguous. Either way a class is known
by its lowest and highest rank, and a cut is between neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Codes, Floats, Integers
from veil.errors import InputError
from veil.hierarchies.hierarchy import MISSING_WORD, ROOT, Hierarchy
from veil.masking.partition.kernels import occurring, same_sets
from veil.tables.canonical import widened
from veil.tables.text import canonical_text

Style = Literal["intervals", "sets", "means"]


class LineBuilder:
    """Builds the one-level hierarchy of a column without one, and keeps its values in order."""

    def __init__(self) -> None:
        self.values = pa.array([])

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """List the values in order, a missing one last."""
        texts = canonical_text(values, column=column)
        sortable = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        order = pc.array_sort_indices(sortable, null_placement="at_end")
        self.values = values.take(order)
        labels = tuple(texts[place] for place in order.to_pylist())
        ones = np.ones(len(labels), np.int64)
        return Hierarchy((labels,), (), (ones,), (ones / len(labels),), float(len(labels)), (column,))


class Classes(NamedTuple):
    """The classes of a partition: items from `order[begins[p]]` to `order[ends[p] - 1]`, contiguous."""

    ranks: Codes
    weights: Integers
    order: Integers
    begins: Integers
    ends: Integers


@dataclass(frozen=True)
class Labels:
    """The labels of a column: that of each class, and the share of the domain that it covers."""

    labels: pa.Array
    of_class: Integers
    shares: Floats


class OrderedColumn:
    """A column without hierarchy, with differences of numbers, dates and times, or of ranks."""

    levels = 0

    def __init__(self, name: str, line: LineBuilder, hierarchy: Hierarchy, style: Style) -> None:
        self.name, self.values, self.texts = name, line.values, hierarchy.labels[0]
        self.size, self.domain_size = hierarchy.size, hierarchy.domain_size
        self.rank_of = np.arange(self.size, dtype=np.int32)
        self.missing = self.size - 1 if self.values.null_count else -1
        kind = self.values.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        measured = number or pa.types.is_date(kind) or pa.types.is_timestamp(kind)
        self.style = style if number else "sets" if not measured or style == "sets" else "intervals"
        self.nodes = np.zeros((1, self.size), np.int32)
        self.spans = np.arange(self.size, dtype=np.float64)[None, :]
        if measured:
            self.spans = _positions(self.values)[None, :]
        self.unit = float(self.spans[0, -1] - self.spans[0, 0])

    def describe(self, classes: Classes, column: int) -> Labels:
        """Return the label of each class."""
        ranks, _, order, begins, ends = classes
        starts, members = occurring(ranks, order, begins, ends, column, self.size)
        if self.style == "sets":
            return self._sets(starts, members)
        number = np.diff(starts)
        low, last = members[starts[:-1]].astype(np.int64), members[starts[1:] - 1]
        mixed = (last == self.missing) & (number > 1)
        high = np.where(mixed, members[np.maximum(starts[1:] - 2, 0)], last)
        shares = (high - low + 1 + mixed) / self.size
        if self.style == "means":
            return Labels(self._means(classes, column), np.arange(number.size), shares)
        keys, of_class = np.unique((low * self.size + high) * 2 + mixed, return_inverse=True)
        labels = [self._interval(key) for key in keys.tolist()]
        return Labels(pa.array(labels, pa.string()), of_class, shares)

    def _interval(self, key: int) -> str | None:
        pair, mixed = divmod(key, 2)
        low, high = divmod(pair, self.size)
        text = self.texts[low] if low == high else f"[{self.texts[low]}, {self.texts[high]}]"
        return f"{{{text}, {MISSING_WORD}}}" if mixed else text

    def _sets(self, starts: Integers, members: Codes) -> Labels:
        of_class, firsts = same_sets(starts, members)
        labels = []
        for first in firsts.tolist():
            texts = [self.texts[rank] for rank in members[starts[first] : starts[first + 1]].tolist()]
            joined = ", ".join(MISSING_WORD if text is None else text for text in texts)
            labels.append(texts[0] if len(texts) == 1 else f"{{{joined}}}")
        return Labels(pa.array(labels, pa.string()), of_class, np.diff(starts) / self.size)

    def _means(self, classes: Classes, column: int) -> pa.Array:
        """Return the mean of the values; a class without any stays missing."""
        ranks = classes.ranks[classes.order, column]
        weights = np.where(ranks == self.missing, 0, classes.weights[classes.order])
        total = np.add.reduceat(self.spans[0][ranks] * weights, classes.begins)
        number = np.add.reduceat(weights, classes.begins)
        return pa.array(total / np.maximum(number, 1), mask=number == 0)


class TreeColumn:
    """A column with a hierarchy; `*` is added above several roots."""

    def __init__(self, name: str, hierarchy: Hierarchy) -> None:
        self.name, self.hierarchy = name, hierarchy
        self.size, self.domain_size = hierarchy.size, hierarchy.domain_size
        maps = [hierarchy.label_map(level) for level in range(hierarchy.height + 1)]
        labels = [list(each) for each in hierarchy.labels]
        shares, rows = list(hierarchy.shares), list(hierarchy.rows)
        if len(labels[-1]) > 1:
            maps.append(np.zeros(self.size, np.int32))
            labels.append([ROOT])
            shares.append(np.ones(1))
            rows.append(np.array([self.size]))
        self.levels = len(maps)
        order = np.lexsort(maps)  # by the root first, so that values below a node are contiguous
        self.rank_of = np.empty(self.size, np.int32)
        self.rank_of[order] = np.arange(self.size, dtype=np.int32)
        codes = np.stack([map_[order] for map_ in maps])
        changes = np.diff(codes, axis=1, prepend=codes[:, :1]) != 0
        self.nodes = np.cumsum(changes, axis=1).astype(np.int32)
        below = np.stack([number[code] for number, code in zip(rows, codes, strict=True)])
        self.spans = (below - 1) / max(1, self.size - 1)
        self.unit = 1.0
        # Labels of all levels one after the other, and where the label of each node of each level is.
        offsets = np.cumsum([0, *map(len, labels)])[:-1]
        self.labels = pa.array([label for each in labels for label in each], pa.string())
        self.shares = np.concatenate(shares)
        self.places = codes + offsets[:, None]

    def describe(self, classes: Classes, column: int) -> Labels:
        """Return the label of each class: the lowest node above all its values."""
        ranks = classes.ranks[classes.order, column]
        low = np.minimum.reduceat(ranks, classes.begins)
        high = np.maximum.reduceat(ranks, classes.begins)
        level = np.zeros(low.size, np.int64)
        for lower in range(self.levels - 1):
            level[self.nodes[lower, low] != self.nodes[lower, high]] = lower + 1
        places = self.places[level, low]
        return Labels(self.labels, places, self.shares[places])


Column = OrderedColumn | TreeColumn


class Scheme(NamedTuple):
    """All columns in flat arrays, for kernels. The node above rank r on a level of column j, and its width
    (for a line: the position of r), are at `starts[j] + level * sizes[j] + r`.
    """

    levels: Integers
    sizes: Integers
    starts: Integers
    units: Floats
    nodes: Codes
    spans: Floats

    @staticmethod
    def of(columns: list[Column]) -> Scheme:
        """Concatenate the columns."""
        lengths = [column.nodes.size for column in columns]
        return Scheme(
            np.array([column.levels for column in columns], np.int64),
            np.array([column.size for column in columns], np.int64),
            np.cumsum([0, *lengths])[:-1].astype(np.int64),
            np.array([column.unit for column in columns], np.float64),
            np.concatenate([column.nodes.ravel() for column in columns]),
            np.concatenate([column.spans.ravel() for column in columns]),
        )


def without_surprises(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Turn not-a-number into null and minus zero into zero; refuse infinity, and types without text."""
    canonical_text(column.slice(0, 0), column=name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_floating(column.type):
        return column
    column = widened(column)
    infinite = pc.is_inf(column)
    if pc.any(infinite).as_py():
        row = pc.index(infinite, True).as_py()
        raise InputError(
            f"column {name!r} holds {column[row].as_py()} in row {row + 1}, and no interval that contains "
            "it has a width: replace it with a number or a missing value"
        )
    clean = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return pc.add(clean, pa.scalar(0.0, column.type))


def _positions(values: pa.Array) -> Floats:
    """Return the positions of values on a line of numbers; a missing value is at the last."""
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    positions = np.array(pc.cast(values.drop_null(), pa.float64(), safe=False))
    return np.concatenate(
        [positions, np.repeat(positions[-1:] if positions.size else np.zeros(1), values.null_count)]
    )
