"""What follows for sizes of classes, and from them."""

from __future__ import annotations

from veil import (
    KAnonymity,
    KMap,
    Profitability,
)
from veil.models.implication import consequences, implied
from veil.models.subset import Where

SUBSET_OF = Where("released = 'yes'")


def test_profitability_and_sizes_are_the_same() -> None:
    paying = Profitability(no_attack=True, adversary_gain=300, cost=4)
    assert consequences([paying])[0] == KAnonymity(76)
    assert implied([KAnonymity(76)], paying)
    assert implied([KAnonymity(75)], paying) is None
    journalist = Profitability("journalist", True, adversary_gain=300, cost=4, subset=SUBSET_OF)
    assert KMap(76, subset=SUBSET_OF) in consequences([journalist])
    assert implied([KMap(76, subset=SUBSET_OF)], journalist)
    assert implied([KMap(76, subset=SUBSET_OF)], paying) is None
