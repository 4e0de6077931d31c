"""Concepts of a hierarchy: their distances, and the walk through them."""

from __future__ import annotations

import pytest

from support.dp.tables import SPORTS
from veil.hierarchies.hierarchy import Hierarchy
from veil.private_table.mechanisms.taxonomy import ConceptTaxonomy


def test_distances_of_concepts_and_the_centroid() -> None:
    taxonomy = ConceptTaxonomy(SPORTS)
    assert taxonomy.distance("sailing", "swimming") == pytest.approx(0.58496, abs=1e-5)
    assert taxonomy.distance("sailing", "soccer") == pytest.approx(0.84800, abs=1e-5)
    assert taxonomy.distance("sailing", "water") == pytest.approx(0.41504, abs=1e-5)
    some = ["sailing", "swimming", "swimming", "soccer"]
    assert taxonomy.centroid(some) == "swimming"
    assert taxonomy.marginality(some)["swimming"] == pytest.approx(1.432959, abs=1e-6)
    assert taxonomy.chances(some, 1, 0.847997)["swimming"] == pytest.approx(0.225748, abs=1e-6)


def test_the_walk_goes_through_each_branch_at_once() -> None:
    walk = [SPORTS.labels[0][code] for code in ConceptTaxonomy(SPORTS).walk]
    assert abs(walk.index("sailing") - walk.index("swimming")) == 1


def test_concepts_of_one_name_in_two_branches_are_two() -> None:
    other = Hierarchy.from_rows([["a", "Other", "*"], ["Other", "x", "*"], ["b", "b", "*"]])
    assert sorted(map(str, ConceptTaxonomy(other).labels)) == ["*", "Other", "Other", "a", "b", "x"]
