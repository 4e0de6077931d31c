"""Names of what is published, and rows of long tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veil.hierarchies import ordering
from veil.masking.items.publishing import PublishedSets, _names


def test_a_group_is_named_by_items_that_are_published() -> None:
    """Labels that a builder makes of the values do not name one that was left out."""
    items = pa.array(["a", "b", "planted"])
    hierarchy = ordering(3, label="interval").build(items, np.ones(3), "items")
    assert hierarchy.labels[1] == ("[a, planted]",)
    named = _names([(1, 0)], [np.array([0, 0, -1])], items, hierarchy, "items")
    assert named.to_pylist() == ["[a, b]"]


def test_rows_of_people_come_from_rows_of_theirs() -> None:
    """Two people; the first has a1 and a2, which become one, the second a1, which is left out in their part."""
    shown = PublishedSets(
        pa.array(["A"]), np.array([0, 1, 1]), np.array([0]), np.array([0, 1]), np.array([[0, 0], [-1, -1]])
    )
    owners, items = np.array([1, 0, 0, 1]), np.array([0, 1, 0, -1])
    rows, names = shown.as_rows(np.array([0, 1]), owners, items)
    assert rows.tolist() == [1, 0]
    assert names.to_pylist() == ["A", None]
