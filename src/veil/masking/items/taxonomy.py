"""The tree above the items that occur: the groups of an item, and their cost."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from veil.base.arrays import Integers, Mask
from veil.errors import HierarchyError
from veil.hierarchies.hierarchy import Hierarchy

LEFT_OUT = -1
"""Code of an item that is not published."""


@dataclass(frozen=True, eq=False)
class ItemTaxonomy:
    """Items that occur are the nodes 0 to `items` - 1; groups of them follow, each after the groups below it.

    Of groups with the same items that occur, only the smallest is a node: a wider one would cost more and
    hide nothing.

    Attributes
    ----------
    parent
        The next wider group of each node; -1 if there is none.
    cost
        The cost of publishing a node instead of an item: 0 for an item itself, and for a group the number of
        values of the domain below it. By `unit`, this is the NCP of Terrovitis et al. (2008).
    gone
        The cost of leaving an item out.
    unit
        The cost of a group of the whole domain.
    places
        Level and code of each node in the hierarchy.
    """

    items: int
    parent: Integers
    cost: Integers
    gone: int
    unit: int
    places: tuple[tuple[int, int], ...]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.parent.size

    @functools.cached_property
    def above(self) -> Integers:
        """The nodes above each item, itself first; a row is filled up with -1."""
        rows = [np.arange(self.items)]
        while (rows[-1] >= 0).any():
            rows.append(np.where(rows[-1] >= 0, self.parent[rows[-1]], -1))
        return np.array(rows[:-1], np.int64).reshape(-1, self.items).T.copy()

    def below(self, node: int) -> Mask:
        """Return a mask of the items of a node."""
        item_mask: Mask = (self.above == node).any(axis=1)
        return item_mask

    @staticmethod
    def flat(items: Integers, left_out: Fraction = Fraction(1)) -> ItemTaxonomy:
        """Return a taxonomy without groups: items, given by number, are published or left out."""
        return ItemTaxonomy(
            items.size,
            np.full(items.size, -1, np.int64),
            np.zeros(items.size, np.int64),
            left_out.numerator,
            left_out.denominator,
            tuple((0, item) for item in items.tolist()),
        )

    @staticmethod
    def of(
        hierarchy: Hierarchy, items: pa.Array, column: str, left_out: Fraction = Fraction(1)
    ) -> ItemTaxonomy:
        """Return the taxonomy of some items of the domain of a hierarchy.

        Leaving an item out costs `left_out` times as much as publishing a group of the whole domain.

        >>> hierarchy = Hierarchy.from_rows([["a1", "A"], ["a2", "A"], ["b1", "B"], ["b2", "B"]])
        >>> tree = ItemTaxonomy.of(hierarchy, pa.array(["a1", "a2", "b1"]), "items")
        >>> tree.parent.tolist(), tree.cost.tolist(), tree.unit
        ([3, 3, -1, -1], [0, 0, 0, 2], 4)
        """
        codes = hierarchy.encode(items, column)
        places = [(0, int(code)) for code in codes]
        parent, cost = [-1] * len(places), [0] * len(places)
        node_of = {int(code): node for node, code in enumerate(codes)}
        for level, map_ in enumerate(hierarchy.maps, start=1):
            children: dict[int, list[int]] = {}
            for code in node_of:
                children.setdefault(int(map_[code]), []).append(code)
            above = {}
            for code, under in children.items():
                if len(under) == 1:
                    above[code] = node_of[under[0]]
                    continue
                above[code] = len(places)
                for each in under:
                    parent[node_of[each]] = len(places)
                parent.append(-1)
                cost.append(int(hierarchy.rows[level][code]))
                places.append((level, code))
            node_of = above
        unit = hierarchy.size * left_out.denominator
        taxonomy = ItemTaxonomy(
            len(codes),
            np.array(parent, np.int64),
            np.array(cost, np.int64) * left_out.denominator,
            hierarchy.size * left_out.numerator,
            unit,
            tuple(places),
        )
        taxonomy._check_names(hierarchy, column)
        return taxonomy

    def _check_names(self, hierarchy: Hierarchy, column: str) -> None:
        """Refuse a label for two groups, which would be ambiguous."""
        node_of: dict[str, int] = {}
        for node, (level, code) in enumerate(self.places):
            label = hierarchy.labels[level][code]
            if not label:
                raise HierarchyError(
                    f"column {column!r}: the hierarchy has a group or an item without a name on level {level}. Name it"
                )
            if label in node_of:
                raise HierarchyError(
                    f"column {column!r}: the hierarchy has two groups or items called {label!r}, on level "
                    f"{self.places[node_of[label]][0]} and on level {level}. Give one of them another name"
                )
            node_of[label] = node
