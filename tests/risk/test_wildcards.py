"""Suppressed cells match everything: worked values, the definition, many patterns, many columns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk import twins
from support.risk.tables import often, published, seeded, sometimes, tables
from veil.errors import ParameterError
from veil.published.matching import matches as matches_one_by_one
from veil.published.table import Published
from veil.risk import wildcard_risk
from veil.risk.grouping import group_records
from veil.risk.wildcards import matches, sum_matches
from veil.tables.rows import Rows

THRESHOLDS = st.sampled_from([0, 0.051, 0.2, 0.3, 0.33, 0.3333, 0.34, 0.5, 1])


def test_reference_7_7_wildcards():
    rows = [("1", "x"), ("1", "x"), ("1", "*"), ("*", "x"), ("2", "y"), ("*", "*")]
    found = wildcard_risk(published(rows, 2), threshold=0.3)
    assert (found.at_risk, found.highest, found.lowest, found.records) == (0.2, 1, 0.25, 5)
    assert found.average == pytest.approx(0.4)


@often
@given(tables(), THRESHOLDS)
def test_wildcards_agree_with_the_definition(table, threshold):
    rows, width = table
    found = wildcard_risk(published(rows, width), threshold=threshold)
    for name, value in twins.wildcards(rows, Fraction(str(threshold))).items():
        assert getattr(found, name) == pytest.approx(float(value), rel=1e-12), name


def local_suppression(rows: int, columns: int, share: float, seed: int) -> pa.Table:
    """A table of few values in which cells are suppressed here and there."""
    rng = np.random.default_rng(seed)
    table = seeded(rows, columns, 3, seed)
    return pa.table(
        {
            name: pa.array(np.where(rng.random(rows) < share, "*", np.array(table[name]).astype(str)))
            for name in table.column_names
        }
    )


@pytest.mark.parametrize(
    ("rows", "columns", "share"), [(3000, 5, 0.1), (600, 30, 0.05), (600, 4, 0.6), (900, 70, 0.02)]
)
def test_hash_tables_find_what_comparing_rows_finds(rows, columns, share):
    """Few patterns of many rows, many patterns of few rows, and more columns than a machine word holds."""
    made = group_records(
        Published(Rows.of(local_suppression(rows, columns, share, 5)), [f"q{j}" for j in range(columns)])
    )
    codes = np.where(made.blank, -1, made.codes).astype(np.int32)
    repeated = np.repeat(codes, made.sizes, axis=0)
    crowd, whole, partial = matches_one_by_one(repeated)
    expected = np.empty(len(repeated), np.int64)
    expected[crowd.partial] = partial
    full = crowd.of_row >= 0
    expected[full] = whole[crowd.of_row[full]]
    assert np.repeat(matches(made), made.sizes).tolist() == expected.tolist()


@sometimes
@given(tables(min_rows=1), st.data())
def test_amounts_add_up_over_matches(table, data):
    rows, width = table
    made = group_records(published(rows, width))
    amounts = data.draw(
        st.lists(st.integers(1, 9), min_size=made.sizes.size, max_size=made.sizes.size).map(np.array)
    ).astype(np.float64)
    kinds = list(dict.fromkeys(twins.shown(rows)))
    counts, sums = sum_matches(made, amounts)
    for at, one in enumerate(kinds):
        others = [each for each, other in enumerate(kinds) if twins.matching(one, other)]
        assert sums[at] == amounts[others].sum()
        assert counts[at] == made.sizes[others].sum()


def test_cells_that_cannot_hold_the_marker_are_suppressed_if_they_are_missing():
    table = pa.table({"age": [20, None, 30], "sex": ["f", "f", None]})
    assert matches(group_records(Published(Rows.of(table), ["age", "sex"]))).tolist() == [2, 2, 1]
    assert matches(group_records(Published(Rows.of(table), ["age", "sex"], marker=None))).tolist() == [
        2,
        3,
        2,
    ]
    untouched = group_records(Published(Rows.of(table), ["age", "sex"], suppressed="none"), untouched=True)
    assert matches(untouched).tolist() == [1, 1, 1]


def test_nothing_shown_is_no_risk():
    found = wildcard_risk(published([("*", "*")] * 3, 2))
    assert (found.highest, found.lowest, found.average, found.at_risk, found.records) == (0, 0, 0, 0, 0)
    with refused(ParameterError, "`threshold`", "0 to 1", "not -1"):
        wildcard_risk(published([("a",)], 1), threshold=-1)
