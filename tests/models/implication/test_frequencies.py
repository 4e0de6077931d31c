"""What follows from and for the frequencies of values."""

from __future__ import annotations

from typing import Any

import pytest

from support.realdata import needs_data, source
from veil import (
    BetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    TCloseness,
)
from veil.models import PrivacyModel
from veil.models.implication import ValueFrequencies, consequences


@needs_data
def test_the_figures_of_adult() -> None:
    occupation = ValueFrequencies.of(source("adult").table["occupation"].to_pylist())
    known = {"occupation": occupation}

    def strongest(premises: list[PrivacyModel]) -> dict[str, Any]:
        return {type(each).__name__: each for each in consequences(premises, known)}

    close = strongest([TCloseness("occupation", 0.2)])
    assert close["DistinctLDiversity"].l == 7
    assert close["EntropyLDiversity"].l == pytest.approx(2.995114, abs=5e-7)
    like = strongest([BetaLikeness("occupation", 1)])
    assert (like["DistinctLDiversity"].l, like["TCloseness"].t) == (4, 0.5)
    textbook = strongest([DeltaDisclosure("occupation", 1), DistinctLDiversity("occupation", occupation.m)])
    assert textbook["KAnonymity"].k == 1676
    assert textbook["TCloseness"].t == pytest.approx(1 / 3, abs=1e-15)


def test_distances_next_to_nothing_are_settled_at_once() -> None:
    counts = {"ill": ValueFrequencies((3, 2, 1))}
    for t in (0.0, 5e-324, 1e-300, 1e-17, 7e-10, 0.16):
        (found,) = [
            each for each in consequences([TCloseness("ill", t)], counts) if isinstance(each, DeltaDisclosure)
        ]
        assert found.delta > 0
        assert found.delta <= max(40 * t, 2e-9)
