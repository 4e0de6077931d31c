"""Quality measures: the reference's worked values, the slow twins, and releases at the edge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import veil
from support.utility import twins
from support.utility.cases import Case, cases
from support.utility.example import E1, TABLES, e1
from veil import KAnonymity
from veil import quality as q
from veil.utility import Comparison, quality_measures


def test_reference_section_7_item_3_aggregates_of_e1():
    found = quality_measures(e1((1, 0, 1)))
    assert found.aggregate("granularity") == pytest.approx(0.702439024, abs=1e-9)
    assert found.aggregate("granularity", "geometric_mean") == pytest.approx(0.696896334, abs=1e-9)


@pytest.mark.parametrize("dropped", ["blank", "drop"])
def test_reference_section_7_item_4_data_set_measures_of_e1(dropped):
    found = quality_measures(e1((1, 0, 1), suppressed_rows=dropped))
    assert found.discernibility.quality == pytest.approx(0.784090909, abs=1e-9)
    assert found.class_size.quality == pytest.approx(0.871875, abs=1e-9)
    assert found.ambiguity.quality == pytest.approx(0.830769231, abs=1e-9)
    assert found.sse_sst == pytest.approx(0.898298049, abs=1e-9)
    assert found.record_error.quality == pytest.approx(0.673953470, abs=1e-9)


def test_reference_section_7_item_5_one_quasi_identifier_as_arx_has_it():
    found = quality_measures(e1((1,), "A"), arx=True).attributes[0]
    assert (found.granularity.quality, found.intensity.quality) == (0.0, 0.0)
    assert found.entropy.quality == pytest.approx(0.507369390, abs=1e-9)
    assert found.squared_error.quality == pytest.approx(0.973821990, abs=1e-9)


@given(cases())
@settings(max_examples=150)
def test_measures_agree_with_the_slow_twins(case: Case):
    found = quality_measures(case.comparison)
    assert case.comparison.suppressed.tolist() == case.attributes[0].gone
    for each, twin in zip(found.attributes, case.attributes, strict=True):
        for measure in ("granularity", "intensity", "entropy", "squared_error"):
            value = getattr(each, measure)
            expected = getattr(twin, measure)()
            assert (value.value, value.minimum, value.maximum) == pytest.approx(expected, abs=1e-9), measure
            assert value.quality == pytest.approx(twins.quality(*expected), abs=1e-6)
        assert each.missings == pytest.approx(twin.missings())
        assert each.missings_before == sum(key in (None, "*") for key in twin.keys) / len(twin.keys)
    for measure in ("discernibility", "class_size", "ambiguity", "record_error"):
        value = getattr(found, measure)
        expected = getattr(twins, measure)(case.attributes)
        assert (value.value, value.minimum, value.maximum) == pytest.approx(expected, abs=1e-9), measure
    assert found.sse_sst == pytest.approx(twins.sse_sst(case.attributes), abs=1e-9)


@given(cases())
@settings(max_examples=60)
def test_a_table_compared_with_itself_has_lost_nothing(case: Case):
    table = case.comparison.original
    hierarchies = {name: column.cells.hierarchy for name, column in case.comparison.columns.items()}
    for arx in (False, True):
        found = quality_measures(Comparison(table, table, hierarchies), arx=arx)
        assert set(found.overall.values()) == {1.0}


@given(cases())
@settings(max_examples=60)
def test_a_release_without_any_record_has_lost_everything_that_can_be_lost(case: Case):
    table = case.comparison.original
    hierarchies = {name: column.cells.hierarchy for name, column in case.comparison.columns.items()}
    found = quality_measures(Comparison(table, table.slice(0, 0), hierarchies, rows=[]))
    for each in found.attributes:
        assert each.missings == 1.0
        for measure in (each.granularity, each.intensity, each.entropy, each.squared_error):
            assert measure.value == pytest.approx(measure.maximum)
    for measure in (found.discernibility, found.class_size, found.ambiguity, found.record_error):
        assert measure.value == pytest.approx(measure.maximum)


@pytest.mark.parametrize("levels", [(0, 0, 0), (1, 0, 1), (1, 1, 1), (2, 0, 3), (1, 1, 3)])
def test_measures_agree_with_the_scores_of_the_search(levels):
    """Two roads to the same numbers: from the classes during the search, from the cells of both tables here."""
    release = veil.anonymize(
        E1,
        quasi_identifiers=TABLES,
        models=KAnonymity(2),
        suppression_limit=1.0,
        quality=q.Loss("arithmetic_mean"),
        order="input",
    ).search.apply(levels)
    found = quality_measures(Comparison.of(release))
    assert 1 - found.aggregate("granularity", normalized=True) == pytest.approx(release.score, abs=1e-9)
    for model, measure in ((q.Discernibility(), found.discernibility), (q.Ambiguity(), found.ambiguity)):
        again = veil.anonymize(
            E1,
            quasi_identifiers=TABLES,
            models=KAnonymity(2),
            suppression_limit=1.0,
            quality=model,
            order="input",
        )
        assert measure.value == pytest.approx(again.search.apply(levels).score)
