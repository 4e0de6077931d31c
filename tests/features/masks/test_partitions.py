"""Partitions for microaggregation: every algorithm against its slow twin, worked examples, what must always hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking import microaggregation as twins
from veil.base.randomness import Randomness
from veil.masking.microaggregation.genetic import _mutate, _neighbours, _tally, genetic
from veil.masking.microaggregation.mdav import (
    maximum_distance_to_average_vector,
    variable_maximum_distance_to_average_vector,
)
from veil.masking.microaggregation.records import Coordinates, records_of
from veil.masking.microaggregation.sums_of_squares import sums_of_squares
from veil.masking.microaggregation.univariate import (
    fixed_size,
    from_both_ends,
    principal_component,
    shortest_path,
)
from veil.masking.microaggregation.ward import joining_cost, k_ward

sometimes = settings(max_examples=60, deadline=None)

# Few different numbers, so that there are ties; many, so that there is rounding (but not in sums of twice the
# precision, which are then what `math.fsum` finds).
few = st.integers(-3, 3).map(float)
floats = st.integers(-(10**12), 10**12).map(lambda millionths: millionths / 10**6)


@st.composite
def some_records(draw, most=45):
    """Draw records with numbers and codes, and the same for the twins."""
    rows = draw(st.integers(1, most))
    numbers, codes = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    codes = codes or int(numbers == 0)
    weights = [draw(st.sampled_from([1.0, 0.25, 0.75])) for _ in range(codes)]
    number = draw(st.sampled_from([few, floats]))
    columns = [draw(st.lists(number, min_size=rows, max_size=rows)) for _ in range(numbers)]
    columns += [draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)) for _ in range(codes)]
    twin = [
        (
            tuple(column[row] for column in columns[:numbers]),
            tuple(column[row] for column in columns[numbers:]),
        )
        for row in range(rows)
    ]
    return Coordinates(np.array(columns, float).reshape(-1, rows), numbers, np.array(weights)), twin, weights


def line(*values: float) -> Coordinates:
    return Coordinates(np.array([values], float), 1, np.empty(0))


def as_sets(groups):
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in set(groups.tolist())}


# --- MDAV and V-MDAV ------------------------------------------------------------------------------


@sometimes
@given(some_records(), st.integers(1, 12))
def test_mdav_is_its_twin(drawn, k):
    records, twin, weights = drawn
    k = min(k, records.rows)
    assert maximum_distance_to_average_vector(records, k).tolist() == twins.mdav(twin, k, weights)


@pytest.mark.parametrize("kind", ["normal", "lattice", "clustered"])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_mdav_is_its_twin_in_a_tree_that_is_built_anew(kind, k):
    draws = np.random.default_rng(k)
    cells = {
        "normal": draws.normal(size=(4, 400)),
        "lattice": draws.integers(0, 4, (4, 400)) / 3,
        "clustered": draws.normal(size=(4, 400)) + 50 * draws.integers(0, 3, 400),
    }[kind]
    twin = [(tuple(row), ()) for row in cells.T.tolist()]
    found = maximum_distance_to_average_vector(Coordinates(np.ascontiguousarray(cells), 4, np.empty(0)), k)
    assert found.tolist() == twins.mdav(twin, k, [])


@sometimes
@given(some_records(), st.integers(1, 8), st.sampled_from([0.0, 0.2, 1.0, 1.1, 3.0]))
def test_v_mdav_is_its_twin(drawn, k, gamma):
    records, twin, weights = drawn
    k = min(k, records.rows)
    found = variable_maximum_distance_to_average_vector(records, k, gamma)
    assert found.tolist() == twins.v_mdav(twin, k, gamma, weights)


def test_v_mdav_lets_a_near_record_join_and_a_far_one_not():
    near = line(0, 1, 2, 3, 100, 101, 102)
    assert as_sets(variable_maximum_distance_to_average_vector(near, 3, 1.1)) == {
        frozenset([0, 1, 2, 3]),
        frozenset([4, 5, 6]),
    }


def test_mdav_with_everybody_alike():
    found = maximum_distance_to_average_vector(line(*[7.0] * 10), 3)
    assert np.bincount(found).tolist() == [3, 3, 4]


@sometimes
@given(some_records(), st.integers(1, 9))
def test_all_groups_are_large_enough_and_none_is_needlessly_large(drawn, k):
    records, _, _ = drawn
    k = min(k, records.rows)
    sizes = np.bincount(maximum_distance_to_average_vector(records, k))
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k
    for found in (variable_maximum_distance_to_average_vector(records, k, 0.5), k_ward(records, k)):
        assert np.bincount(found).min() >= k
    assert np.bincount(k_ward(records, k)).max() < 2 * k


# --- k-Ward ---------------------------------------------------------------------------------------


def cost(one: list[float], other: list[float]) -> float:
    return joining_cost(
        len(one), np.array([sum(one) / len(one)]), len(other), np.array([sum(other) / len(other)])
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([2], [12], 50),
        ([12], [16], 8),
        ([16], [25], 40.5),
        ([25], [29], 8),
        ([29], [45], 128),
        ([2], [12, 16], 96),
        ([2], [45], 924.5),
        ([12, 16], [25, 29], 169),
        ([25, 29], [45], 216),
        ([2, 12, 16], [25, 29], 346.8),
        ([2, 12, 16], [45], 918.75),
    ],
)
def test_lecture_gerl_ward_distances(one, other, expected):
    assert cost(one, other) == pytest.approx(expected, abs=0.005)
    points = [[(float(x),) for x in group] for group in (one, other)]
    assert twins.ward_cost(*points) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("one", "other", "expected", "printed"),
    [([2], [25, 29], Fraction(1250, 3), 416.33), ([12, 16], [45], Fraction(1922, 3), 640.33)],
)
def test_lecture_gerl_two_ward_distances_are_misprinted(one, other, expected, printed):
    """2/3 * 25^2 is 416.67 and 2/3 * 31^2 is 640.67: the lecture's matrix ends both in a third instead of two."""
    exact = (
        Fraction(len(one) * len(other), len(one) + len(other))
        * (Fraction(sum(one), len(one)) - Fraction(sum(other), len(other))) ** 2
    )
    assert exact == expected
    assert cost(one, other) == pytest.approx(float(expected))
    assert printed == pytest.approx(float(expected) - 1 / 3, abs=0.005)


