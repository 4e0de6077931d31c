"""Rare combinations, counted by kernels as by plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import items as twin
from support.refusals import refused
from veil.errors import ParameterError
from veil.hierarchies import Hierarchy
from veil.masking.items import problem as module
from veil.masking.items.apriori import _restore_items, good_recoding
from veil.masking.items.optimal import best_recoding
from veil.masking.items.problem import ItemProblem
from veil.masking.items.taxonomy import LEFT_OUT, ItemTaxonomy

ITEMS = [row[0] for row in twin.TREE]
LABELS = [*ITEMS, "A", "B", "*"]
"""Names of the nodes, in their order."""


@pytest.fixture(params=["table", "hash"])
def counting(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways to count: in a plain table, and in a hash table."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "hash":
            patch.setattr(module, "_DENSE", 0)
        yield


def problem_of(sets: list[list[str]], parts: list[int], records: list[int], k: int, m: int) -> ItemProblem:
    codes = [sorted({ITEMS.index(item) for item in each}) for each in sets]
    return ItemProblem(
        ItemTaxonomy.of(Hierarchy.from_rows(twin.TREE), pa.array(ITEMS), "items"),
        np.append(0, np.cumsum([len(each) for each in codes])).astype(np.int64),
        np.array([code for each in codes for code in each], np.int64),
        np.array(records, np.int64),
        np.array(parts, np.int64),
        k,
        m,
    )


def rare(
    problem: ItemProblem, sets: list[list[str]], recoding: twin.Recoding, size: int
) -> Counter[tuple[int, ...]]:
    """Combinations of nodes that some but fewer than k records of a part hold, by definition: how many parts do so."""
    published = twin.publish(sets, recoding)
    held: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for each, part, number in zip(published, problem.parts.tolist(), problem.records.tolist(), strict=True):
        for known in combinations(sorted(LABELS.index(label) for label in each), size):
            held[part, known] += number
    return Counter(known for (_, known), number in held.items() if number < problem.k)


@twin.examples(60)
@given(data=st.data(), sets=twin.baskets, k=st.integers(2, 5), size=st.integers(1, 3))
@pytest.mark.usefixtures("counting")
def test_what_is_rare(data: st.DataObject, sets: list[list[str]], k: int, size: int) -> None:
    parts = data.draw(st.lists(st.integers(0, 1), min_size=len(sets), max_size=len(sets)))
    records = data.draw(st.lists(st.integers(1, 3), min_size=len(sets), max_size=len(sets)))
    recoding = data.draw(st.sampled_from([*twin.recodings(twin.TREE, leave_out=True)]))
    problem = problem_of(sets, parts, records, k, size)
    coded = np.array(
        [LEFT_OUT if (label := recoding[item]) is None else LABELS.index(label) for item in ITEMS]
    )
    found = problem.rare(coded, size)
    expected = rare(problem, sets, recoding, size)
    assert Counter(tuple(sorted(each)) for each in found.nodes.tolist()) == expected
    assert found.number == expected.total()
    published = twin.publish(sets, recoding)
    for nodes, holder in zip(found.nodes.tolist(), found.sets.tolist(), strict=True):
        assert {LABELS[node] for node in nodes} <= published[holder]
    some = data.draw(st.lists(st.sampled_from(range(7)), min_size=1, max_size=3, unique=True))
    smallest = next(
        (
            these
            for each in range(1, size + 1)
            if (these := {c for c in rare(problem, sets, recoding, each) if set(c) & set(some)})
        ),
        set(),
    )
    with_some = problem.rare_with(coded, some)
    assert ({tuple(sorted(each)) for each in with_some.nodes.tolist()} if with_some else set()) == smallest


def test_a_hash_table_grows() -> None:
    """Ten thousand pairs, each held once, in a table that begins with four thousand places."""
    items = 150
    flat = ItemTaxonomy.flat(np.arange(items))
    starts, codes = np.array([0, items]), np.arange(items)
    problem = ItemProblem(flat, starts, codes, np.ones(1, np.int64), np.zeros(1, np.int64), 2, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE", 0)
        assert problem.rare(np.arange(items), 2).number == items * (items - 1) // 2


@pytest.mark.parametrize(
    ("sets", "records", "shown", "back"),
    [
        # By itself, as nothing is rare with it.
        ([["a1", "b1"], ["a1"]], [3, 2], {"a1": "a1"}, {"a1": "a1", "b1": "b1"}),
        # Together with the other item, one record alone would have it.
        ([["a1", "b1"], ["a1"], ["b1"]], [1, 3, 3], {"a1": "a1"}, {"a1": "a1"}),
        # Too rare by itself, but not as what its sibling is published as.
        ([["b1"], ["b2"]], [1, 3], {"b2": "B"}, {"b1": "B", "b2": "B"}),
    ],
)
def test_items_that_were_left_out_come_back_where_nothing_is_rare(sets, records, shown, back) -> None:
    problem = problem_of(sets, [0] * len(sets), records, 2, 2)

    def recoding(labels: dict[str, str]) -> list[int]:
        return [LABELS.index(labels[item]) if item in labels else LEFT_OUT for item in ITEMS]

    found = _restore_items(problem, np.array(recoding(shown), np.int64))
    assert found.tolist() == recoding(back)


def test_more_combinations_than_can_be_numbered_are_refused() -> None:
    items = 2000
    flat = ItemTaxonomy.flat(np.arange(items))
    problem = ItemProblem(
        flat, np.array([0, items]), np.arange(items), np.ones(1, np.int64), np.zeros(1, np.int64), 1, 6
    )
    with refused(ParameterError, "`m`", "ItemGeneralization", "less than 6"):
        problem.rare(np.arange(items), 6)


@pytest.mark.usefixtures("counting")
def test_many_items_heuristic_is_fine_and_no_step_back_is() -> None:
    """On baskets over 60 items: nothing is rare, and no item can come back by itself."""
    rng = np.random.default_rng(5)
    rows = [[f"i{i}", f"g{i // 6}", "*"] for i in range(60)]
    weights = 1 / np.arange(1, 61)
    sets = [
        sorted(rng.choice(60, rng.integers(1, 6), replace=False, p=weights / weights.sum()))
        for _ in range(400)
    ]
    tree = ItemTaxonomy.of(Hierarchy.from_rows(rows), pa.array([row[0] for row in rows]), "items")
    problem = ItemProblem(
        tree,
        np.append(0, np.cumsum([len(each) for each in sets])).astype(np.int64),
        np.concatenate(sets).astype(np.int64),
        np.ones(400, np.int64),
        np.zeros(400, np.int64),
        4,
        2,
    )
    found = good_recoding(problem, leave_out=True)
    assert found is not None
    assert problem.first_rare(found) is None
    assert problem.loss(found) > 0
    for item in np.flatnonzero(found == LEFT_OUT).tolist():
        shown = set(found[found >= 0].tolist())
        again = [node for node in tree.above[item].tolist() if node in shown] or [item]
        for node in again:
            assert problem.first_rare(np.where(np.arange(60) == item, node, found)) is not None
    bounded = best_recoding(problem, leave_out=True, incumbent=found, most=30)
    assert bounded.bound is not None
    assert 0 < bounded.bound <= problem.loss(found)
