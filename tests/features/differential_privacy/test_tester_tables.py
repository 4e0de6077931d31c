"""A tester that tries to break private tables on all neighbours of small tables; a scale of 0.8 must be caught.

Where a promise is attained, the tester finds noise of scale 0.8 by itself. Where it is not, because one proof covers
several steps, what leaves is compared with what it should look like, and noise of scale 0.8 does not look like it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from support.amount import runs
from support.dp.stochastic import find_violation
from support.dp.tables import read_columns
from veil.base.randomness import Randomness
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.zcdp import rho_of_epsilon
from veil.hierarchies.hierarchy import Hierarchy
from veil.private_table import Corners, IndividualRanking, MarginalTree, private_table
from veil.private_table.mechanisms.table_mechanism import Neighbourhood
from veil.private_table.mechanisms.taxonomy import ConceptTaxonomy

LEAVES = Hierarchy.from_rows([["a", "*"], ["b", "*"]])
NUMBERS: dict[str, Any] = {"bounds": {"x": (0, 1)}, "universe": [(0,), (1,)]}
PAIRS: dict[str, Any] = {
    "bounds": {"x": (0, 1), "y": (0, 2)},
    "universe": [(0, 0), (1, 2), (0, 2), (1, 0)],
}
VALUES: dict[str, Any] = {"domains": {"x": LEAVES}, "universe": [("a",), ("b",)]}
CELLS: dict[str, Any] = {
    "domains": {"x": ["a", "b"], "y": ["c", "d"]},
    "universe": [("a", "c"), ("b", "d"), ("a", "d")],
}

Records = tuple[tuple[Any, ...], ...]


def changed(universe: list[tuple[Any, ...]], records: int) -> list[tuple[Records, Records]]:
    """Every pair of tables of so many records that differ in one."""
    tables = [tuple(each) for each in itertools.combinations_with_replacement(universe, records)]
    found = set()
    for table, place, record in itertools.product(tables, range(records), universe):
        other = tuple(sorted((*table[:place], record, *table[place + 1 :]), key=universe.index))
        if other != table and (other, table) not in found:
            found.add((table, other))
    return sorted(found, key=repr)


def more_or_less(universe: list[tuple[Any, ...]], records: int) -> list[tuple[Records, Records]]:
    """Every pair of tables of which one has one of so many records more; none is empty."""
    tables = [tuple(each) for each in itertools.combinations_with_replacement(universe, records)]
    return sorted(
        {(table, (*table[:place], *table[place + 1 :])) for table in tables for place in range(records)},
        key=repr,
    )


def coarse(value: Any) -> Hashable:
    return math.floor(4 * value) if isinstance(value, float) else value


def releasing(method: Any, price: PrivacyLoss, shape: dict[str, Any], neighbours: str, seed: int) -> Any:
    """Make the table over and over, as `private_table` does after it has read the columns."""
    source = Randomness.for_testing(seed)
    names = ("x", "y")

    @functools.cache
    def columns(records: Records) -> Any:
        table = pa.table(dict(zip(names, map(list, zip(*records, strict=True)), strict=False)))
        return read_columns(table, shape.get("bounds", {}), shape.get("domains", {}), {}, neighbours)  # type: ignore[arg-type]

    def release(records: Records) -> Hashable:
        made = method.make(columns(records), price, Neighbourhood(neighbours), source).table
        rows = zip(*(map(coarse, column.to_pylist()) for column in made.columns), strict=True)
        return tuple(sorted(rows, key=repr))

    return release


SOUND: dict[str, tuple[Any, dict[str, Any]]] = {
    "one block": (IndividualRanking(2), NUMBERS),
    "two blocks": (IndividualRanking(1), NUMBERS),
    "two columns": (IndividualRanking(2), PAIRS),
    "concepts": (IndividualRanking(1), VALUES),
    "one cluster": (Corners(2), PAIRS),
    "two clusters": (Corners(1), PAIRS),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SOUND))
def test_no_table_tells_more_than_it_costs(name: str) -> None:
    method, shape = SOUND[name]
    release = releasing(method, PrivacyLoss.read(2), shape, "one changed", 1)
    assert find_violation(release, changed(shape["universe"], 2), 2, runs=runs(200)) is None


@pytest.mark.slow
def test_a_table_of_scale_0_8_is_caught() -> None:
    """The noise of epsilon = 5/2, where 2 was paid."""
    release = releasing(IndividualRanking(2), PrivacyLoss.read("5/2"), NUMBERS, "one changed", 2)
    assert find_violation(release, [(((0,), (0,)), ((0,), (1,)))], 2, runs=9000) is not None


SCALES = {
    "one block": 1 / 2,
    "two blocks": 1,
    "two columns": 2 / 2,
    "one cluster": 3 / 2,
    "two clusters": 2 * 3,
}
"""Of the noise on a mean of the first column, for epsilon = 1: range * columns / k, or clusters * sum of ranges / k."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCALES))
def test_noise_has_the_scale_that_it_should_and_0_8_of_it_does_not(name: str) -> None:
    """Of means in the middle between the bounds, for an epsilon that keeps them off these."""
    method, shape = SOUND[name]
    columns: Any = read_columns(
        pa.table({each: [high / 2] * 2 for each, (_, high) in shape["bounds"].items()}),
        shape["bounds"],
        {},
        {},
        "one changed",
    )
    source, draws = Randomness.for_testing(6), 1500

    def scale(epsilon: Any) -> float:
        made = [
            method.make(columns, PrivacyLoss.read(epsilon), Neighbourhood("one changed"), source).table
            for _ in range(draws)
        ]
        return 100 * float(np.mean([abs(each["x"][0].as_py() - 0.5) for each in made]))

    expected, error = SCALES[name], 1 / math.sqrt(draws)
    assert abs(scale(100) / expected - 1) < 4.5 * error
    assert abs(scale(125) / expected - 1) > 4.5 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "shape"),
    [
        (IndividualRanking(2, as_published=True), NUMBERS),
        (IndividualRanking(2, as_published=True), PAIRS),
        (Corners(2, as_published=True), PAIRS),
    ],
)
def test_what_was_published_is_caught(method: Any, shape: dict[str, Any]) -> None:
    low, high = shape["universe"][:2]
    release = releasing(method, PrivacyLoss.read(1), shape, "one changed", 3)
    assert find_violation(release, [((low, low), (high, low))], 1, runs=3000) is not None


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["one more or less", "one changed"])
def test_no_tree_tells_more_than_it_costs(neighbours: str) -> None:
    rho = rho_of_epsilon(PrivacyLoss.read(2).epsilon, PrivacyLoss.read("1/10").epsilon)
    release = releasing(MarginalTree(), PrivacyLoss.read(rho=rho), CELLS, neighbours, 4)
    pairs = (changed if neighbours == "one changed" else more_or_less)(CELLS["universe"], 2)
    assert find_violation(release, pairs, 2, "1/10", runs=runs(60)) is None


