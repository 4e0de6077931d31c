"""The labels that a subtree recoding chooses from, and cuts through them.

Each column has trees of labels: those of its hierarchy between the lowest and the highest level that are above a
value of the data. A cut takes one label on each path from a root to a value. Labels above the same values are
one node, at the level where it costs least: no record can tell them apart. A label whose text also stands for
other values on a lower level is left out, because nobody could say which of them is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.classes.encoding import Levels
from veil.hierarchies import Hierarchy

Cut = Codes
"""The node of each place: a place is a node without children, with all values of the data below it."""


@dataclass(frozen=True, eq=False)
class CutForest:
    """All nodes of all columns; parents come before their children, and siblings are next to each other.

    Attributes
    ----------
    column, level, code : arrays by node
        Where the label is: `hierarchies[column].labels[level][code]`.
    lowest : array by node
        Lowest level of a label above the same values.
    cost : array by node
        Cost of a cell with that label.
    parent, first, children : arrays by node
        Its parent (-1 for a root), its first child, and the number of its children.
    low, high : arrays by node
        The places below a node are `low` to `high - 1`; columns follow each other.
    places : tuple by column, of arrays
        Place of each value of the domain; -1 if no row has it.
    roots : array
        The nodes without a parent.
    ambiguous : bool
        Whether a label was left out.
    """

    hierarchies: tuple[Hierarchy, ...]
    maximum: Levels
    column: Codes
    level: Codes
    code: Codes
    lowest: Codes
    cost: Integers
    parent: Codes
    first: Codes
    children: Codes
    low: Codes
    high: Codes
    places: tuple[Codes, ...]
    roots: Codes
    ambiguous: bool

    def __len__(self) -> int:
        return int(self.column.size)

    @property
    def place_count(self) -> int:
        """Number of places of all columns."""
        return int(self.high.max(initial=0))

    def below(self, node: int) -> range:
        """Return the children of a node."""
        return range(self.first[node], self.first[node] + self.children[node])

    def top(self) -> Cut:
        """Return the coarsest cut."""
        return self._spread(self.roots.tolist())

    def at(self, levels: Levels) -> Cut:
        """Return the cut of a node of the lattice, or the next finer one if a label there is left out."""
        taken, stack = [], self.roots.tolist()
        while stack:
            node = stack.pop()
            if self.lowest[node] <= levels[self.column[node]] or not self.children[node]:
                taken.append(node)
            else:
                stack.extend(self.below(node))
        return self._spread(taken)

    def specialize(self, cut: Cut, node: int) -> Cut:
        """Return the cut with the children of a node in its place."""
        finer = cut.copy()
        for child in self.below(node):
            finer[self.low[child] : self.high[child]] = child
        return finer

    def generalize(self, cut: Cut, node: int) -> Cut:
        """Return the cut with a node in the place of all below it."""
        coarser = cut.copy()
        coarser[self.low[node] : self.high[node]] = node
        return coarser

    def levels(self, cut: Cut) -> tuple[Codes, ...]:
        """Return the level of each domain value, by column.

        Values without a row have the highest label that has no row below it, or the label of the cut above it.
        """
        return tuple(
            self._levels_of(hierarchy, highest, places, cut)
            for hierarchy, highest, places in zip(self.hierarchies, self.maximum, self.places, strict=True)
        )

    def _levels_of(self, hierarchy: Hierarchy, highest: int, places: Codes, cut: Cut) -> Codes:
        occupied = places >= 0
        nodes = cut[places[occupied]]
        levels = np.full(hierarchy.size, -1, np.int32)
        levels[occupied] = self.level[nodes]
        own = np.unique(nodes)
        for level in range(highest, -1, -1):
            map_ = hierarchy.label_map(level)
            free = np.ones(len(hierarchy.labels[level]), np.bool_)
            free[map_[occupied]] = False
            free[self.code[own[self.level[own] == level]]] = True
            levels[(levels < 0) & free[map_]] = level
        return levels

    def _spread(self, nodes: Sequence[int]) -> Cut:
        cut = np.empty(self.place_count, np.int32)
        for node in nodes:
            cut[self.low[node] : self.high[node]] = node
        return cut


def forest_of(
    hierarchies: Sequence[Hierarchy],
    costs: Sequence[Sequence[Integers]],
    codes: Sequence[Codes],
    minimum: Levels,
    maximum: Levels,
) -> CutForest:
    """Return the nodes above the values of the data, given the cost of each label and the codes of each column."""
    fields: list[list[int]] = [[] for _ in range(10)]
    places: list[Codes] = []
    roots: list[int] = []
    place_count, ambiguous = 0, False
    for j, hierarchy in enumerate(hierarchies):
        grown = _Growth(hierarchy, costs[j], np.unique(codes[j]), minimum[j], maximum[j])
        ambiguous |= bool(grown.ambiguous)
        start, trees = len(fields[0]), grown.trees()
        roots += range(start, start + len(trees))
        here = np.full(hierarchy.size, -1, np.int32)
        place_count = _number(trees, j, fields, here, place_count)
        places.append(here)
    column, level, code, lowest, cost, parent, first, children, low, high = fields
    return CutForest(
        tuple(hierarchies), maximum, _codes(column), _codes(level), _codes(code), _codes(lowest),
        np.array(cost, np.int64), _codes(parent), _codes(first), _codes(children), _codes(low), _codes(high),
        tuple(places), _codes(roots), ambiguous,
    )  # fmt: skip


def _codes(numbers: Sequence[int]) -> Codes:
    return np.array(numbers, np.int32)


@dataclass
class _Tree:
    """A node with those below it, while the forest is built."""

    level: int
    code: int
    lowest: int
    cost: int
    values: Codes
    children: list[_Tree]
    low: int = 0
    high: int = 0

    def set_places(self, places: Codes, start: int) -> int:
        """Number the places below from `start` on, and return the next number."""
        self.low = start
        for child in self.children:
            start = child.set_places(places, start)
        if not self.children:
            places[self.values] = start
            start += 1
        self.high = start
        return start


class _Growth:
    """The trees of one column."""

    def __init__(
        self,
        hierarchy: Hierarchy,
        costs: Sequence[Integers],
        values: Codes,
        minimum: int,
        maximum: int,
    ) -> None:
        self.hierarchy, self.costs, self.values = hierarchy, costs, values
        self.minimum, self.maximum = minimum, maximum
        self.ambiguous = ambiguous_labels(hierarchy, minimum, maximum)

    def trees(self) -> list[_Tree]:
        """Return the roots."""
        return [tree for group in self._groups(self.maximum, self.values) for tree in self._grow(*group)]

    def _groups(self, level: int, values: Codes) -> Iterator[tuple[int, Codes]]:
        """Yield the values below each label of a level."""
        labels = self.hierarchy.label_map(level)[values]
        order = np.argsort(labels, kind="stable")
        for part in np.split(values[order], np.flatnonzero(np.diff(labels[order])) + 1):
            yield level, part

    def _grow(self, level: int, values: Codes) -> list[_Tree]:
        """Return the tree of the label above some values; its children if it is left out."""
        chain, value = [level], int(values[0])
        groups: list[tuple[int, Codes]] = []
        while chain[-1] > self.minimum:
            groups = list(self._groups(chain[-1] - 1, values))
            if len(groups) > 1:
                break
            chain.append(chain[-1] - 1)
        children = [tree for group in groups for tree in self._grow(*group)] if len(groups) > 1 else []
        labels = [(each, int(self.hierarchy.label_map(each)[value])) for each in chain]
        usable = [
            (int(self.costs[each][code]), each, code)
            for each, code in labels
            if (each, code) not in self.ambiguous
        ]
        if not usable:
            return children
        cost, best, code = min(usable)
        return [_Tree(best, code, chain[-1], cost, values, children)]


def ambiguous_labels(hierarchy: Hierarchy, minimum: int, maximum: int) -> set[tuple[int, int]]:
    """Return the level and code of labels whose text stands for other values on a lower level.

    >>> age = Hierarchy.from_rows([["1", "2", "*"], ["2", "3", "*"], ["4", "4", "*"]])
    >>> ambiguous_labels(age, 0, 2)
    {(1, 0)}
    """
    levels_of: dict[str | None, list[tuple[int, int]]] = {}
    result = set()
    for level in range(minimum, maximum + 1):
        for code, label in enumerate(hierarchy.labels[level]):
            for lower, there in levels_of.setdefault(label, []):
                above = there
                for step in hierarchy.maps[lower:level]:
                    above = int(step[above])
                if above != code:
                    result.add((level, code))
            levels_of[label].append((level, code))
    return result


def _number(trees: list[_Tree], column: int, fields: list[list[int]], places: Codes, start: int) -> int:
    """Append the nodes of a column, siblings next to each other, and return the next place."""
    for tree in trees:
        start = tree.set_places(places, start)
    queue = [(tree, -1) for tree in trees]
    numbered = len(fields[0]) + len(queue)
    for tree, parent in queue:  # grows while it is read
        number = len(fields[0])
        row = (column, tree.level, tree.code, tree.lowest, tree.cost, parent, numbered, len(tree.children), tree.low, tree.high)  # fmt: skip
        for values, value in zip(fields, row, strict=True):
            values.append(value)
        queue += [(child, number) for child in tree.children]
        numbered += len(tree.children)
    return start
