"""The labels that matter: those that a walk over all nodes of the lattice has, and no others."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cells import highest, label_costs, members_of, problem_of
from support.recoding_bound import UNIT, bounded
from veil.plan.class_size import ForcedSize
from veil.plan.prepare import Prepared
from veil.recoding.cells.labels import CellLabels, DistinctRows, cheapest_labels, fallbacks, labels_of, walk


@settings(max_examples=300)
@given(bounded(12), st.data())
def test_every_label_that_its_caps_violate_is_walked_over(
    case: tuple[Prepared, ForcedSize], data: st.DataObject
) -> None:
    problem = problem_of(*case)
    rows = DistinctRows.of(problem)
    caps = np.array([data.draw(st.integers(0, 40)) * UNIT // 20 for _ in range(len(rows))], np.int64)
    every, smallest = label_costs(problem, rows), problem.smallest
    labels = CellLabels.of(list(walk(rows, smallest, caps)))
    assert labels.costs.tolist() == sorted(labels.costs.tolist())
    found = list(zip(members_of(labels), labels.costs.tolist(), strict=True))
    assert labels.pairs == sum(len(members) for members, _ in found)
    for members, cost in found:
        assert every[members] <= cost
    for members, cost in every.items():
        if highest(caps, members, rows, smallest) > cost * smallest:
            assert (members, cost) in found
    chosen = np.array([data.draw(st.booleans()) for _ in found], np.bool_)
    some = labels.take(chosen)
    assert list(zip(members_of(some), some.costs.tolist(), strict=True)) == [
        each for each, taken in zip(found, chosen, strict=True) if taken
    ]


@settings(max_examples=300)
@given(bounded(12))
def test_caps_after_a_walk_are_prices_that_no_label_is_violated_by(case: tuple[Prepared, ForcedSize]) -> None:
    problem = problem_of(*case)
    rows = DistinctRows.of(problem)
    caps = np.full(len(rows), 2 * UNIT, np.int64)
    cheapest_labels(rows, problem.smallest, caps, lambda: True)
    every = label_costs(problem, rows)
    for members, cost in every.items():
        assert highest(caps, members, rows, problem.smallest) <= cost * problem.smallest
    for i, cap in enumerate(caps.tolist()):
        assert cap in {2 * UNIT, *(cost for members, cost in every.items() if i in members)}
    before = np.full(len(rows), 2 * UNIT, np.int64)
    cheapest_labels(rows, problem.smallest, before, lambda: False)
    assert (before == 2 * UNIT).all()


@settings(max_examples=200)
@given(bounded(12))
def test_distinct_rows_and_labels_to_fall_back_on(case: tuple[Prepared, ForcedSize]) -> None:
    problem = problem_of(*case)
    rows = DistinctRows.of(problem)
    finest = [
        tuple(
            int(hierarchy.label_map(problem.minimum[j])[problem.codes[i, j]])
            for j, hierarchy in enumerate(problem.hierarchies)
        )
        for i in range(len(problem.codes))
    ]
    numbers = dict(zip(finest, rows.of_row.tolist(), strict=True))
    assert [numbers[cells] for cells in finest] == rows.of_row.tolist()
    assert sorted(numbers.values()) == list(range(len(rows)))
    assert rows.records.tolist() == [int((rows.of_row == i).sum()) for i in range(len(rows))]
    labels = CellLabels.of(fallbacks(rows, problem.smallest, problem.maximum))
    every = label_costs(problem, rows)
    covered: set[int] = set()
    for members, cost in zip(members_of(labels), labels.costs.tolist(), strict=True):
        assert every[members] <= cost
        covered |= members
    # A row is under a label with enough records if it is under one of these.
    assert covered == set().union(*every)
    assert {i for i, count in enumerate(rows.records.tolist()) if count >= problem.smallest} <= {
        next(iter(members)) for members in members_of(labels) if len(members) == 1
    }


@settings(max_examples=200)
@given(bounded(12), st.data())
def test_labels_of_rows_have_all_rows_under_them(
    case: tuple[Prepared, ForcedSize], data: st.DataObject
) -> None:
    problem = problem_of(*case)
    rows, (number, columns) = DistinctRows.of(problem), problem.codes.shape
    levels = np.array(
        [
            [data.draw(st.integers(problem.minimum[j], problem.maximum[j])) for j in range(columns)]
            for _ in range(number)
        ],
        np.uint8,
    )
    mask = np.array([data.draw(st.booleans()) for _ in range(number)], np.bool_)

    def label(row: int, vector: tuple[int, ...]) -> list[int]:
        maps = (h.label_map(level) for h, level in zip(problem.hierarchies, vector, strict=True))
        return [int(map_[code]) for map_, code in zip(maps, problem.codes[row], strict=True)]

    expected = set()
    for i in np.flatnonzero(mask).tolist():
        vector = tuple(levels[i].tolist())
        under = [o for o in range(number) if label(o, vector) == label(i, vector)]
        cost = int(problem.cost_of(levels[[i]], np.array([i]))[0])
        expected.add((vector, frozenset(rows.of_row[under].tolist()), cost))
    found = [
        (vector, members, cost)
        for vector, classes in labels_of(rows, levels, mask)
        for members, cost in zip(members_of(classes), classes.costs.tolist(), strict=True)
    ]
    assert len(found) == len(set(found))
    assert set(found) == expected
