"""One recoding for all parts, or one for each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support import items as twin
from veil.hierarchies import Hierarchy
from veil.masking.items.parts import Recoder
from veil.masking.items.problem import ItemProblem
from veil.masking.items.taxonomy import ItemTaxonomy

ITEMS = [row[0] for row in twin.TREE]


def recoder(sets: list[list[str]], parts: list[int], k: int) -> Recoder:
    codes = [sorted({ITEMS.index(item) for item in each}) for each in sets]
    hierarchy = Hierarchy.from_rows(twin.TREE)
    problem = ItemProblem(
        ItemTaxonomy.flat(np.arange(4)),
        np.append(0, np.cumsum([len(each) for each in codes])).astype(np.int64),
        np.array([code for each in codes for code in each], np.int64),
        np.ones(len(sets), np.int64),
        np.array(parts, np.int64),
        k,
        2,
    )
    items = pa.array(ITEMS)
    return Recoder(
        problem, lambda some: ItemTaxonomy.of(hierarchy, items.take(pa.array(some)), "items"), "optimal", True
    )


@twin.examples(25)
@given(first=twin.baskets, second=twin.baskets, k=st.integers(2, 3))
def test_parts_by_themselves_cost_no_more_than_together(
    first: list[list[str]], second: list[list[str]], k: int
) -> None:
    """The optimum of each part bounds what is found for it, and one recoding for both costs as much as both optima at least."""
    both = recoder(first + second, [0] * len(first) + [1] * len(second), k)
    whole, each = both.whole(), both.each()
    assert whole is not None
    assert each is not None
    assert sum(part.loss for part in each) <= whole[0].loss
    number = sum(len(set(one)) for one in first + second)
    least = sum(
        (twin.least_loss(sets, twin.TREE, k, 2, left_out=Fraction(1)) or 0)
        * sum(len(set(one)) for one in sets)
        for sets in (first, second)
    )
    assert sum(part.loss for part in each) <= least * 4
    assert whole[0].loss <= number * 4
    covered = np.sort(np.concatenate([part.sets for part in each]))
    assert covered.tolist() == [*range(len(first) + len(second))]
