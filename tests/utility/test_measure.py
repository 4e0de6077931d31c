"""Measures and their aggregates, by hand."""

from __future__ import annotations

import pytest

from support.refusals import refused
from veil.errors import ParameterError
from veil.utility.measure import Measured, aggregate


def test_aggregates_by_hand():
    both = [Measured(1.0, 0.0, 1.0), Measured(1.0, 0.0, 3.0)]
    assert aggregate(both, "maximum") == pytest.approx(1 - 1 / 3)
    assert aggregate(both, "maximum", normalized=True) == 0.0
    assert aggregate(both, "geometric_mean") == pytest.approx(1 - (2 - 1) / (8**0.5 - 1))
    with refused(ParameterError, "`function`", "'arithmetic_mean'", "not 'median'"):
        aggregate(both, "median")  # type: ignore[arg-type]


def test_a_measure_with_nothing_to_lose_is_perfect():
    assert Measured(3.0, 3.0, 3.0).quality == 1.0
    assert Measured(5.0, 0.0, 4.0).quality == 0.0
    assert Measured(-1.0, 0.0, 4.0).quality == 1.0
