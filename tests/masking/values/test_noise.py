"""Noise addition: the draws by the formula, and what happens to moments. Wrong scales would be noticed."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.errors import InputError, ParameterError
from veil.masking import CorrelatedNoise, UncorrelatedNoise

LINE = {"x1": list(range(-5, 6)), "x2": list(range(-5, 6))}


def correlated(size=40_000):
    draws = np.random.default_rng(6)
    first = draws.normal(10, 2, size)
    second = 3 * first + draws.normal(0, 4, size)
    return {"a": first, "b": second}


def moments(table):
    values = np.array([table["a"], table["b"]])
    return values.mean(axis=1), np.cov(values)


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=20).filter(lambda values: len(set(values)) > 1),
    st.floats(0.01, 2),
    st.integers(0, 99),
)
def test_uncorrelated_noise_by_its_formula(values, alpha, seed):
    draws = Randomness.for_testing(seed).normal(len(values)).tolist()
    spread = math.sqrt(alpha * statistics.variance(values))
    expected = [value + spread * draw for value, draw in zip(values, draws, strict=True)]
    made = masked(UncorrelatedNoise("x", alpha), {"x": values}, seed)["x"]
    assert made == pytest.approx(expected)
    # One column has no other to be correlated with; only the sign of the draws is free.
    single = masked(CorrelatedNoise("x", alpha), {"x": values}, seed)["x"]
    mirrored = [value - spread * draw for value, draw in zip(values, draws, strict=True)]
    assert single == pytest.approx(expected) or single == pytest.approx(mirrored)


def test_lecture_gerl_noise_on_a_line():
    """Eleven points on a line: every point moves, the two columns independently."""
    made = masked(UncorrelatedNoise(["x1", "x2"], 0.01), LINE, seed=7)
    moved = np.array([made["x1"], made["x2"]]) - np.array([LINE["x1"], LINE["x2"]])
    assert (moved != 0).all()
    assert np.abs(moved).max() < 5 * math.sqrt(0.01 * 11)
    assert not np.allclose(moved[0], moved[1])


def test_lecture_gerl_properties_of_uncorrelated_noise():
    """Means and covariances stay, variances grow by 1 + α, correlations shrink by it."""
    table, alpha = correlated(), 0.5
    mean, cov = moments(table)
    new_mean, new_cov = moments(masked(UncorrelatedNoise(["a", "b"], alpha), table, seed=8))
    assert new_mean == pytest.approx(mean, abs=0.15)
    assert new_cov[0, 1] == pytest.approx(cov[0, 1], rel=0.05)
    assert np.diag(new_cov) == pytest.approx((1 + alpha) * np.diag(cov), rel=0.03)
    rho = cov[0, 1] / math.sqrt(cov[0, 0] * cov[1, 1])
    new_rho = new_cov[0, 1] / math.sqrt(new_cov[0, 0] * new_cov[1, 1])
    assert new_rho == pytest.approx(rho / (1 + alpha), abs=0.02)


def test_correlated_noise_keeps_correlations():
    table, alpha = correlated(), 0.5
    mean, cov = moments(table)
    new_mean, new_cov = moments(masked(CorrelatedNoise(["a", "b"], alpha), table, seed=9))
    assert new_mean == pytest.approx(mean, abs=0.15)
    assert new_cov == pytest.approx((1 + alpha) * cov, rel=0.03)


def test_kim_1986_the_linear_transform_keeps_covariances():
    table, alpha = correlated(), 0.5
    mean, cov = moments(table)
    made = masked(CorrelatedNoise(["a", "b"], alpha, transformed=True), table, seed=10)
    new_mean, new_cov = moments(made)
    assert new_mean == pytest.approx(mean, abs=0.15)
    assert new_cov == pytest.approx(cov, rel=0.03)
    assert np.abs(made["a"] - table["a"]).mean() > 0.5


def test_columns_that_determine_each_other_get_noise_that_does_too():
    table = {"a": [1.0, 2.0, 4.0], "b": [2.0, 4.0, 8.0]}
    made = masked(CorrelatedNoise(["a", "b"], 0.3), table)
    assert made["b"] == pytest.approx([2 * each for each in made["a"]], abs=1e-6)


def test_other_columns_stay():
    made = outcome(UncorrelatedNoise("x1", 0.1), LINE).table
    assert made["x2"].to_pylist() == LINE["x2"]
    assert made.schema.types == [pa.float64(), pa.int64()]


@pytest.mark.parametrize("method", [UncorrelatedNoise, CorrelatedNoise])
def test_bad_input(method):
    with refused(ParameterError, "`alpha`", method.__name__, "not 0"):
        method("x", 0)
    with refused(ParameterError, "`alpha`", method.__name__, "not nan"):
        method("x", math.nan)
    for values, message in (
        ([1.0, None], "column 'x' has no value in row 2. Drop such rows, or fill them in first"),
        ([math.nan, 1.0], "column 'x' has no value in row 1"),
        ([1.0, -math.inf], "column 'x' holds -inf in row 2"),
        ([3, 3, 3], "column 'x' has the same value in every row"),
        (["a", "b"], "column 'x' holds values of type string, and numbers are needed"),
        ([1.0], "a single record has none"),
    ):
        with pytest.raises(InputError, match=message):
            outcome(method("x", 0.1), {"x": values})
