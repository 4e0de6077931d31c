"""Sample and population uniques: worked values and the estimators they come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import oracle
from support.refusals import refused
from support.risk.tables import E1, NAMES, sometimes
from veil.errors import ParameterError
from veil.population import Population
from veil.risk import analyze, population_uniques
from veil.risk.uniques import sample_uniques


def sizes_of(histogram):
    return np.repeat(list(histogram), list(histogram.values()))


@pytest.mark.parametrize(
    ("histogram", "population", "expected", "chosen"),
    [
        ({1: 50, 2: 20, 3: 10, 5: 4}, 14000, {"zayatz": 1808.614755612, "pitman": 0.986284285}, "pitman"),
        ({1: 50, 2: 20, 3: 10, 5: 4}, 1400, {"zayatz": 202.409668099, "pitman": 23.936393718}, "pitman"),
        ({1: 50, 2: 20, 3: 10, 5: 4}, 700, {"dankar": 114.139318301}, "zayatz"),
        ({1: 200, 3: 30, 6: 10}, 35000, {"zayatz": 11584.753563154, "pitman": 6228.399628629}, "pitman"),
        (
            {1: 247, 2: 64, 3: 33, 4: 10, 5: 3, 6: 1},
            592,
            {"snb": 256.428139257, "zayatz": 259.363932960, "dankar": 256.428139257},
            "snb",
        ),
        ({1: 10, 2: 10, 3: 10}, 600, {"zayatz": 19.081493824, "dankar": 19.081493824}, "zayatz"),
        ({1: 20}, 2000, {"zayatz": 2000}, None),
    ],
)
def test_population_models_8_worked_values(histogram, population, expected, chosen):
    found = population_uniques(sizes_of(histogram), population, like_arx=True)
    for name, uniques in expected.items():
        estimate = getattr(found, name)
        assert estimate.uniques == pytest.approx(uniques, rel=1e-6)
        assert estimate.share == estimate.uniques / population
        assert estimate.available
    if chosen is not None:
        assert found.chosen == chosen
        assert found.dankar == getattr(found, chosen)


def test_population_models_8_estimates_that_do_not_exist():
    found = population_uniques(sizes_of({1: 50, 2: 20, 3: 10, 5: 4}), 14000, like_arx=True)
    assert (found.snb.available, found.snb.uniques) == (False, 0)
    found = population_uniques(sizes_of({1: 10, 2: 10, 3: 10}), 600, like_arx=True)
    assert not found.pitman.available
    assert not found.snb.available


def test_the_equations_of_the_papers_are_the_default():
    found = population_uniques(sizes_of({1: 50, 2: 20, 3: 10, 5: 4}), 14000)
    assert found.chosen == "pitman"
    assert found.pitman.uniques == pytest.approx(87.749078)
    found = population_uniques(sizes_of({1: 247, 2: 64, 3: 33, 4: 10, 5: 3, 6: 1}), 592)
    assert found.chosen == "snb"
    assert found.snb.uniques == pytest.approx(259.127467)


@sometimes
@given(st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 4, 7]), max_size=60), st.sampled_from([1, 1.1, 3, 9, 40]))
def test_the_rule_falls_back_on_zayatz(sizes, factor):
    population = max(1, int(sum(sizes) * factor))
    found = population_uniques(np.array(sizes, np.int64), population)
    histogram = {size: sizes.count(size) for size in sorted(set(sizes))}
    zayatz = oracle.zayatz(histogram, population) if 1 in histogram else 0
    assert found.zayatz.uniques == pytest.approx(float(zayatz), rel=1e-9)
    assert found.dankar.available
    if 1 not in histogram:
        assert found.dankar.uniques == found.pitman.uniques == found.snb.uniques == 0
    elif population >= 10 * sum(sizes):
        assert found.dankar == (found.pitman if found.pitman.available else found.zayatz)
    else:
        assert found.dankar.uniques == min(
            each.uniques for each in (found.snb, found.zayatz) if each.available
        )
    assert found.sampling_fraction == sum(sizes) / population


def test_sample_uniques():
    assert sample_uniques(np.array([1, 1, 3])).records == 2
    assert sample_uniques(np.array([1, 1, 3])).share == 0.4
    assert sample_uniques(np.array([], np.int64)).share == 0


def test_the_population_may_be_a_number_a_region_or_a_fraction():
    for given_as, size in ((1000, 1000), ("Germany", 80_767_000), (Population(sampling_fraction=0.1), 100)):
        found = analyze(E1, NAMES, population=given_as).population_uniques
        assert found.population == size
    assert analyze(E1, NAMES).population_uniques is None
    with refused(ParameterError, "`population`", "least 10"):
        analyze(E1, NAMES, population=9)
