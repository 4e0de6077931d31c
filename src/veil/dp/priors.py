"""Priors over the possible answers to a question, and the distances between answers.

A prior is a finite list of points with exact weights. One over an interval is cut into cells, each with its
middle as point, so that draws are exact and free of rounding. A prior must not come from the secret data.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, groupby, pairwise
from typing import Any, Literal

from veil.base.exact import decimal_fraction
from veil.dp.grid import exact_value
from veil.errors import ParameterError

Distance = Literal["absolute", "nominal", "ordinal"] | Callable[[Any, Any], float]
"""Distance of two answers: |x - y|, 0 or 1, the difference of their places, or the value of a function."""

_FINENESS = 2**52
_CELLS = 4096
_MOST_CELLS = 2**20


@dataclass(frozen=True)
class Prior:
    """Possible answers with whole-numbered weights, and their distances. See `table`, `uniform`, `cut`."""

    points: tuple[Hashable, ...]
    weights: tuple[int, ...] = field(repr=False)
    distance: Distance = "nominal"

    @classmethod
    def table(cls, chances: Mapping[Any, Any], distance: Distance = "nominal") -> Prior:
        """Return a prior from probabilities, which add up to exactly one. Points with 0 are never an answer.

        >>> Prior.table({"yes": 0.01, "no": 0.99}).weights
        (1, 99)
        """
        fractions = {point: _chance(point, each) for point, each in chances.items()}
        total = sum(fractions.values(), Fraction(0))
        if total != 1:
            raise ParameterError(f"the probabilities of the prior should add up to 1, not {_short(total)}")
        if not callable(distance) and distance not in ("absolute", "nominal", "ordinal"):
            raise ParameterError(
                f'`distance` should be "absolute", "nominal", "ordinal" or a function of two answers, not {distance!r}'
            )
        if distance == "absolute":
            for point in fractions:
                exact_value(point, "prior")
        common = math.lcm(*(each.denominator for each in fractions.values()))
        return cls(tuple(fractions), tuple(int(each * common) for each in fractions.values()), distance)

    @classmethod
    def uniform(cls, *range_or_points: Any, cells: int = _CELLS) -> Prior:
        """Return a uniform prior over an interval, given by its ends, or over some answers.

        >>> Prior.uniform(["a", "b"]).points, len(Prior.uniform(0, 1).points)
        (('a', 'b'), 4096)
        """
        if len(range_or_points) == 1:
            points = tuple(dict.fromkeys(range_or_points[0]))
            if not points:
                raise ParameterError("the prior has no answers: give at least one")
            return cls(points, (1,) * len(points))
        low, high = _ends(*range_or_points)
        return cls(_middles(low, high, _check_cells(cells)), (1,) * cells, "absolute")

    @classmethod
    def cut(cls, distribution: Any, low: float, high: float, *, cells: int = _CELLS) -> Prior:
        """Return a prior from a distribution with a `cdf`, such as those of scipy.stats, on a bounded range.

        >>> from statistics import NormalDist
        >>> round(sum(Prior.cut(NormalDist(50, 10), 0, 100).weights) / 2**52, 6)
        0.999999
        """
        start, end = _ends(low, high)
        width = (end - start) / _check_cells(cells)
        reached = [float(distribution.cdf(float(start + width * i))) for i in range(cells + 1)]
        weights = tuple(int((after - before) * _FINENESS) for before, after in pairwise(reached))
        if any(math.isnan(each) for each in reached) or min(weights) < 0 or sum(weights) <= 0:
            raise ParameterError(
                f"the prior has no probability from {low:g} to {high:g}: its `cdf` should increase there, "
                "and never decrease"
            )
        return cls(_middles(start, end, cells), weights, "absolute")

    @property
    def total(self) -> int:
        """The sum of the weights."""
        return sum(self.weights)

    def _distances(self, truth: Any) -> list[Any]:
        if truth is None:
            return [0] * len(self.points)
        if self.distance == "absolute":
            number = exact_value(truth, "truth")
            return [abs(Fraction(each) - number) for each in self.points]  # type: ignore[call-overload]
        if self.distance == "nominal":
            return [each != truth for each in self.points]
        if self.distance == "ordinal":
            if truth not in self.points:
                return [0] * len(self.points)
            place = self.points.index(truth)
            return [abs(each - place) for each in range(len(self.points))]
        assert callable(self.distance)
        return [self.distance(truth, each) for each in self.points]


class Rings:
    """The possible answers around a truth: those at the same distance are one ring, and share one factor.

    Without a truth, all of them are one ring.
    """

    def __init__(self, prior: Prior, truth: Any) -> None:
        distances = prior._distances(truth)
        possible = [place for place, weight in enumerate(prior.weights) if weight]
        possible.sort(key=lambda place: distances[place])
        self.points = [prior.points[place] for place in possible]
        self.reached = list(accumulate((prior.weights[place] for place in possible), initial=0))
        """Weights up to each point, from the nearest on."""
        sizes = [len(list(ring)) for _, ring in groupby(possible, key=lambda place: distances[place])]
        self.starts = list(accumulate(sizes, initial=0))
        self.ends = [self.reached[place] for place in self.starts]
        """Weights up to the beginning of each ring, and that of all."""

    def point_at(self, weight: int) -> Hashable:
        """Return the point at a cumulative weight, counted from the nearest point on."""
        return self.points[bisect_right(self.reached, weight) - 1]


def _chance(point: Any, chance: Any) -> Fraction:
    try:
        probability = decimal_fraction(chance)
    except (ValueError, OverflowError, TypeError):
        raise ParameterError(f"the prior of {point!r} should be a probability, not {chance!r}") from None
    if probability < 0:
        raise ParameterError(f"the prior of {point!r} should be at least 0, not {chance!r}")
    return probability


def _short(number: Fraction) -> str:
    return str(number) if number.denominator < 10**6 else f"{float(number):.6g}"


def _ends(*ends: Any) -> tuple[Fraction, Fraction]:
    if len(ends) != 2 or not all(
        isinstance(each, int | float | Fraction) and math.isfinite(each) for each in ends
    ):
        raise ParameterError(
            f"a prior over numbers needs a bounded range with two ends, not {', '.join(map(repr, ends))}"
        )
    low, high = Fraction(ends[0]), Fraction(ends[1])
    if low >= high:
        raise ParameterError(f"the range of a prior should be ascending, not from {ends[0]!r} to {ends[1]!r}")
    return low, high


def _check_cells(cells: int) -> int:
    if cells not in range(1, _MOST_CELLS + 1):
        raise ParameterError(f"`cells` should be a whole number from 1 to {_MOST_CELLS}, not {cells!r}")
    return int(cells)


def _middles(low: Fraction, high: Fraction, cells: int) -> tuple[float, ...]:
    width = (high - low) / cells
    return tuple(float(low + width * (2 * i + 1) / 2) for i in range(cells))
