"""What the verifier accepts as an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from veil.population import confirm as certificate
from veil.population import estimate
from veil.population.confirm import confirm_estimate

SIZES, COUNTS = np.array([1, 2, 3, 4, 5, 6]), np.array([247, 64, 33, 10, 3, 1])


@pytest.mark.parametrize("estimator", ["dankar", "pitman", "zayatz", "snb"])
@pytest.mark.parametrize("population", [535, 592, 5350, 10**6])
def test_what_is_right_is_confirmed(estimator, population):
    assert confirm_estimate(estimator, SIZES, COUNTS, population) == estimate(
        estimator, SIZES, COUNTS, population
    )


@pytest.mark.parametrize("estimator", ["pitman", "snb"])
def test_what_is_no_root_is_not(monkeypatch, estimator):
    name = f"{estimator}_solution"
    solve = getattr(certificate, name)

    def almost(*arguments):
        *rest, last = solve(*arguments)
        return (*rest, last * (1 + 1e-5))

    monkeypatch.setattr(certificate, name, almost)
    population = 592 if estimator == "snb" else 10**6
    assert estimate(estimator, SIZES, COUNTS, population).available
    assert not confirm_estimate(estimator, SIZES, COUNTS, population).available


def test_a_wrong_number_is_not(monkeypatch):
    found = estimate("zayatz", SIZES, COUNTS, 10**6)
    monkeypatch.setattr(certificate, "estimate", lambda *_: found._replace(uniques=found.uniques * 1.001))
    assert not confirm_estimate("zayatz", SIZES, COUNTS, 10**6).available


def test_nobody_is_unique():
    assert confirm_estimate("dankar", SIZES[1:], COUNTS[1:], 10**6).available
    assert confirm_estimate("dankar", SIZES[:0], COUNTS[:0], 10**6).available
