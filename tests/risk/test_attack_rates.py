"""Rates of success, with their intervals."""

from __future__ import annotations

import math

import pytest

from veil.risk.attack_rates import SuccessRate, TriedAttack


@pytest.mark.parametrize(("successes", "attempts"), [(0, 10), (3, 10), (10, 10), (250, 2000)])
def test_intervals_are_wilsons(successes, attempts):
    """Its ends solve |rate - p| = z sqrt(p (1 - p) / n)."""
    rate = SuccessRate(successes, attempts)
    for p in (rate.low, rate.high):
        if 0 < p < 1:
            distance = abs(successes / attempts - p)
            assert distance == pytest.approx(1.959964 * math.sqrt(p * (1 - p) / attempts), rel=1e-4)
    assert 0 <= rate.low <= rate.share <= rate.high <= 1
    nothing = SuccessRate(0, 0)
    assert (nothing.low, nothing.high) == pytest.approx((0, 1))  # nothing was tried, nothing is known


def test_what_works_with_everybody_is_not_seen_as_a_leak():
    good = SuccessRate(900, 1000)
    assert not TriedAttack("inference", "s", good, good, SuccessRate(1, 1000)).is_seen
    weak = TriedAttack("inference", "s", good, SuccessRate(100, 1000), SuccessRate(100, 1000))
    value, low, high = weak.excess
    assert weak.is_seen
    assert low < value < high
    assert value == pytest.approx(8 / 9, abs=0.01)
    assert not TriedAttack("inference", "s", good, SuccessRate(100, 1000), SuccessRate(950, 1000)).is_seen
