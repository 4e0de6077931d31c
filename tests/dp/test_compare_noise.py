"""Figures of kinds of noise, compared before anything is spent."""

from __future__ import annotations

import pytest

from veil.dp.compare_noise import compare_noise


def test_figures_are_compared_before_anything_is_spent() -> None:
    found = {each.noise: each for each in compare_noise(1, 1, "1e-6")}
    assert min(found.values(), key=lambda each: each.variance).noise == "staircase, best variance"
    assert min(found.values(), key=lambda each: each.interval).noise == "staircase, best interval"
    assert found["gaussian"].variance[0] == pytest.approx(4.2247**2, rel=1e-4)
    assert [each.noise for each in compare_noise([1, 2], 1, "1e-6")] == ["laplace", "step", "gaussian"]
    assert all(fact in str(found["laplace"]) for fact in ("variance 2", "error 1"))
