"""What follows for the number of values in a class."""

from __future__ import annotations

from veil import (
    AlphaKAnonymity,
    EntropyLDiversity,
    KAnonymity,
)
from veil.models.implication import consequences


def test_alpha_k_gives_k_and_entropy() -> None:
    found = consequences([AlphaKAnonymity("ill", 0.25, 8)])
    assert KAnonymity(8) in found
    assert EntropyLDiversity("ill", 4.0) in found
    some = consequences([AlphaKAnonymity("ill", 0.25, 8, values=["HIV"])])
    assert not any(isinstance(each, EntropyLDiversity) for each in some)
