"""Prosecutor, journalist and marketer: worked values, the definitions, promises, and odd tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk import twins
from support.risk.tables import E1, NAMES, generalized, often, published, suppressed, tables
from veil import (
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PopulationUniqueness,
    Profitability,
    SampleUniqueness,
    SubsetKAnonymity,
    TCloseness,
)
from veil.errors import InputError, ParameterError
from veil.models import PromisedRisk
from veil.models.average_risk import AverageReidentificationRisk
from veil.published.table import Published
from veil.risk import analyze, attacker_risks, class_sizes
from veil.risk.distribution import BINS, risk_distribution
from veil.risk.limits import risk_limits
from veil.risk.reidentification import exposed, sample_risk
from veil.tables.rows import Rows

THRESHOLDS = st.sampled_from([0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.33, 0.3333333333333333, 0.34, 0.5, 1])


def test_reference_7_1_risks_of_the_input():
    found = sample_risk(Published(Rows.of(E1), NAMES).sizes)
    assert (found.average, found.highest, found.lowest, found.uniques) == (0.9, 1, 0.5, 0.8)


def test_reference_7_1_risks_of_the_output():
    found = analyze(suppressed(generalized(), {3}), NAMES)
    attack = found.attackers.prosecutor
    assert attack.average == pytest.approx(0.444444444, abs=1e-9)
    assert attack.highest == 0.5
    assert attack.lowest == pytest.approx(0.333333333, abs=1e-9)
    assert attack.affected_by_highest == pytest.approx(0.666666667, abs=1e-9)
    assert found.class_sizes.suppressed == 1


def test_reference_7_8_a_subset_is_a_sample_of_the_table():
    found = analyze(generalized(sex=True), NAMES, subset=[0, 1, 2, 4, 6, 9], threshold=0.3).attackers
    prosecutor, journalist = found.prosecutor, found.journalist
    assert prosecutor.at_risk == pytest.approx(0.333333, abs=1e-6)
    assert prosecutor.highest == 0.5
    assert prosecutor.success_rate == pytest.approx(0.333333, abs=1e-6)
    assert (journalist.at_risk, journalist.highest) == (0, 0.25)
    assert journalist.success_rate == pytest.approx(0.222222, abs=1e-6)
    assert found.marketer.success_rate == pytest.approx(0.216667, abs=1e-6)
    assert found.effective_threshold == 0.25


def test_a_population_table_is_the_same_as_a_subset_of_it():
    whole = generalized(sex=True)
    some = whole.take(pa.array([0, 1, 2, 4, 6, 9]))
    by_table = analyze(some, NAMES, population=whole, threshold=0.3)
    by_subset = analyze(whole, NAMES, subset=[0, 1, 2, 4, 6, 9], threshold=0.3)
    assert by_table.attackers == by_subset.attackers
    assert by_table.population_uniques == by_subset.population_uniques
    assert by_table.population_uniques.population == 10


@pytest.mark.parametrize(
    ("threshold", "effective"),
    [(0.34, 1 / 3), (0.3, 1 / 4), (0.2, 1 / 5), (0.15, 1 / 7), (0.051, 1 / 20), (1, 1), (0, 0)],
)
def test_reference_privacy_models_2_effective_threshold(threshold, effective):
    assert attacker_risks(np.array([2]), threshold).effective_threshold == effective


@often
@given(tables(), THRESHOLDS, st.data())
def test_attackers_agree_with_the_definition(table, threshold, data):
    rows, width = table
    kept = twins.shown(rows)
    others = data.draw(st.lists(st.sampled_from(kept), max_size=20)) if kept else []
    people = [*kept, *others]
    everybody = published(people, width)
    sample = published(rows, width)
    in_population = [people.count(tuple(row.values())) for row in sample.labels.to_pylist()]
    found = attacker_risks(sample.sizes, threshold, everybody=np.array(in_population, np.int64))
    limit = Fraction(str(threshold))
    for attack, group in ((found.prosecutor, kept), (found.journalist, people)):
        expected = twins.attack(rows, group, limit)
        for name, value in expected.items():
            assert getattr(attack, name) == pytest.approx(float(value), rel=1e-12), name
    assert everybody.records == len(people)
    assert found.marketer.success_rate == found.journalist.average
    assert found.prosecutor.estimated == found.prosecutor.highest


@often
@given(tables(), THRESHOLDS)
def test_sample_risk_agrees_with_the_definition(table, threshold):
    rows, width = table
    found = sample_risk(published(rows, width).sizes, threshold)
    kept = twins.shown(rows)
    expected = twins.attack(rows, kept, Fraction(str(threshold)))
    for name in ("highest", "lowest", "average", "at_risk"):
        assert getattr(found, name) == pytest.approx(float(expected[name]), rel=1e-12)
    assert found.uniques == (sum(kept.count(row) == 1 for row in kept) / len(kept) if kept else 0)


def test_at_risk_is_strict_and_not_left_to_rounding():
    sizes = np.array([3])
    assert attacker_risks(sizes, 0.3333333333333333).prosecutor.at_risk == 1  # a third is above that
    assert attacker_risks(sizes, 0.3333333333333334).prosecutor.at_risk == 0
    assert attacker_risks(np.array([5, 4]), 0.2).prosecutor.at_risk == 4 / 9
    assert exposed(np.array([49]), 1 / 49).tolist() == [True]  # 1/49 is written as 0.02040816326530612


@often
@given(tables(max_width=2, max_rows=40))
def test_the_distribution_agrees_with_the_definition(table):
    rows, width = table
    bins = risk_distribution(published(rows, width).sizes)
    expected = twins.distribution(rows)
    assert [each.upper for each in bins] == [float(upper) for upper in twins.BINS]
    assert [each.share for each in bins] == pytest.approx([float(share) for share in expected])
    assert bins[-1].cumulative == (1 if twins.shown(rows) else 0)
    assert [each.cumulative for each in bins] == pytest.approx(np.cumsum([each.share for each in bins]))


@pytest.mark.parametrize(
    ("size", "upper"),
    [(1, 1), (2, 0.5), (3, 0.334), (4, 0.25), (5, 0.2), (6, 0.167), (7, 0.143), (8, 0.125), (9, 0.125),
     (10, 0.1), (11, 0.1), (12, 0.09), (50, 0.02), (100, 0.01), (101, 0.01), (999, 0.01), (1000, 0.001),
     (1001, 0.001), (10**8, 1e-8), (3 * 10**8, 1e-8)],
)  # fmt: skip
def test_reference_1_bins_of_risks(size, upper):
    (found,) = [each for each in risk_distribution(np.array([size])) if each.share]
    assert (found.upper, found.share, len(BINS)) == (upper, 1, 24)


def test_class_sizes():
    found = class_sizes(np.array([3, 1, 1, 5]), suppressed=2)
    assert found.histogram == ((1, 2), (3, 1), (5, 1))
    assert (found.classes, found.records, found.suppressed) == (4, 10, 2)
    assert (found.average, found.smallest, found.largest) == (2.5, 1, 5)
    nothing = class_sizes(np.array([], np.int64))
    assert (nothing.average, nothing.smallest, nothing.largest, nothing.histogram) == (0, 0, 0, ())


# --- promises of privacy models -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("models", "limits"),
    [
        ([], PromisedRisk(1, 1, 1)),
        ([KAnonymity(5)], PromisedRisk(0.2, 0.2, 0.2)),
        ([DistinctLDiversity("S", 4, missing="a value")], PromisedRisk(0.25, 0.25, 0.25)),
        ([EntropyLDiversity("S", 2.5, missing="a value")], PromisedRisk(1 / 3, 1 / 3, 1 / 3)),
        ([DistinctLDiversity("S", 4)], PromisedRisk()),  # of a class that shows no value it says nothing
        ([KMap(5)], PromisedRisk(1, 0.2, 0.2)),
        ([KMap(10, population=50)], PromisedRisk(1 / 8, 0.1, 0.1)),
        ([Profitability(no_attack=True, adversary_gain=60, cost=21)], PromisedRisk(1 / 3, 1 / 3, 1 / 3)),
        (
            [Profitability("journalist", no_attack=True, adversary_gain=60, cost=20)],
            PromisedRisk(1, 0.25, 0.25),
        ),
        ([Profitability()], PromisedRisk()),
        ([AverageReidentificationRisk(0.1)], PromisedRisk(1, 1, 0.1)),
        ([SampleUniqueness(0.05)], PromisedRisk(1, 1, 0.05)),
        ([PopulationUniqueness(0.01, "USA")], PromisedRisk(1, 1, 0.01)),
        ([SubsetKAnonymity(5, 2), TCloseness("S", 0.2)], PromisedRisk()),
        ([KAnonymity(2), AverageReidentificationRisk(0.1), KMap(4)], PromisedRisk(0.5, 0.25, 0.1)),
    ],
)
def test_reference_privacy_models_4_risks_promised(models, limits):
    assert risk_limits(models, records=10) == limits


def test_estimated_risks_are_bounded_by_what_is_promised():
    found = attacker_risks(np.array([2, 4]), limits=PromisedRisk(0.4, 0.3, 0.2))
    assert (found.prosecutor.estimated, found.journalist.estimated) == (0.4, 0.3)
    assert found.marketer.estimated == 0.2
    found = analyze(generalized(sex=True), NAMES, models=[KAnonymity(1)]).attackers
    assert found.marketer.estimated == pytest.approx(0.3)


# --- odd tables and bad parameters ----------------------------------------------------------------


def test_no_records_no_risk():
    found = attacker_risks(np.array([], np.int64))
    assert set(vars(found.prosecutor).values()) == set(vars(found.journalist).values()) == {0}
    assert set(vars(found.marketer).values()) == {0}


def test_a_threshold_is_a_chance():
    with refused(ParameterError, "`threshold`", "0 to 1", "not 1.5"):
        attacker_risks(np.array([1]), 1.5)


def test_a_population_holds_its_sample():
    with refused(InputError, "lacks records", "2 classes"):
        analyze(generalized(), NAMES, population=generalized().slice(3))
