"""The slide negative binomial model, on simulated populations."""

from __future__ import annotations

import numpy as np
import pytest

from veil.population import estimate


@pytest.mark.parametrize("fraction", [0.5, 0.6, 0.7, 0.8, 0.95])
@pytest.mark.parametrize("of_population", [(10_000, 1.0, 0.5), (12_000, 0.5, 0.25), (8_000, 0.8, 0.5)])
def test_the_slide_negative_binomial_finds_the_uniques_of_simulated_populations(of_population, fraction):
    """Populations as the model has them. By ARX's equations there is no estimate at all up to 0.7, or one of half."""
    classes, a, b = of_population
    draw = np.random.default_rng(1)
    people = 1 + draw.negative_binomial(a, b, classes)
    population, unique = int(people.sum()), int((people == 1).sum())
    sample = draw.permutation(np.repeat(np.arange(classes), people))[: round(fraction * population)]
    sizes, counts = np.unique(np.unique(sample, return_counts=True)[1], return_counts=True)
    found = estimate("snb", sizes, counts, population)
    assert found.available
    assert found.uniques == pytest.approx(unique, rel=0.05 if fraction < 0.8 else 0.025)
    theirs = estimate("snb", sizes, counts, population, like_arx=True)
    assert theirs.available == (fraction == 0.95) or theirs.uniques < 0.95 * unique
    rule = estimate("dankar", sizes, counts, population)
    simple = estimate("zayatz", sizes, counts, population)
    assert rule.uniques == min(found.uniques, simple.uniques)
