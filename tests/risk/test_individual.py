"""Individual and household risk: the values sdcMicro is tested with, high precision, and the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk import twins
from support.risk.tables import often, sometimes, table_of, tables
from veil.errors import InputError, ParameterError, PlanError
from veil.risk import analyze, household_risk, individual_risk
from veil.risk.individual import expected_inverses

WEIGHTS = [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0]
KEYS = {
    "A": [2, 3, 2, 2, 3, 3, 1, 2],
    "B": [3, 3, 3, 3, 3, 3, 4, 3],
    "C": [1, 3, 1, 2, 1, 1, 1, 1],
}
GAPS = {
    "A": [2, 3, 2, 2, 3, 3, 1, None],
    "B": [3, 3, 3, 3, 3, 3, 4, 3],
    "C": [1, 3, None, 2, 1, 1, None, 1],
}


@pytest.mark.parametrize(
    ("keys", "method", "risks"),
    [
        (KEYS, "approximate", [0.01369863, 0.08579129, 0.01369863, 0.17707583, 0.01877883, 0.01877883,
                               0.03931625, 0.01369863]),
        (KEYS, "exact", [0.01355297, 0.08579129, 0.01355297, 0.17707583, 0.01877883, 0.01877883,
                         0.03931625, 0.01355297]),
        (GAPS, "approximate", [0.013698630, 0.085791288, 0.010554090, 0.032466112, 0.009836066, 0.009836066,
                               0.039316254, 0.005973716]),
        (GAPS, "exact", [0.013552968, 0.085791288, 0.010504889, 0.032466112, 0.009756889, 0.009756889,
                         0.039316254, 0.005962551]),
    ],
)  # fmt: skip
def test_sdcmicro_values_with_weights(keys, method, risks):
    """What the tests of sdcMicro's `indivRisk` expect; a missing value matches every other."""
    table = pa.table({**keys, "weight": WEIGHTS})
    found = individual_risk(table, ["A", "B", "C"], weights="weight", method=method)
    assert found.risks.tolist() == pytest.approx(risks, rel=1e-6)
    assert found.expected == pytest.approx(sum(risks), rel=1e-6)
    assert found.rate == pytest.approx(sum(risks) / 8, rel=1e-6)


@pytest.mark.parametrize(
    ("keys", "sizes"), [(KEYS, [3, 1, 3, 1, 2, 2, 1, 3]), (GAPS, [3, 1, 4, 2, 3, 3, 1, 5])]
)
def test_sdcmicro_values_without_weights(keys, sizes):
    found = individual_risk(pa.table(keys), ["A", "B", "C"])
    assert found.frequencies.tolist() == sizes
    assert found.population_frequencies.tolist() == sizes
    assert found.risks.tolist() == [1 / size for size in sizes]


# --- the expectation of 1/F -----------------------------------------------------------------------


def precise(f: int, people: float) -> arb:
    """The published form with 2F1, in balls."""
    p = arb(f) / arb(fmpq(*people.as_integer_ratio()))
    return p**f / f * (1 - p).hypgeom_2f1(f, f, f + 1)


@often
@given(
    st.sampled_from([1, 2, 3, 4, 5, 7, 10, 20, 39, 40, 41, 60, 200, 3000]) | st.integers(1, 300),
    st.floats(-8, 6),
)
def test_risks_are_right_to_the_last_digits(f, exponent):
    people = f * (1 + 10.0**exponent)
    (found,) = expected_inverses(np.array([f]), np.array([people])).tolist()
    with ctx.workprec(400):
        assert abs(arb(found) / precise(f, people) - 1) < arb("4e-15")


@pytest.mark.parametrize(("f", "people"), [(1, 3.0), (2, 5.0), (3, 4.0), (4, 20.0), (7, 9.0)])
def test_the_risk_is_the_expectation_of_one_over_the_population_frequency(f, people):
    """Summed up as far as it matters, from the negative binomial distribution itself."""
    p = Fraction(f) / Fraction(people)
    total, chance = Fraction(0), p**f
    for h in range(f, f + 600):
        total += chance / h
        chance = chance * h * (1 - p) / (h + 1 - f)
        chance = chance.limit_denominator(10**40)  # or the numbers grow without end
    assert expected_inverses(np.array([f]), np.array([people]))[0] == pytest.approx(float(total), rel=1e-9)


@pytest.mark.parametrize("people", [3.5, 20.0, 1e5])
def test_franconi_polettini_closed_forms_for_small_frequencies(people):
    for f in (1, 2, 3):
        p = f / people
        q = 1 - p
        closed = {
            1: p / q * math.log(1 / p),
            2: p / q - (p / q) ** 2 * math.log(1 / p),
            3: p / (2 * q**3) * (q * (3 * q - 2) - 2 * p * p * math.log(p)),
        }
        found = expected_inverses(np.array([f]), np.array([people]))[0]
        assert found == pytest.approx(closed[f], rel=1e-9)


