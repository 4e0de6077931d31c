"""Precision: the generalization level of each attribute as a share of its height."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.aggregate import Aggregate, Function
from veil.quality.base import Node, QualityModel, Score
from veil.quality.factors import Factor, Monotone, Weights, exact_factors
from veil.quality.vector import VectorMeasure


@declared(kind_of=QualityModel)
class Precision(QualityModel):
    """Share of its hierarchy that each attribute climbed, averaged over the records; 1 for a suppressed one.

    With level l of h, N records, n of them suppressed, and the weights s of suppression and g of
    generalization, an attribute loses ((N - n) * g * l/h + n * s) / N; an attribute without levels counts l/h
    = 0. The monotone variant ignores suppression: g * l/h. Sweeney (2002). A microaggregated attribute loses
    as in `Loss`, and nothing in the monotone variant.

    >>> Precision(factor=0.25)
    Precision(monotone=False, aggregate='arithmetic_mean', factor=0.25, weights={})
    """

    monotone: Monotone = False
    aggregate: Function = "arithmetic_mean"
    factor: Factor = 0.5
    weights: Weights = Field(default_factory=dict)
    kind: Literal["Precision"] = Field(default="Precision", repr=False, kw_only=True)

    def bind(self, sample: Sample) -> VectorMeasure:
        further = () if self.monotone else sample.microaggregated
        aggregate = Aggregate(self.aggregate, (*sample.encoding.names, *further), self.weights)
        return _Precision(sample, aggregate, *exact_factors(self.factor), self.monotone)


class _Precision(VectorMeasure):
    """Losses are ratios of exact integers, rounded once, so they never round the wrong way in a bound.

    A loss grows with the level. In the number of suppressed records it is linear, hence least where as few as
    possible are suppressed, or all of them. The same holds for sums of losses, which are linear as well,
    and for products, whose logarithms are concave; there only the sum or the logarithm is rounded anew.
    """

    def __init__(
        self, sample: Sample, aggregate: Aggregate, s: Fraction, g: Fraction, monotone: bool
    ) -> None:
        super().__init__(sample, aggregate)
        unit = math.lcm(s.denominator, g.denominator)
        self.s, self.g = int(s * unit), int(g * unit)
        self.most = float(max(s, g))
        self.monotone = monotone
        self.factors = float(s), float(g)
        self.nothing = [] if monotone else [0.0] * len(sample.microaggregated)
        self.spans = [max(1, height) for height in self.heights]
        self.wholes = [sample.records * span * unit for span in self.spans]

    def vector(self, node: Node) -> Sequence[float]:
        losses = self._losses(node.levels, 0 if self.monotone else node.tally.suppressed)
        return losses + self.microaggregated(node, *self.factors) if self.nothing else losses

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        if self.monotone:
            return self._losses(levels, 0)
        few = self._losses(levels, least) + self.nothing
        if self.s >= self.g:
            return few
        return list(map(min, few, self._losses(levels, self.sample.records) + self.nothing))

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        if self.monotone or self.s >= self.g or self.aggregate.function in ("maximum", "rank"):
            return super().bound(levels, least, room)
        few, all_ = (
            self.aggregate.bound(self._losses(levels, n) + self.nothing) for n in (least, self.sample.records)
        )
        return (min(few, all_)[0] * (1.0 - 1e-14) - 1e-15 * len(levels),)

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        length = len(self.heights) + len(self.nothing)
        return [0.0] * length, [self.most] * length

    def _losses(self, levels: Levels, suppressed: int) -> list[float]:
        kept_weight = (self.sample.records - suppressed) * self.g
        suppressed_weight = suppressed * self.s
        return [
            (kept_weight * level + suppressed_weight * span) / whole
            for level, span, whole in zip(levels, self.spans, self.wholes, strict=True)
        ]
