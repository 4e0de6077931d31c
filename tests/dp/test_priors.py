"""Priors: combinations of weight 0, and bounds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from statistics import NormalDist

import pytest

from veil.base.randomness import Randomness
from veil.dp.priors import Prior
from veil.dp.refinement import Refinement

Chances = Mapping[Hashable, float]


def prior_chances(prior: Prior) -> Chances:
    return {x: w / prior.total for x, w in zip(prior.points, prior.weights, strict=True)}


def test_a_combination_of_prior_0_is_never_returned() -> None:
    """Tuples, and a distance that the caller gives; even if the truth is the impossible one."""
    chances = {("f", "pregnant"): "1/4", ("f", "not"): "1/4", ("m", "pregnant"): "0", ("m", "not"): "1/2"}
    prior = Prior.table(chances, lambda one, other: sum(a != b for a, b in zip(one, other, strict=True)))
    question = Refinement(prior, 2, about="individual")
    source = Randomness.for_testing(1)
    answers = {question.answer(("m", "pregnant"), source) for _ in range(300)}
    assert answers == {("f", "pregnant"), ("f", "not"), ("m", "not")}
    near = question.probabilities(("m", "pregnant"))
    assert near["f", "pregnant"] > 1 / 4 > near["f", "not"]  # one step away, and two


def test_distributions_are_cut_at_bounds() -> None:
    scipy = pytest.importorskip("scipy.stats")
    prior = Prior.cut(scipy.norm(50, 10), 0, 100, cells=1000)
    mean = math.fsum(float(x) * p for x, p in prior_chances(prior).items())  # type: ignore[arg-type]
    assert mean == pytest.approx(50, abs=1e-6)
    chances = Refinement(prior, 1, about="statistical").probabilities(70)
    assert math.fsum(float(x) * p for x, p in chances.items()) > 52  # type: ignore[arg-type]
    assert Prior.cut(NormalDist(50, 10), 0, 100, cells=1000).weights == pytest.approx(prior.weights, abs=50)