def test_lecture_gerl_ward_example_as_k_ward():
    """{2, 12, 16} and {25, 29, 45}: the two groups that the lecture's dendrogram is left with."""
    values = line(2, 12, 16, 25, 29, 45)
    assert as_sets(k_ward(values, 3)) == {frozenset([0, 1, 2]), frozenset([3, 4, 5])}
    assert as_sets(k_ward(values, 2)) == {frozenset([0, 1]), frozenset([2, 3]), frozenset([4, 5])}


@sometimes
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=22), st.integers(1, 5)
)
def test_k_ward_is_its_twin(points, k):
    k = min(k, len(points))
    records = Coordinates(np.array(points, float).T.copy(), 2, np.empty(0))
    assert as_sets(k_ward(records, k)) == twins.k_ward([tuple(map(float, p)) for p in points], k)


# --- along a line ---------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 15))
def test_fixed_size_groups(rows, k):
    k = min(k, rows)
    sizes = np.bincount(fixed_size(np.arange(rows), k))
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k


@given(st.integers(1, 60), st.integers(1, 15))
def test_soria_comas_algorithm_7_1(rows, k):
    """Cut from both ends, as printed."""
    k = min(k, rows)
    left, groups = list(range(rows)), []
    while len(left) >= 3 * k:
        groups += [left[:k], left[-k:]]
        left = left[k:-k]
    if len(left) >= 2 * k:
        groups.append(left[:k])
        left = left[k:]
    groups.append(left)
    expected = {row: number for number, group in enumerate(groups) for row in group}
    assert from_both_ends(np.arange(rows), k).tolist() == [expected[row] for row in range(rows)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=7), st.integers(1, 4))
def test_hansen_mukherjee_no_partition_at_all_is_better(values, k):
    k = min(k, len(values))
    exact = [Fraction(value) for value in values]
    order = np.argsort(np.array(values), kind="stable")
    found = shortest_path(order, np.array(values, float)[:, None], k)
    assert np.bincount(found).min() >= k

    def numbered(groups):
        return [next(g for g, rows in enumerate(groups) if row in rows) for row in range(len(values))]

    best = min(
        twins.squares_within(exact, numbered(groups))
        for groups in twins.partitions(list(range(len(values))), k)
    )
    assert float(twins.squares_within(exact, found.tolist())) == pytest.approx(float(best), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(few, few), min_size=1, max_size=12), st.integers(1, 4))
def test_shortest_path_is_the_best_cut_of_an_order(points, k):
    k, points = min(k, len(points)), np.array(points)
    rows = len(points)

    def cuts(start):
        if start == rows:
            yield []
        for end in range(start + k, rows + 1):
            for further in cuts(end):
                yield [end - start, *further]

    best = min(sums_of_squares(points, np.repeat(np.arange(len(c)), c)).within for c in cuts(0))
    found = sums_of_squares(points, shortest_path(np.arange(rows), points, k)).within
    assert found == pytest.approx(best, abs=1e-9)


def test_soria_comas_algorithm_7_1_is_not_optimal():
    """The thesis calls it so. Groups of variable size can be better, and so can fixed ones cut elsewhere."""
    values = np.array([0.0, 1, 10, 11, 12, 20, 21])
    within = [
        sums_of_squares(values[:, None], groups).within
        for groups in (from_both_ends(np.arange(7), 2), shortest_path(np.arange(7), values[:, None], 2))
    ]
    assert within == pytest.approx([0.5 + 2 + 0.5, 3.0])
    values = np.array([0.0, 0, 0, 9, 9])
    ends, best = (
        sums_of_squares(values[:, None], groups).within
        for groups in (from_both_ends(np.arange(5), 2), shortest_path(np.arange(5), values[:, None], 2))
    )
    assert ends == pytest.approx(54)
    assert best == 0


