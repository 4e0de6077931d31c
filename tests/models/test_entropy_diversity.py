"""Entropy l-diversity: worked values, the oracle, and close calls."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle
from support.judging import (
    agrees_with_the_oracle,
    often,
    problem_of,
    publish,
    rejected_classes,
    strongest_is_the_boundary,
    suppressed_rows,
)
from support.samples import sample_of
from veil.base.exact import entropy_reaches
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models.entropy_diversity import EntropyLDiversity, _grassberger
from veil.quality import Loss

ALL = set(range(10))


BIG = {3, 4, 5, 6, 8}


@pytest.mark.parametrize(
    ("l", "estimator", "rows"),
    [
        (2.82, "shannon", {3}),
        (2.83, "shannon", BIG),
        (2.88, "shannon", ALL),
        (2.9, "grassberger", {3}),
        (3.0, "grassberger", {0, 1, 2, 3, 7, 9}),
    ],
)
def test_entropy_on_the_example(l, estimator, rows):
    assert suppressed_rows(EntropyLDiversity("S", l, estimator)) == rows


def test_grassbergers_estimator_is_not_monotone_at_all():
    model = EntropyLDiversity("S", 2, "grassberger")
    problem = problem_of({"a": 1, "b": 1}, {"a": 1, "b": 1})
    assert suppressed_rows(model, problem, (0,)) == set()
    assert suppressed_rows(model, problem, (1,)) == {0, 1, 2, 3}
    assert not model.monotone_generalization
    assert EntropyLDiversity("S", 2).monotone_generalization
    assert not EntropyLDiversity.monotone_generalization
    found = Search(Evaluator(sample_of(problem), [model], Loss(), 0), (0,), (1,)).run(Optimal())
    assert found.best is not None
    assert found.best.levels == (0,)


columns = st.sampled_from(["S", "T"])


@pytest.mark.parametrize("estimator", ["Shannon", "Grassberger"])
def test_entropy_agrees(estimator):
    levels = st.sampled_from([1, 1.0001, 1.5, 1.89, 2, 2.5, 2.9, 3, 4]) | st.floats(1, 5, allow_nan=False)
    asked = st.builds(oracle.EntropyLDiversity, columns, levels, st.just(estimator))
    agrees_with_the_oracle(
        lambda problem: asked.map(lambda m: (m, EntropyLDiversity(m.attribute, m.l, estimator.lower())))
    )


def test_strongest_entropy():
    def at(strength, l):
        estimator = "Grassberger" if strength.parameter == "l (grassberger)" else "Shannon"
        assert strength.parameter in ("l", "l (grassberger)")
        return oracle.EntropyLDiversity("S", l, estimator)

    strongest_is_the_boundary(EntropyLDiversity, "S", at, lambda l: l * (1 + 1e-12))


def test_an_entropy_that_equals_its_bound():
    """Counts 4, 1, 1, 1, 1 have two bits although they are not equal."""
    problem = problem_of(dict(zip("abcde", [4, 1, 1, 1, 1], strict=True)))
    sample = sample_of(problem)
    assert rejected_classes(EntropyLDiversity("S", 4), sample, (0,)) == [False]
    assert rejected_classes(EntropyLDiversity("S", 4.000000000000001), sample, (0,)) == [True]
    published = publish(problem, (0,))
    assert EntropyLDiversity("S", 4).verify(published).holds
    assert not EntropyLDiversity("S", 4.000000000000001).verify(published).holds
    assert EntropyLDiversity.strongest(published, ["S"])[0].value == 4


@settings(often, max_examples=60)
@given(
    st.lists(st.integers(1, 3000), min_size=2, max_size=6),
    st.sampled_from(["shannon", "grassberger"]),
    st.data(),
)
def test_entropies_next_to_their_bound(numbers, estimator, data):
    """The double next to exp(entropy), from both sides, is decided like the oracle does."""
    theirs = estimator.capitalize()
    problem = problem_of({"abcdef"[i]: n for i, n in enumerate(numbers)})
    sample = sample_of(problem)
    log = np.log if estimator == "shannon" else _grassberger
    size = sum(numbers)
    entropy = log(np.array([size]))[0] - sum(n * log(np.array([n]))[0] for n in numbers) / size
    nearest = min(math.exp(entropy), len(numbers))
    l = data.draw(st.sampled_from([nearest, math.nextafter(nearest, 0), math.nextafter(nearest, 9)]))
    if 1 < l <= len(numbers):
        asked = oracle.EntropyLDiversity("S", l, theirs)
        truth = oracle.rejects(asked, problem, (0,), list(range(size)))
        assert rejected_classes(EntropyLDiversity("S", l, estimator), sample, (0,)) == [truth]
        assert EntropyLDiversity("S", l, estimator).verify(publish(problem, (0,))).holds == (not truth)


def test_g_is_what_grassberger_says():
    """Tabled up to 128 terms, a series beyond; both must be the sum of 2 / (2j - 1)."""
    counts = np.array([0, 1, 2, 3, 4, 255, 256, 257, 258, 259, 10**4, 10**6 + 1])
    truth = [math.fsum(2 / (2 * j - 1) for j in range(1, n // 2 + 1)) for n in counts.tolist()]
    assert _grassberger(counts) == pytest.approx(truth, rel=4e-16 * 4)
    # -gamma - ln 2 + G'(2) etc. from the reference: G(1) = -1.2703628454614782, G(2) = G(1) + 2.
    assert -np.euler_gamma - math.log(2) == pytest.approx(-1.2703628454614782, abs=1e-15)
    assert not entropy_reaches((2, 2), Fraction(2), "grassberger")
    assert entropy_reaches((1, 1), Fraction(2), "grassberger")