def chance_of_its_own(epsilon: float) -> float:
    """How likely a block of one record is replaced by its own value, of two leaves and a root."""
    taxonomy = ConceptTaxonomy(LEAVES)
    weights = np.exp(-epsilon * taxonomy.steps[0] / (2 * taxonomy.length))
    return float(weights.max() / weights.sum())


def test_concepts_look_as_they_should_and_those_of_scale_0_8_do_not() -> None:
    draws = 1200

    def share(epsilon: Any) -> float:
        release = releasing(IndividualRanking(1), PrivacyLoss.read(epsilon), VALUES, "one changed", 5)
        kept = sum(release((("a",), ("a",))).count(("a",)) for _ in range(draws))
        return kept / (2 * draws)

    expected = chance_of_its_own(4)
    error = math.sqrt(expected * (1 - expected) / (2 * draws))
    assert abs(share(4) - expected) < 4.5 * error
    assert abs(share(5) - expected) > 4.5 * error


def test_trees_have_the_noise_that_they_should_and_those_of_scale_0_8_do_not() -> None:
    """The number of rows is that of the table, and the noise of both cells of one column: of variance 2 * 3 / (2 rho)."""
    rho, draws = 0.05, 600

    def spread(price: float) -> float:
        made = [
            private_table(
                pa.table({"x": ["a"] * 300 + ["b"] * 300}),
                MarginalTree(),
                rho=price,
                neighbours="one more or less",
                domains={"x": ["a", "b"]},
                missing={"x": "a"},
                for_testing_seed=seed,
                person=None,
            ).table.num_rows
            for seed in range(draws)
        ]
        return float(np.var(made))

    expected, error = 2 * 3 / (2 * rho), math.sqrt(2 / draws)
    assert abs(spread(rho) / expected - 1) < 4.5 * error
    assert abs(spread(rho / 0.64) / expected - 1) > 4.5 * error
