"""Non-uniform entropy: the bits lost by generalization and suppression, given the frequencies of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Floats, Integers
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.additive import reached
from veil.quality.aggregate import Aggregate, Function
from veil.quality.base import Node, QualityModel, count_suppressed_values
from veil.quality.factors import Factor, Monotone, Weights, factors
from veil.quality.vector import VectorMeasure


@declared(kind_of=QualityModel)
class NonUniformEntropy(QualityModel):
    """Bits lost: how uncertain the original value of a cell is once its generalized value is known.

    With f(v) the frequency of an original value and f(u) that of the value u it is generalized to, both
    counted before suppression, an attribute loses g * sum over v of f(v) * log2(f(u) / f(v)). Suppression
    adds the entropy of the suppressed records: if q(u) of n suppressed records have the value u,
    s * sum over u of q(u) * log2(n / q(u)). The monotone variant leaves that out. Gionis and Tassa (2009),
    De Waal and Willenborg (1999). Losses are cut off after ten digits, as ARX does.

    >>> NonUniformEntropy(monotone=True)
    NonUniformEntropy(monotone=True, aggregate='sum', factor=0.5, weights={})
    """

    monotone: Monotone = False
    aggregate: Function = "sum"
    factor: Factor = 0.5
    weights: Weights = Field(default_factory=dict)
    kind: Literal["NonUniformEntropy"] = Field(default="NonUniformEntropy", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("entropy", "nue")

    def bind(self, sample: Sample) -> VectorMeasure:
        aggregate = Aggregate(self.aggregate, sample.encoding.names, self.weights)
        return _Entropy(sample, aggregate, *factors(self.factor), self.monotone)


@declared(kind_of=QualityModel)
class NormalizedNonUniformEntropy(QualityModel):
    """Non-uniform entropy as a share, for each attribute, of the entropy that the original column has.

    The losses of `NonUniformEntropy` with its neutral factor are divided by the sum over v of
    f(v) * log2(N / f(v)), where N counts the whole table even if there is a research subset. A constant
    column has nothing to lose and counts 0 (ARX divides 0 by 0 there).

    >>> NormalizedNonUniformEntropy(aggregate="maximum")
    NormalizedNonUniformEntropy(aggregate='maximum', weights={})
    """

    aggregate: Function = "sum"
    weights: Weights = Field(default_factory=dict)
    kind: Literal["NormalizedNonUniformEntropy"] = Field(
        "NormalizedNonUniformEntropy", repr=False, kw_only=True
    )

    synonyms: ClassVar[tuple[str, ...]] = ("normalized_entropy",)

    def bind(self, sample: Sample) -> VectorMeasure:
        return _NormalizedEntropy(sample, Aggregate(self.aggregate, sample.encoding.names, self.weights))


class _Entropy(VectorMeasure):
    """The bits lost by generalization, and the least that suppression adds, by attribute and level.

    Write B(l) for the bits of generalization on level l without their weight g, and H(l) for the bits of a
    set of suppressed records without their weight s. Entropy is concave: the bits of a group are at least
    those of its parts together. Two things follow.

    * From one level to the next, B rises by at least as much as H falls, so that with c = min(g, s) every
      level above l has g*B + s*H >= g*B(l) + c*H(l).
    * A set of records has at least the bits of each of its subsets. Among the sets of n records the one with
      the fewest bits takes the most frequent values first, because its counts majorize all others.

    The bits of suppression are also computed as sums of terms that are not negative, so that the table of
    generalization alone needs no margin.
    """

    def __init__(self, sample: Sample, aggregate: Aggregate, s: float, g: float, monotone: bool) -> None:
        super().__init__(sample, aggregate)
        encoding = sample.encoding
        self.s, self.g, self.monotone = s, g, monotone
        self.bits = np.full(encoding.cardinalities.shape, np.inf)
        # Cumulated over frequencies in descending order: records, and count * log2(count).
        self.cumulated = np.zeros(encoding.value_count, np.int64)
        self.cumulated_bits = np.zeros(encoding.value_count)
        for j, hierarchy in enumerate(encoding.hierarchies):
            occurs = np.flatnonzero(sample.frequencies[j][0])
            original = sample.frequencies[j][0][occurs]
            for level, frequencies in enumerate(sample.frequencies[j]):
                general = frequencies[hierarchy.label_map(level)[occurs]]
                self.bits[j, level] = g * math.fsum(original * np.log2(general / original))
                start = encoding.value_starts[j, level]
                descending = np.sort(frequencies)[::-1]
                self.cumulated[start : start + descending.size] = np.cumsum(descending)
                each = descending * np.log2(np.maximum(descending, 1))
                self.cumulated_bits[start : start + descending.size] = np.cumsum(each)
        self.floors = np.minimum.accumulate(self.bits[:, ::-1], axis=1)[:, ::-1].copy()
        values = int(encoding.cardinalities.max())
        self.margin = sample.records * math.log2(sample.records + 1) * (values + 20) * 2.0**-50

    def vector(self, node: Node) -> Sequence[float]:
        encoding, work = self.sample.encoding, node.work
        levels = np.array(node.levels)
        suppressed = 0 if self.monotone else node.tally.suppressed
        if suppressed:
            count_suppressed_values(self.sample, node)
        losses: list[float] = _losses(
            levels, suppressed, self.bits, self.s, encoding.value_starts, work.value_counts
        ).tolist()
        return losses

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        losses: list[float] = _least_losses(
            np.array(levels), 0 if self.monotone else least, self.floors, min(self.g, self.s),
            self.sample.encoding.value_starts, self.cumulated, self.cumulated_bits, self.margin,
        ).tolist()  # fmt: skip
        return losses

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        most = self.sample.population_size * math.log2(self.sample.population_size) * max(self.g, self.s)
        return [0.0] * len(self.heights), [most if self.monotone else 2 * most] * len(self.heights)


class _NormalizedEntropy(_Entropy):
    """Shares of the full entropy. Division by a positive number rounds monotonically: bounds stay bounds."""

    def __init__(self, sample: Sample, aggregate: Aggregate) -> None:
        super().__init__(sample, aggregate, 1.0, 1.0, monotone=False)
        self.full = []
        for frequencies in sample.frequencies:
            original = frequencies[0][frequencies[0] > 0]
            self.full.append(_cut(math.fsum(original * np.log2(sample.population_size / original))))

    def vector(self, node: Node) -> Sequence[float]:
        return self._shares(super().vector(node))

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        return self._shares(super().least_vector(levels, least))

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        return [0.0] * len(self.heights), [1.0] * len(self.heights)

    def _shares(self, losses: Sequence[float]) -> list[float]:
        return [loss / full if full else 0.0 for loss, full in zip(losses, self.full, strict=True)]


@kernel
def _losses(
    levels: Integers, suppressed: int, bits: Floats, s: float, starts: Integers, counts: Integers
) -> Floats:
    out = np.empty(levels.size)
    for j in range(levels.size):
        total = bits[j, levels[j]]
        if suppressed:
            for u in range(starts[j, levels[j]], starts[j, levels[j] + 1]):
                if counts[u]:
                    total += s * (counts[u] * np.log2(suppressed / counts[u]))
        out[j] = np.floor(total * 1e10) / 1e10
    return out


@kernel
def _least_losses(
    levels: Integers,
    least: int,
    floors: Floats,
    weight: float,
    starts: Integers,
    cumulated: Integers,
    cumulated_bits: Floats,
    margin: float,
) -> Floats:
    out = np.empty(levels.size)
    for j in range(levels.size):
        total = floors[j, levels[j]]
        if least:
            first = starts[j, levels[j]]
            low = reached(cumulated, first, starts[j, levels[j] + 1] - 1, least)
            prefix, prefix_bits = 0, 0.0
            if low > first:
                prefix, prefix_bits = cumulated[low - 1], cumulated_bits[low - 1]
            rest = least - prefix
            bits = least * np.log2(float(least)) - prefix_bits - rest * np.log2(float(rest))
            total += max(0.0, weight * bits - margin)
        out[j] = np.floor(total * 1e10) / 1e10
    return out


def _cut(value: float) -> float:
    """Truncate after ten digits, as ARX does: scores can then be compared with published ones."""
    return math.floor(value * 1e10) / 1e10 if math.isfinite(value) else value
