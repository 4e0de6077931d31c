"""Distinction and separation: worked values, the definition, limits, and more columns than a word holds."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk import twins
from support.risk.tables import E1, NAMES, generalized, often, published, seeded, suppressed, tables
from veil.errors import ParameterError, PlanError
from veil.published.table import Published
from veil.risk import attribute_risks
from veil.tables.rows import Rows


def test_reference_7_2_distinction_and_separation():
    found = {
        "".join(each.columns): (each.distinction, each.separation) for each in attribute_risks(E1, NAMES)
    }
    expected = {
        "G": (0.2, 0.555555556),
        "Z": (0.4, 0.8),
        "A": (0.4, 0.822222222),
        "AZ": (0.5, 0.866666667),
        "AGZ": (0.9, 0.977777778),
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=1e-9)
    assert len(found) == 7


def test_reference_2_ranking():
    found = attribute_risks(E1, NAMES)
    keys = [(len(each.columns), each.distinction, each.separation, each.columns) for each in found]
    assert keys == sorted(keys)
    assert ["".join(each.columns) for each in found][:3] == ["G", "Z", "A"]


@often
@given(tables(max_width=5), st.integers(1, 6))
def test_attribute_risks_agree_with_the_definition(table, largest):
    rows, width = table
    found = {each.columns: each for each in attribute_risks(published(rows, width), largest=largest)}
    kept = twins.shown(rows)
    chosen = twins.subsets(width, largest)
    assert len(found) == len(chosen)
    for columns in chosen:
        distinction, separation = twins.separation(kept, columns)
        each = found[tuple(f"q{j}" for j in columns)]
        assert each.distinction == float(distinction)
        assert each.separation == pytest.approx(float(separation), rel=1e-14)


def test_records_that_show_nothing_in_a_subset_do_not_count_for_it():
    found = {each.columns: each for each in attribute_risks(suppressed(generalized(sex=True), {3}), NAMES)}
    assert (found[("G",)].distinction, found[("G",)].separation) == (0, 0)  # `*` everywhere
    assert found[("A", "G")].distinction == 2 / 9


def test_missing_values_of_an_untouched_table_are_values():
    table = pa.table({"a": pa.array([None, None, 1, 2], pa.int64()), "b": [1, 2, 3, 4]})
    assert {each.columns: each.distinction for each in attribute_risks(table, ["a", "b"])}[("a",)] == 1
    found = attribute_risks(table, ["a", "b"], untouched=True)
    assert {each.columns: each.distinction for each in found}[("a",)] == 0.75
    flagged = table.append_column("suppressed", pa.array([False] * 4))
    found = attribute_risks(flagged, ["a", "b"])  # the flag says that nothing is suppressed
    assert {each.columns: each.distinction for each in found}[("a",)] == 0.75


def test_too_many_subsets_are_refused_with_the_way_out():
    table = seeded(5, 30, 2, 1)
    with refused(ParameterError, "Give `largest`", "most 6"):
        attribute_risks(table, table.column_names)
    assert len(attribute_risks(table, table.column_names, largest=1)) == 30
    with refused(ParameterError, "`largest`", "least 1", "not 0"):
        attribute_risks(table, table.column_names, largest=0)


def test_columns_are_checked():
    with refused(PlanError, "no column 'q9'", "'q0', 'q1', 'q2'"):
        attribute_risks(seeded(5, 3, 2, 1), ["q0", "q9"])
    with refused(PlanError, "'q0'", "named twice"):
        attribute_risks(seeded(5, 3, 2, 1), ["q0", "q0"])
    with refused(PlanError, "at least one"):
        attribute_risks(seeded(5, 3, 2, 1), [])
    with refused(PlanError, "`quasi_identifiers`", "published table"):
        attribute_risks(Published(Rows.of(E1), NAMES), ["A"])
    assert len(attribute_risks(Published(Rows.of(E1), NAMES), NAMES)) == 7
