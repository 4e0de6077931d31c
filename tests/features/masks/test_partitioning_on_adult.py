"""Mondrian and top-down specialization on adult: promises counted by hand, and better than the optimal release."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.masking import partition as twin
from support.masking.partition import Case, Column
from support.realdata import QUASI_IDENTIFIERS, hierarchies, needs_data, source
from veil import models as m
from veil.base.randomness import Randomness
from veil.masking.partition.mondrian import Mondrian
from veil.masking.partition.partitioning import Partitioning
from veil.masking.partition.specialization import TopDownSpecialization
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.tables.rows import Rows

pytestmark = [needs_data, pytest.mark.realdata]

NAMES = QUASI_IDENTIFIERS["adult"]


def adult() -> pa.Table:
    table: pa.Table = source("adult").table
    return table


def masked(method: Method) -> Outcome:
    return method.mask(Rows.of(adult()), Randomness())


def occupations(table: pa.Table) -> list[Counter[str]]:
    """Count the occupations in each class of the output, with nothing but a dictionary."""
    found: dict[Any, Counter[str]] = defaultdict(Counter)
    columns = [table[name].to_pylist() for name in [*NAMES, "occupation"]]
    for *labels, occupation in zip(*columns, strict=True):
        found[tuple(labels)][occupation] += 1
    return list(found.values())


@pytest.mark.parametrize("k", [2, 5, 10, 50])
@pytest.mark.parametrize("relaxed", [False, True])
def test_mondrian_keeps_k_and_more_than_the_optimal_transformation(k: int, relaxed: bool) -> None:
    trees = hierarchies("adult", NAMES)
    columns = {**trees, "age": None}
    outcome = masked(Mondrian(columns, m.KAnonymity(k), relaxed))
    classes = occupations(outcome.table)
    assert min(each.total() for each in classes) >= k
    assert outcome.facts["classes"] == len(classes)
    assert outcome.facts["discernibility"] == sum(each.total() ** 2 for each in classes)
    optimum = veil.anonymize(
        adult(), quasi_identifiers=trees, models=m.KAnonymity(k), others="keep", progress=False
    )
    assert optimum.search.proven_optimal
    assert outcome.facts["loss"] < optimum.score
    assert outcome.facts["average class size"] < optimum.records / optimum.classes


def test_diversity_and_closeness_hold_in_every_class() -> None:
    models = [m.KAnonymity(5), m.DistinctLDiversity("occupation", 3), m.TCloseness("occupation", 0.4)]
    whole = Counter(adult()["occupation"].to_pylist())
    for method in (Mondrian(NAMES, models), Mondrian(hierarchies("adult", NAMES), models)):
        classes = occupations(masked(method).table)
        assert len(classes) > 50
        for each in classes:
            size = each.total()
            assert size >= 5
            assert len(each) >= 3
            distance = sum(abs(each[value] / size - count / 30162) for value, count in whole.items()) / 2
            assert distance <= 0.4 + 1e-9


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_part_of_adult_is_cut_like_by_the_twin(relaxed: bool) -> None:
    table = adult().slice(0, 700)
    trees = hierarchies("adult", NAMES)
    columns = [
        Column(
            table[name].to_pylist(), None if name == "age" else [list(row) for row in trees[name].to_rows()]
        )
        for name in NAMES
    ]
    case = Case(columns, {})
    work = Partitioning(Rows.of(table), {**trees, "age": None}, [m.KAnonymity(3)], by_record=relaxed)
    expected = twin.mondrian(case, lambda rows: len(rows) < 3, relaxed)
    assert twin.classes_of(work, relaxed) == set(map(frozenset, expected))


@pytest.mark.parametrize("target", [None, "occupation"])
def test_specialization_keeps_its_promise(target: str | None) -> None:
    models = [m.KAnonymity(5), m.EntropyLDiversity("occupation", 3)]
    outcome = masked(TopDownSpecialization(hierarchies("adult", NAMES), models, target))
    classes = occupations(outcome.table)
    assert min(each.total() for each in classes) >= 5
    assert len(classes) == outcome.facts["classes"] > 5
