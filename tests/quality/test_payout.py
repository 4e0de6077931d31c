"""Publisher payout: worked values of the reference on E1."""

from __future__ import annotations

import pytest

from support.quality import FACTORS, near, score
from support.samples import E1_SUBSET
from veil import quality as q


@pytest.mark.parametrize(
    ("factor", "expected"), list(zip(FACTORS, (678.223284476, 628.223284476, 389.111642238), strict=True))
)
def test_publisher_payout(factor, expected):
    model = q.PublisherPayout(benefit=100, publisher_loss=80, adversary_gain=60, cost=21, factor=factor)
    assert score(model) == near((expected,))


def test_journalist_counts_people_outside_the_subset():
    # At the original levels the only class of two in the subset is {0, 9}; at (2, 1, 3) everyone is one class.
    prosecutor = q.PublisherPayout(False, 100, 80, 60, 8)
    journalist = q.PublisherPayout(True, 100, 80, 60, 8)
    top = (2, 1, 3)
    assert score(prosecutor, top, E1_SUBSET) == near((600 + 80,))  # 60/6 > 8: six records at 80/6 each
    assert score(journalist, top, E1_SUBSET) == near((600,))  # 60/10 < 8: nobody attacks
    assert score(prosecutor, top) == score(journalist, top) == near((1000,))