def test_a_complete_class_is_no_sample():
    found = expected_inverses(np.array([4, 4, 4]), np.array([4.0, 3.5, 4.0000001]))
    assert found[:2].tolist() == [0.25, 0.25]
    assert found[2] == pytest.approx(0.25, rel=1e-6)


def test_the_approximation_is_close_for_large_frequencies():
    f, people = np.array([3, 10, 100]), np.array([300.0, 1000.0, 10000.0])
    exact = expected_inverses(f, people)
    assert expected_inverses(f, people, "approximate") == pytest.approx(exact, rel=0.02)
    p = f / people
    assert expected_inverses(f, people, "approximate") == pytest.approx(p / (f - (1 - p)), rel=1e-12)


# --- tables ---------------------------------------------------------------------------------------


@sometimes
@given(tables(min_rows=1), st.data())
def test_frequencies_agree_with_the_definition(table, data):
    rows, width = table
    weights = data.draw(st.lists(st.sampled_from([1.0, 2.5, 40.0]), min_size=len(rows), max_size=len(rows)))
    source = table_of(rows, width).append_column("w", pa.array(weights))
    found = individual_risk(source, [f"q{j}" for j in range(width)], weights="w")
    for at, row in enumerate(rows):
        # Weights are shown of everybody, so that nobody is suppressed.
        mates = [other for other, each in enumerate(rows) if twins.matching(row, each)]
        assert found.frequencies[at] == len(mates)
        assert found.population_frequencies[at] == sum(weights[each] for each in mates)


@sometimes
@given(st.lists(st.tuples(st.sampled_from([0, 0.1, 0.5, 1]), st.integers(0, 4)), max_size=12))
def test_a_household_is_safe_if_everybody_is(members):
    numbers = {house: at for at, house in enumerate(dict.fromkeys(house for _, house in members))}
    risks = np.array([risk for risk, _ in members], np.float64)
    found = household_risk(risks, np.array([numbers[house] for _, house in members], np.int64))
    chance = {
        house: 1 - math.prod(1 - risk for risk, other in members if other == house) for house in numbers
    }
    assert found.risks.tolist() == pytest.approx([chance[house] for _, house in members])
    assert found.expected == pytest.approx(sum(chance[house] for _, house in members))
    assert found.households == pytest.approx(sum(chance.values()))
    assert found.rate == pytest.approx(found.expected / max(1, len(members)))


def test_households_of_a_table():
    table = pa.table({"a": ["x", "x", "y", "*"], "home": ["h1", None, "h1", "h1"]})
    found = individual_risk(table, "a", household="home").household
    # Of three x, two y and four blanks, as a blank cell may be anything; who says nothing lives alone.
    assert found.risks == pytest.approx([0.75, 1 / 3, 0.75, 0.75])
    assert found.expected == pytest.approx(0.75 * 3 + 1 / 3)
    assert found.households == pytest.approx(0.75 + 1 / 3)
    assert individual_risk(table, "a").household is None


def test_weights_are_checked():
    keys = {"a": ["x", "y"]}
    with refused(InputError, "'w'", "weight 0", "row 2"):
        individual_risk(pa.table({**keys, "w": [1.0, 0.0]}), "a", weights="w")
    with refused(InputError, "'w'", "row 1", "no weight"):
        individual_risk(pa.table({**keys, "w": [None, 1.0]}), "a", weights="w")
    with refused(InputError, "sampling weights", "type str"):
        individual_risk(pa.table({**keys, "w": ["1", "2"]}), "a", weights="w")
    with refused(PlanError, "no column 'v'"):
        individual_risk(pa.table(keys), "a", weights="v")
    with refused(ParameterError, "`method`", "'exact'", "'approximate'", "not 'x'"):
        individual_risk(pa.table(keys), "a", method="x")


def test_the_summary_is_plain():
    table = pa.table({"a": ["x", "x", "y"], "w": [10, 20, 30], "h": [1, 1, 2]})
    found = individual_risk(table, "a", weights="w", household="h")
    summary = found.to_dict(threshold=0.1)
    assert summary["at_risk"] == 1 / 3
    assert summary["highest"] == found.risks.max()
    assert summary["household"]["households"] == found.household.households


@pytest.mark.parametrize("name", ["weights", "household"])
def test_values_instead_of_the_name_of_a_column_are_refused(name: str) -> None:
    table = pa.table({"age": [1, 1, 2], "w": [1.0, 2.0, 3.0]})
    for function in (individual_risk, analyze):
        with refused(PlanError, "not a ndarray"):
            function(table, ["age"], **{name: np.ones(3)})