def test_principal_component_of_points_on_a_line():
    points = np.array([[-2.0, -4], [0, 0], [2, 4]])
    assert principal_component(points) == pytest.approx([-np.sqrt(20), 0, np.sqrt(20)])
    assert principal_component(np.zeros((3, 2))).tolist() == [0, 0, 0]


# --- genetic refinement ---------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(few, floats), min_size=1, max_size=30), st.integers(1, 5), st.integers(0, 2**32))
def test_genetic_refinement_is_never_worse_and_keeps_groups_large(points, k, seed):
    k, points = min(k, len(points)), np.array(points)
    start = fixed_size(np.arange(len(points)), k)
    found = genetic(points, start, k, 5, 4, Randomness.for_testing(seed))
    assert np.bincount(found).min() >= k
    assert sums_of_squares(points, found).within <= sums_of_squares(points, start).within * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(few, floats), min_size=4, max_size=30), st.integers(1, 5), st.integers(0, 2**32))
def test_genetic_changes_do_not_raise_the_sum_of_squares(points, k, seed):
    k, points = min(k, len(points) // 2), np.array(points)
    groups = fixed_size(np.arange(len(points)), k)
    before = sums_of_squares(points, groups).within
    sums, sizes = np.empty((groups.max() + 1, 2)), np.empty(groups.max() + 1, np.int64)
    _tally(points, groups, sums, sizes)
    _mutate(points, groups, sums, sizes, k, _neighbours(points), np.array([seed], np.uint64))
    assert np.bincount(groups).min() >= k
    assert np.bincount(groups, minlength=sizes.size).tolist() == sizes.tolist()
    assert sums_of_squares(points, groups).within <= before * (1 + 1e-9)


def test_genetic_refinement_finds_clusters():
    draws = np.random.default_rng(5)
    points = np.concatenate([draws.normal(center, 0.1, (6, 2)) for center in (0, 5, 10, 15)])
    start = np.arange(24) % 4
    found = genetic(points, start, 6, 60, 10, Randomness.for_testing(1))
    assert sums_of_squares(points, found).loss < sums_of_squares(points, start).loss / 100


# --- sums of squares ------------------------------------------------------------------------------


@given(st.lists(st.tuples(few, floats, st.integers(0, 3)), min_size=1, max_size=20))
def test_sums_of_squares_add_up(drawn):
    points = np.array([each[:2] for each in drawn])
    groups = np.unique([each[2] for each in drawn], return_inverse=True)[1]
    found = sums_of_squares(points, groups)
    assert found.within + found.among == pytest.approx(found.total, rel=1e-9, abs=1e-9)
    exact = sum(
        twins.squares_within([Fraction(x) for x in column], groups.tolist()) for column in points.T.tolist()
    )
    assert found.within == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
    assert 0 <= found.loss <= 1 + 1e-12


def test_lecture_gerl_among_groups_as_printed_does_not_add_up():
    """Printed, SSA counts every group size twice and takes the mean of group means for the mean of all."""
    values, groups = [1.0, 3.0, 5.0], [0, 0, 1]
    means, sizes = [2.0, 5.0], [2, 1]
    center = sum(means) / len(means)
    printed = sum(sizes[g] * (means[g] - center) ** 2 for g in groups)
    found = sums_of_squares(np.array(values)[:, None], np.array(groups))
    assert found.within + printed != pytest.approx(found.total)
    assert found.within + found.among == pytest.approx(found.total)


# --- distances ------------------------------------------------------------------------------------


@sometimes
@given(some_records(most=12))
def test_coordinates_are_as_far_apart_as_records(drawn):
    records, twin, weights = drawn
    points = records.coordinates()
    for one in range(records.rows):
        for other in range(records.rows):
            expected = twins.square(twin[one], twin[other], weights)
            assert np.square(points[one] - points[other]).sum() == pytest.approx(
                expected, rel=1e-9, abs=1e-12
            )


def test_distances_by_hierarchy():
    """Level of the first common label over the height, squared: 1/2 for flu and cold, 1 for flu and gout."""
    from veil import hierarchies as h

    ills = h.table([["flu", "virus", "*"], ["cold", "virus", "*"], ["gout", "joint", "*"]])
    table = pa.table({"ill": ["flu", "cold", "gout", "flu"]})
    points = records_of(table, ["ill"], "", hierarchies={"ill": ills}).coordinates()
    squares = np.square(points[0] - points).sum(axis=1)
    assert squares == pytest.approx([0, 0.25, 1, 0])
