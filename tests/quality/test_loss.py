"""Loss: worked values of the reference on E1, and of the lecture of A. Gerl."""

from __future__ import annotations

import pytest

from support.illnesses import score as score_of_illness
from support.quality import near, score, vector
from veil import quality as q


@pytest.mark.parametrize(
    ("factor", "expected", "geometric"),
    [
        (0.5, (0.3249999999, 0.1, 0.4), 0.268368749014),
        (0.25, (0.2875, 0.05, 0.3666666666), 0.227061640111),
        (0.75, (0.1999999999, 0.1, 0.2285714285), 0.174874417962),
    ],
)
def test_loss(factor, expected, geometric):
    assert vector(q.Loss(factor=factor)) == near(list(expected))
    assert score(q.Loss(factor=factor)) == near((geometric,))


@pytest.mark.parametrize(
    ("illness", "level", "loss"), [("HIV", 1, 0.25), ("common cold", 1, 0), ("HIV", 2, 1), ("HIV", 0, 0)]
)
def test_lecture_gerl_loss_of_25_percent(illness, level, loss):
    """(M_P - 1) / (M - 1): one of the four other illnesses is a virus infection, too."""
    assert score_of_illness(illness, q.Loss(), level) == pytest.approx(loss, abs=1e-9)
