"""MDAV and V-MDAV against their slow twins, and what must always hold of their groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking import microaggregation as twins
from support.masking.microaggregation import as_sets, line, some_records
from veil.masking.microaggregation.mdav import (
    maximum_distance_to_average_vector,
    variable_maximum_distance_to_average_vector,
)
from veil.masking.microaggregation.records import Coordinates
from veil.masking.microaggregation.ward import k_ward

sometimes = settings(max_examples=60, deadline=None)


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
