"""The optimality gap of a score, as a number and in words."""

from __future__ import annotations

import itertools
import math

from veil.base.wording import Phrase
from veil.quality.base import Score


def gap_to_optimum(score: float | Score, bound: float | Score | None) -> float | None:
    """Return the share of a score by which the best one may lie below it; None without a bound.

    The best score lies between `bound` and `score`, so the share is (score - bound) / score, from 0 (nothing
    is better) to 1 (the best score may be zero). Scores are losses, which are never negative: a bound below
    zero, due to rounding, counts as zero. Scores of several numbers differ by the first number in which score
    and bound differ; after a bound below zero, all further bounds are zero.

    >>> gap_to_optimum(0.8, 0.6), gap_to_optimum(0.8, -0.1), gap_to_optimum(0.8, None)
    (0.25000000000000006, 1.0, None)
    """
    scores = score if isinstance(score, tuple) else (score,)
    bounds = bound if isinstance(bound, tuple) else (-math.inf if bound is None else bound,)
    if not bounds[0] > -math.inf:
        return None
    valid_bounds = itertools.takewhile(lambda number: number >= 0, bounds)
    for reached, least in zip(scores, itertools.chain(valid_bounds, itertools.repeat(0.0)), strict=False):
        if not reached >= 0:
            return None
        if reached != least:
            return 0.0 if reached < least else 1.0 if math.isinf(reached) else (reached - least) / reached
    return 0.0


def gap_in_words(gap: float) -> str:
    """Return a phrase on how much better the best score may be, rounded up to the safe side.

    >>> gap_in_words(0.9563), gap_in_words(0.00001), gap_in_words(1.0), gap_in_words(0.0)
    ('the best score may be up to 95.7 % lower', '... 0.1 % lower', '... 100 % lower', 'no score is better')
    """
    if gap == 0:
        return "no score is better"
    share = f"{min(math.ceil(1000 * gap), 1000) / 10:g} %"
    return Phrase("the best score may be up to {share} lower", share=share)
