"""Samples of the reference as numbers of classes by size, and helpers to compare estimates."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from support.oracle import population as twin
from veil.population.pitman import pitman_solution
from veil.population.zayatz import exact_zayatz

FIRST = {1: 50, 2: 20, 3: 10, 5: 4}


FOURTH = {1: 247, 2: 64, 3: 33, 4: 10, 5: 3, 6: 1}


FIFTH = {1: 305, 2: 186, 3: 103, 4: 63, 5: 42, 6: 21, 7: 16, 8: 9, 9: 5, 10: 3, 11: 2, 12: 1, 13: 1}


SIXTH = {1: 10, 2: 10, 3: 10}


FAR = 1e4
"""A theta that no small table has."""


def arrays(histogram):
    sizes = sorted(histogram)
    return np.array(sizes), np.array([histogram[size] for size in sizes])


def exactly(histogram, population):
    above, below = exact_zayatz(*arrays(histogram), population)
    return Fraction(int(above), int(below))


def one_runs_away(histogram, like_arx):
    """Whether one of both solvers ends far out, where rounding errors decide which way it went, as for 1:10, 2:4, 5:1."""
    theirs = twin.pitman_solution(histogram, like_arx)
    found, ours, _ = pitman_solution(*arrays(histogram), like_arx)
    return (theirs is not None and theirs[0] > FAR) or (found and ours > FAR)


@st.composite
def histograms(draw, max_size=12):
    sizes = draw(st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 4, 5, 7, max_size]), min_size=1, max_size=60))
    return dict(sorted(Counter([1, *sizes]).items()))
