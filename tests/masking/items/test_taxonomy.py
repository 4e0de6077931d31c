"""The tree above the items that occur."""

from __future__ import annotations

import pyarrow as pa

from veil.hierarchies import Hierarchy
from veil.masking.items.taxonomy import ItemTaxonomy

ROWS = [
    ["a1", "A", "AB", "*"],
    ["a2", "A", "AB", "*"],
    ["b", "B", "AB", "*"],
    ["c", "C", "C", "*"],
    ["d", "D", "D", "*"],
]


def names(tree: ItemTaxonomy, hierarchy: Hierarchy) -> list[str | None]:
    return [hierarchy.labels[level][code] for level, code in tree.places]


def test_groups_that_hold_the_same_are_one_node() -> None:
    """B and C hold one item each, and so are no groups; of A and AB without b, A is enough, and cheaper."""
    hierarchy = Hierarchy.from_rows(ROWS)
    whole = ItemTaxonomy.of(hierarchy, pa.array([row[0] for row in ROWS]), "items")
    assert names(whole, hierarchy) == ["a1", "a2", "b", "c", "d", "A", "AB", "*"]
    assert whole.parent.tolist() == [5, 5, 6, 7, 7, 6, 7, -1]
    assert whole.cost.tolist() == [0, 0, 0, 0, 0, 2, 3, 5]
    some = ItemTaxonomy.of(hierarchy, pa.array(["a1", "a2", "c"]), "items")
    assert names(some, hierarchy) == ["a1", "a2", "c", "A", "*"]
    assert some.cost.tolist() == [0, 0, 0, 2, 5]
    assert some.unit == 5
    one = ItemTaxonomy.of(hierarchy, pa.array(["b"]), "items")
    assert one.parent.tolist() == [-1]


def test_what_is_above_and_below() -> None:
    tree = ItemTaxonomy.of(Hierarchy.from_rows(ROWS), pa.array(["a1", "b", "d"]), "items")
    assert tree.above.tolist() == [[0, 3, 4], [1, 3, 4], [2, 4, -1]]
    below = [tree.below(node).astype(int).tolist() for node in range(tree.nodes)]
    assert below == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
