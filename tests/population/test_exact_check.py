"""What the verifier accepts as an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from veil.population import estimate
from veil.population import exact_check as certificate
from veil.population.exact_check import confirm_estimate
from veil.population.pitman import ewens_theta

SIZES, COUNTS = np.array([1, 2, 3, 4, 5, 6]), np.array([247, 64, 33, 10, 3, 1])


@pytest.mark.parametrize("estimator", ["dankar", "pitman", "zayatz", "snb"])
@pytest.mark.parametrize("population", [535, 592, 5350, 10**6])
@pytest.mark.parametrize("like_arx", [False, True])
@pytest.mark.parametrize("largest", [6, 60])
def test_what_is_right_is_confirmed(estimator, population, like_arx, largest):
    sizes, population = np.array([*SIZES[:-1], largest]), population + largest - 6
    found = estimate(estimator, sizes, COUNTS, population, like_arx=like_arx)
    assert confirm_estimate(estimator, sizes, COUNTS, population, like_arx=like_arx) == found


@pytest.mark.parametrize("estimator", ["pitman", "snb"])
@pytest.mark.parametrize("like_arx", [False, True])
def test_what_is_no_root_is_not(monkeypatch, estimator, like_arx):
    name = f"{estimator}_solution"
    solve = getattr(certificate, name)

    def almost(*arguments):
        *rest, before, last = solve(*arguments)
        return (*rest, before * (1 + 1e-5), last * (1 + 1e-5))

    monkeypatch.setattr(certificate, name, almost)
    population = 592 if estimator == "snb" else 10**6
    assert estimate(estimator, SIZES, COUNTS, population, like_arx=like_arx).available
    assert not confirm_estimate(estimator, SIZES, COUNTS, population, like_arx=like_arx).available


def test_the_edge_is_not_confirmed_where_the_likelihood_rises_from_there(monkeypatch):
    sizes, counts = np.array([1, 3, 6]), np.array([200, 30, 10])
    assert estimate("pitman", sizes, counts, 35_000).available
    monkeypatch.setattr(certificate, "pitman_solution", lambda *_: (True, ewens_theta(350, 240), 0.0))
    assert not confirm_estimate("pitman", sizes, counts, 35_000).available


def test_a_wrong_number_is_not(monkeypatch):
    found = estimate("zayatz", SIZES, COUNTS, 10**6)
    monkeypatch.setattr(
        certificate, "estimate", lambda *_, like_arx: found._replace(uniques=found.uniques * 1.001)
    )
    assert not confirm_estimate("zayatz", SIZES, COUNTS, 10**6).available


def test_nobody_is_unique():
    assert confirm_estimate("dankar", SIZES[1:], COUNTS[1:], 10**6).available
    assert confirm_estimate("dankar", SIZES[:0], COUNTS[:0], 10**6).available
