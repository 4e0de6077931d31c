"""Concepts of a hierarchy: their distances, and the walk through them."""

from __future__ import annotations

import math

import pytest

from support.dp.tables import SPORTS
from veil.hierarchies.hierarchy import Hierarchy
from veil.private_table.mechanisms.taxonomy import UNIT, ConceptTaxonomy


def distances(taxonomy: ConceptTaxonomy, value: str) -> dict[str | None, float]:
    """The distance of a value from each concept."""
    place = [SPORTS.labels[0][code] for code in taxonomy.walk].index(value)
    return dict(zip(taxonomy.labels, (taxonomy.steps[place] * UNIT).tolist(), strict=True))


def test_distances_of_concepts_and_the_centroid() -> None:
    taxonomy = ConceptTaxonomy(SPORTS)
    from_sailing = distances(taxonomy, "sailing")
    assert from_sailing["swimming"] == pytest.approx(0.58496, abs=1e-5)
    assert from_sailing["soccer"] == pytest.approx(0.84800, abs=1e-5)
    assert from_sailing["water"] == pytest.approx(0.41504, abs=1e-5)
    some = [distances(taxonomy, each) for each in ("sailing", "swimming", "swimming", "soccer")]
    marginality = {label: sum(each[label] for each in some) for label in taxonomy.labels}
    assert min(marginality, key=lambda label: marginality[label]) == "swimming"
    assert marginality["swimming"] == pytest.approx(1.432959, abs=1e-6)
    weights = {label: math.exp(-away / (2 * 0.847997)) for label, away in marginality.items()}
    assert weights["swimming"] / sum(weights.values()) == pytest.approx(0.225748, abs=1e-6)


def test_the_walk_goes_through_each_branch_at_once() -> None:
    walk = [SPORTS.labels[0][code] for code in ConceptTaxonomy(SPORTS).walk]
    assert abs(walk.index("sailing") - walk.index("swimming")) == 1


def test_concepts_of_one_name_in_two_branches_are_two() -> None:
    other = Hierarchy.from_rows([["a", "Other", "*"], ["Other", "x", "*"], ["b", "b", "*"]])
    assert sorted(map(str, ConceptTaxonomy(other).labels)) == ["*", "Other", "Other", "a", "b", "x"]
