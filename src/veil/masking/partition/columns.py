"""Quasi-identifiers in a partition: ranks in an order, the width of a range of ranks, and its label.

A column without a hierarchy is a line: its values in their order, or the cells of a grid on which they lie, a
missing value last. A column with one is a tree, with its values numbered so that the values below a node are
contiguous. Either way a class is known by its lowest and highest rank, and a cut is between neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.errors import InputError
from veil.hierarchies.grid import LabelGrid, propose_grid
from veil.hierarchies.hierarchy import MISSING_WORD, ROOT, Hierarchy
from veil.masking.partition.kernels import occurring, same_sets
from veil.tables.canonical import widened
from veil.tables.columns import is_number
from veil.tables.text import canonical_text

FEW = 5
"""Different values of a column up to which its numbers are categories."""

_SET = 8
"""Values of a group up to which its label lists them; otherwise it names the first and the last."""

Style = Literal["public", "intervals", "sets", "means"]


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
        number, measured = is_number(self.values.type), _is_measured(self.values.type)
        self.style = style if number else "sets" if not measured or style == "sets" else "intervals"
        self.nodes = np.zeros((1, self.size), np.int32)
        self.spans = np.arange(self.size, dtype=np.float64)[None, :]
        if measured:
            self.spans = _positions(self.values)[None, :]
        self.unit = float(self.spans[0, -1] - self.spans[0, 0])

    def describe(self, classes: Classes, column: int) -> Labels:
        """Return the label of each class."""
        starts, members = members_of(classes, column, self.size)
        if self.style == "sets":
            return self._sets(starts, members)
        low, high, mixed = extremes(starts, members, self.missing)
        shares = (high - low + 1 + mixed) / self.size
        if self.style == "means":
            return Labels(self._means(classes, column), np.arange(low.size), shares)
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


class GridColumn:
    """A column without hierarchy as cells of a grid: cuts are at its lines, and so are the ends of intervals."""

    levels = 0

    def __init__(self, name: str, line: LineBuilder, grid: LabelGrid) -> None:
        self.name, self.grid = name, grid
        values = line.values.drop_null()
        self.cells = grid.cells(values, name)
        self.missing = len(self.cells.numbers) if line.values.null_count else -1
        self.size = len(self.cells.numbers) + (self.missing >= 0)
        self.domain_size = float(len(line.values))
        cell_of_value = self.cells.of_value
        if self.missing >= 0:
            cell_of_value = np.append(cell_of_value, self.missing)
        self.rank_of = cell_of_value.astype(np.int32)
        self.values_below = np.append(0, np.cumsum(np.bincount(cell_of_value, minlength=self.size)))
        self.nodes = np.zeros((1, self.size), np.int32)
        # A cell is where its first value is, which serves for open ones too.
        first = np.searchsorted(self.cells.of_value, np.arange(len(self.cells.numbers)))
        spans = _positions(values)[first]
        self.spans = (spans if self.missing < 0 else np.append(spans, spans[-1:]))[None, :]
        self.unit = float(self.spans[0, -1] - self.spans[0, 0])

    def describe(self, classes: Classes, column: int) -> Labels:
        """Return the label of each class: the interval of the cells that its values are in, and all between."""
        low, high, mixed = extremes(*members_of(classes, column, self.size), self.missing)
        values = self.values_below[high + 1] - self.values_below[low] + mixed
        keys, of_class = np.unique((low * self.size + high) * 2 + mixed, return_inverse=True)
        labels = [self._label(key) for key in keys.tolist()]
        return Labels(pa.array(labels, pa.string()), of_class, values / self.domain_size)

    def _label(self, key: int) -> str | None:
        pair, mixed = divmod(key, 2)
        low, high = divmod(pair, self.size)
        if low == self.missing:
            return None
        text = self.cells.label(low, high)
        return f"{{{text}, {MISSING_WORD}}}" if mixed and text != ROOT else text


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


Column = OrderedColumn | GridColumn | TreeColumn


def column_without_hierarchy(
    name: str, line: LineBuilder, hierarchy: Hierarchy, style: Style, grid: LabelGrid | None
) -> Column:
    """Return a column whose labels are values of its classes, or with the style "public" the same for all tables."""
    if style != "public":
        return OrderedColumn(name, line, hierarchy, style)
    present = line.values.drop_null()
    if grid is not None:
        return GridColumn(name, line, grid)
    if _is_measured(present.type) and len(present) > FEW:
        return GridColumn(name, line, propose_grid(present, name))
    return TreeColumn(name, neighbours(hierarchy.labels[0], len(present)))


def neighbours(values: Sequence[str | None], present: int) -> Hierarchy:
    """Return the hierarchy of pairs of neighbours, pairs of pairs, and so on; a missing value, the last, is below the root only.

    >>> neighbours(["a", "b", "c", "d", "e", None], 5).to_rows()[0], neighbours(["a", "b"], 2).to_rows()[1]
    (('a', '{a, b}', '{a, b, c, d}', '*'), ('b', '*'))
    """
    count = len(values)
    labels, maps = [tuple(values)], []
    codes = np.arange(count, dtype=np.int32)
    below = [np.ones(count, np.int64)]
    for size in [*takewhile(lambda size: size < present, (2**level for level in range(1, 64))), 0]:
        if size:
            groups = [_group(values[start : min(present, start + size)]) for start in range(0, present, size)]
            above = np.minimum(np.arange(count) // size, len(groups))
            above[present:] = len(groups)
            names = (*groups, *([None] if count > present else []))
        elif count > 1:
            above, names = np.zeros(count, np.int64), (ROOT,)
        else:
            break
        first = np.searchsorted(codes, np.arange(len(labels[-1])))
        maps.append(above[first].astype(np.int32))
        codes = above.astype(np.int32)
        labels.append(names)
        below.append(np.bincount(codes))
    shares = tuple(each / count for each in below)
    return Hierarchy(tuple(labels), tuple(maps), tuple(below), shares, float(count), ("",) * len(labels))


def _group(values: Sequence[str | None]) -> str | None:
    if len(values) == 1:
        return values[0]
    return f"{{{', '.join(map(str, values))}}}" if len(values) <= _SET else f"[{values[0]}, {values[-1]}]"


def members_of(classes: Classes, column: int, size: int) -> tuple[Integers, Codes]:
    """List the ranks of a column in each class, in order; also return where those of each class start."""
    return occurring(classes.ranks, classes.order, classes.begins, classes.ends, column, size)


def extremes(starts: Integers, members: Codes, missing: int) -> tuple[Integers, Integers, Mask]:
    """Return the lowest and highest rank of each class, and whether there is a missing value besides."""
    low, last = members[starts[:-1]].astype(np.int64), members[starts[1:] - 1].astype(np.int64)
    mixed = (last == missing) & (np.diff(starts) > 1)
    return low, np.where(mixed, members[np.maximum(starts[1:] - 2, 0)], last), mixed


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


def _is_measured(kind: pa.DataType) -> bool:
    return is_number(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)


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
