"""Weights and aggregation functions: from one number for each attribute to one score."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Literal

import numpy as np

from veil.base.arrays import Floats
from veil.errors import PlanError, did_you_mean
from veil.quality.base import Score

Function = Literal["sum", "maximum", "arithmetic_mean", "geometric_mean", "rank"]


class Ranked(tuple[float, ...]):
    """A rank score: weighted values in descending order, with the unweighted `values`."""

    values: tuple[float, ...]


class Aggregate:
    """Weighted aggregation of per-attribute values, which are never negative.

    Weights default to 0.5 and are divided by the largest one (all zero: all 1). Sums are rounded once, from
    the exact sum of their terms, so they neither depend on the order of attributes nor ever become smaller
    when a term grows.

    >>> Aggregate("arithmetic_mean", ["age", "sex"], {})([0.2, 0.4])
    (0.30000000000000004,)
    >>> Aggregate("rank", ["age", "sex"], {"age": 1, "sex": 2})([0.2, 0.4])
    (0.4, 0.1)
    """

    def __init__(self, function: Function, names: Sequence[str], weights: dict[str, float]) -> None:
        for name in weights:
            if name not in names:
                raise PlanError(
                    f"`weights` of the quality model names {name!r}, which is not a quasi-identifier.{did_you_mean(name, names)}"
                )
        raw = [float(weights.get(name, 0.5)) for name in names]
        largest = max(raw, default=0.0)
        self.function = function
        self.weights = [weight / largest for weight in raw] if largest > 0 else [1.0] * len(raw)

    def __call__(self, values: Sequence[float]) -> Score:
        """Aggregate one value for each attribute."""
        weighted = [value * weight for value, weight in zip(values, self.weights, strict=True)]
        if self.function == "rank":
            score = Ranked(sorted(weighted, reverse=True))
            score.values = tuple(values)
            return score
        if self.function == "sum":
            return (_sum(weighted),)
        if self.function == "maximum":
            return (max(0.0, *weighted),)
        if self.function == "arithmetic_mean":
            return (_sum(weighted) / len(weighted),)
        return (geometric_mean(weighted),)

    def bound(self, values: Sequence[float]) -> Score:
        """Aggregate lower bounds, so that rounding cannot lift the result above a score it bounds.

        Sums, products and maxima round monotonically. Powers need not, but libraries compute them to within
        one unit in the last place; the margin is four for each attribute.
        """
        score = self(values)
        if self.function != "geometric_mean":
            return score
        return (score[0] - (score[0] + 1.0) * 1e-15 * len(values),)

    def order(self, values: Floats) -> Floats:
        """Return one number for each column of values, in the order of their aggregates.

        Columns whose aggregates are equal up to rounding get the same number.
        """
        weighted = values * np.array(self.weights)[:, None]
        if self.function == "rank":
            _, places = np.unique(comparable(np.sort(weighted, axis=0)[::-1]), axis=1, return_inverse=True)
            return places.ravel().astype(np.float64)
        if self.function == "maximum":
            return comparable(weighted.max(axis=0))
        if self.function == "geometric_mean":
            return comparable(np.log1p(weighted).sum(axis=0))
        return comparable(weighted.sum(axis=0))

    def number(self, score: Score) -> float:
        """Return one number for a score, for display.

        For a rank score it is the geometric mean of its unweighted values.
        """
        if self.function != "rank":
            return score[0]
        return geometric_mean(score.values if isinstance(score, Ranked) else score)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of the values plus one, less one.

    >>> round(geometric_mean([0.0, 3.0]), 9)
    1.0
    """
    power = 1.0 / len(values)
    return math.prod([math.pow(value + 1.0, power) for value in values]) - 1.0


def comparable(numbers: Floats) -> Floats:
    """Round to forty binary digits, so that numbers that differ by rounding errors become equal."""
    mantissas, exponents = np.frexp(numbers)
    rounded: Floats = np.ldexp(np.round(np.ldexp(mantissas, 40)), exponents - 40)
    return rounded


def _sum(values: Sequence[float]) -> float:
    try:
        return math.fsum(values)
    except OverflowError:  # the largest double, as in ARX
        return sys.float_info.max
