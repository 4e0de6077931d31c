"""The compiled work that ways of partitioning share does what plain Python does."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.masking.partition.kernels import (
    ItemOrder,
    arrange,
    by_node,
    copy_order,
    histogram,
    occurring,
    same_sets,
)

often = settings(max_examples=150, deadline=None)


@st.composite
def partitions(draw, most=12):
    """An order of items, and where the classes in it begin and end; some items may be in none."""
    order = draw(st.permutations(range(draw(st.integers(1, most)))))
    cuts = sorted(draw(st.sets(st.integers(0, len(order)), min_size=2))) if len(order) > 1 else [0, 1]
    return np.array(order), np.array(cuts[:-1]), np.array(cuts[1:])


@often
@given(partitions(), st.data())
def test_parts_stand_side_by_side(partition, data):
    order, begins, ends = partition
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=order.size, max_size=order.size)))
    parts = [data.draw(st.integers(1, 3)) for _ in begins]
    part = np.zeros(order.size, np.int32)
    for p, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        for place in range(begin, end):
            part[place] = data.draw(st.integers(0, parts[p] - 1))
    firsts = np.cumsum([0, *parts])
    arranged = order.copy()
    part_begins, part_ends, records = (np.full(firsts[-1], 99) for _ in range(3))
    items = ItemOrder(np.zeros((order.size, 1), np.int32), weights, order)
    arrange(items, part, begins, ends, firsts, arranged, part_begins, part_ends, records)
    for p, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        here = begin
        for g in range(parts[p]):
            placed = [order[place] for place in range(begin, end) if part[place] == g]
            number = firsts[p] + g
            assert (part_begins[number], part_ends[number]) == (here, here + len(placed))
            assert arranged[here : here + len(placed)].tolist() == placed
            assert records[number] == sum(weights[placed])
            here += len(placed)
    taken = order.copy()
    copy_order(taken, arranged, begins, ends)
    inside = [place for begin, end in zip(begins, ends, strict=True) for place in range(begin, end)]
    assert taken[inside].tolist() == arranged[inside].tolist()
    outside = [place for place in range(order.size) if place not in inside]
    assert taken[outside].tolist() == order[outside].tolist()


@st.composite
def entries(draw, items, domain):
    """Values of each item, each once, with how many of its records have them."""
    values = [sorted(draw(st.sets(st.integers(0, domain - 1), max_size=domain))) for _ in range(items)]
    counts = [draw(st.integers(1, 5)) for each in values for _ in each]
    starts = np.cumsum([0, *map(len, values)])
    return starts, np.array([v for each in values for v in each], np.int32), np.array(counts, np.int64)


@often
@given(partitions(most=7), st.integers(1, 4), st.data())
def test_values_are_counted_in_each_class(partition, domain, data):
    order, begins, ends = partition
    starts, values, counts = data.draw(entries(order.size, domain))
    out_starts, classes, found = histogram(order, begins, ends, starts, values, counts, domain)
    expected: Counter[tuple[int, int]] = Counter()
    for p, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        for item in order[begin:end]:
            for e in range(starts[item], starts[item + 1]):
                expected[int(values[e]), p] += int(counts[e])
    assert _listed(out_starts, classes, found) == sorted((*key, many) for key, many in expected.items())


def _listed(starts, others, counts):
    """Entries as (row, other, count); those of a row stand in order."""
    rows = range(starts.size - 1)
    found = [
        (row, int(others[e]), int(counts[e])) for row in rows for e in range(starts[row], starts[row + 1])
    ]
    assert len(found) == others.size == counts.size
    assert found == sorted(found)
    return found


@often
@given(partitions(), st.integers(1, 5), st.data())
def test_ranks_that_occur_and_equal_sets_of_them(partition, size, data):
    order, begins, ends = partition
    ranks = np.array([[9, data.draw(st.integers(0, size - 1))] for _ in order], np.int32)
    starts, members = occurring(ranks, order, begins, ends, 1, size)
    sets = [sorted({int(ranks[i, 1]) for i in order[a:b]}) for a, b in zip(begins, ends, strict=True)]
    assert [members[a:b].tolist() for a, b in pairwise(starts)] == sets
    _assert_numbered(sets)


@often
@given(st.lists(st.sets(st.integers(0, 40), max_size=4).map(sorted), max_size=60))
def test_sets_are_numbered_as_they_appear(sets):
    """Of so many, some share a place in the table, and some begin alike."""
    _assert_numbered(sets)


def _assert_numbered(sets):
    starts = np.cumsum([0, *map(len, sets)])
    numbers, firsts = same_sets(starts, np.array([each for one in sets for each in one], np.int32))
    distinct = list(dict.fromkeys(map(tuple, sets)))
    assert numbers.tolist() == [distinct.index(tuple(each)) for each in sets]
    assert [tuple(sets[first]) for first in firsts] == distinct
    assert firsts.tolist() == [sets.index(list(each)) for each in distinct]


@often
@given(partitions(), st.data())
def test_records_are_counted_by_node(partition, data):
    order, begins, ends = partition
    nodes = np.array(data.draw(st.lists(st.integers(0, 4), min_size=6, max_size=6)), np.int32)
    ranks = np.array([[data.draw(st.integers(0, 5))] for _ in order], np.int32)
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=order.size, max_size=order.size)))
    begin, end = int(begins[0]), int(ends[0])
    tally, met = np.zeros(5, np.int64), np.full(5, 99, np.int32)
    number, least = by_node(ItemOrder(ranks, weights, order), begin, end, 0, nodes, tally, met)
    expected: Counter[int] = Counter()
    for item in order[begin:end]:
        expected[int(nodes[ranks[item, 0]])] += int(weights[item])
    assert (number, least) == (len(expected), min(expected.values()))
    assert met[:number].tolist() == sorted(expected)
    assert {int(met[g]): g + 1 for g in range(number)} == {int(n): int(tally[n]) for n in tally.nonzero()[0]}
