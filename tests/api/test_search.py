"""What a release says of other transformations: prices, all nodes, and nodes by level."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

import veil
from support.realdata import QUASI_IDENTIFIERS, hierarchies, needs_data, source
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import NoSolutionError, PlanError
from veil.synthetic import patients


@pytest.fixture(scope="module")
def plan():
    return veil.Plan(
        {
            "age": h.intervals(5, 10, 20, 40),
            "sex": "suppression",
            "zip": "redaction",
        },
        KAnonymity(5),
        sensitive="diagnosis",
        others="drop",
        suppression_limit=0.05,
    )


@pytest.fixture
def release(plan):
    return veil.anonymize(patients(500), plan)


def test_a_price_is_what_a_release_with_that_level_loses(release, plan):
    """The page shows prices; whoever takes one gets the release that was priced."""
    prices = release.search.level_costs()
    assert len(prices) == sum(len(each.level_names) for each in release.outcome.hierarchies.values())
    for each in prices:
        at = {each.column: each.level}
        try:
            alone = veil.anonymize(
                patients(500), dataclasses.replace(plan, minimum_levels=at, maximum_levels=at)
            )
        except NoSolutionError:
            assert each.score is None
            continue
        assert (each.score, each.transformation) == (alone.score, alone.transformation)
        assert release.search.apply(each.transformation).score == each.score


def test_prices_around_a_level_that_is_settled(release):
    prices = release.search.level_costs({"age": 4})
    assert [each.level for each in prices if each.column == "age"] == [4]
    assert all(each.transformation["age"] == 4 for each in prices if each.transformation is not None)


def test_prices_that_are_not_asked_for_to_the_end_say_so(release):
    prices = release.search.level_costs(cancel=lambda: True)
    best = {each.column for each in prices if each.proven}
    assert best == set(release.transformation)  # those of the optimum, which the search has proven


def test_what_has_no_such_column_or_level_is_refused(release):
    with refused(PlanError, "mean 'age'", "'agee'", "not a quasi-identifier"):
        release.search.level_costs({"agee": 1})
    with refused(PlanError, "not a node"):
        release.search.level_costs({"age": 9})


def test_all_nodes_are_known_once_they_are_characterized(release):
    space = release.search.characterize()
    assert {each.state for each in release.search.nodes()} <= {"anonymous", "not anonymous"}
    assert len(space.evaluated) == space.size
    assert min(each.score for each in release.search.nodes(state="anonymous")) == (release.score,)


def test_characterizing_is_stopped_and_keeps_what_it_has(release):
    known = len(release.search.explored.evaluated)
    assert len(release.search.characterize(cancel=lambda: True).evaluated) == known


def test_nodes_by_level(release):
    listed = release.search.nodes(levels={"age": 2, "sex": 0})
    assert listed == [each for each in release.search.nodes() if each.levels[:2] == (2, 0)]
    assert listed


@needs_data
def test_the_prices_of_adult_cost_few_looks():
    columns = QUASI_IDENTIFIERS["adult"]
    release = veil.anonymize(
        source("adult"),
        quasi_identifiers=hierarchies("adult", columns),
        models=KAnonymity(5),
        others="drop",
        suppression_limit=0.05,
    )
    before = len(release.search.explored.evaluated)
    prices = release.search.level_costs()
    assert len(prices) == 24
    assert all(each.proven for each in prices)
    # One by one, the same searches look at more than 2,000.
    assert len(release.search.explored.evaluated) - before < 900


@pytest.mark.parametrize("node", [pa.table({"age": [1]}), 5, "age", [0.5], {"age": "high"}])
def test_what_is_no_node_is_refused(node: object) -> None:
    search = veil.anonymize(
        pa.table({"age": [1, 1, 2, 2]}), quasi_identifiers={"age": "suppression"}, models=[KAnonymity(2)]
    ).search
    with refused(PlanError, "by its levels"):
        search.apply(node)
