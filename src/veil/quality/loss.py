"""Loss: the share of each attribute's domain that published cells cover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Floats, Integers
from veil.base.compiled import kernel, light_kernel
from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.quality.additive import Additive
from veil.quality.aggregate import Aggregate, Function
from veil.quality.base import Node, QualityModel, count_suppressed_values
from veil.quality.cover import Cover
from veil.quality.factors import Factor, Weights, factors
from veil.quality.vector import VectorMeasure


@declared(kind_of=QualityModel)
class Loss(QualityModel):
    """Share of the domain that a cell covers, averaged over the records; 1 for a suppressed record.

    For attribute j with domain size D, N records and share c(v) of a generalized value v, the sum a of the
    shares over all records becomes (a - g*N/D) / (N - g*N/D), so that 0 is the original table and 1 a table
    without information. A kept record adds g*c(v) to the sum, a suppressed one 1 if the weight s of
    suppression is 1, and else c(v) + s*(1 - c(v)). Iyengar (2002). An attribute with a single value in its
    domain has nothing to lose. A microaggregated attribute loses the share of its different values that a
    class holds. Losses are cut off after ten digits, as ARX does.

    >>> Loss(factor=0.75)
    Loss(aggregate='geometric_mean', factor=0.75, weights={})
    """

    aggregate: Function = "geometric_mean"
    factor: Factor = 0.5
    weights: Weights = Field(default_factory=dict)
    kind: Literal["Loss"] = Field(default="Loss", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("granularity",)

    def bind(self, sample: Sample) -> VectorMeasure:
        names = (*sample.encoding.names, *sample.microaggregated)
        aggregate = Aggregate(self.aggregate, names, self.weights)
        return _Loss(sample, aggregate, *factors(self.factor))


class _Loss(VectorMeasure):
    """Costs and additions of `Additive` are shares of the domain. Scaling and truncation are monotone."""

    def __init__(self, sample: Sample, aggregate: Aggregate, s: float, g: float) -> None:
        super().__init__(sample, aggregate)
        self.s, self.g = s, g
        self.nothing = [0.0] * len(sample.microaggregated)
        hierarchies = sample.encoding.hierarchies
        costs = [[g * shares for shares in hierarchy.shares] for hierarchy in hierarchies]
        additions = [
            [1.0 - g * shares if s == 1.0 else s * (1.0 - shares) for shares in hierarchy.shares]
            for hierarchy in hierarchies
        ]
        self.additive = Additive(sample, costs, additions)
        self.cover = Cover(sample.encoding)
        for j, hierarchy in enumerate(hierarchies):
            for level, shares in enumerate(hierarchy.shares):
                self.cover.set(j, level, shares)
        self.lowest = np.array([g * sample.records / hierarchy.domain_size for hierarchy in hierarchies])

    def vector(self, node: Node) -> Sequence[float]:
        if node.tally.suppressed:
            count_suppressed_values(self.sample, node)
        losses: list[float] = _losses(
            np.array(node.levels), node.tally.suppressed, self.additive.totals, self.lowest, self.sample.records,
            self.additive.additions, self.additive.starts, node.work.value_counts,
        ).tolist()  # fmt: skip
        if self.nothing:
            losses += [
                math.floor(share * 1e10) / 1e10 for share in self.microaggregated(node, self.s, self.g)
            ]
        return losses

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        totals = self.additive.least(levels, least)
        losses: list[float] = _normalized(totals, self.lowest, self.sample.records).tolist()
        return losses + self.nothing

    def class_losses(self, table: ClassTable) -> Floats:
        """Return the aggregate of the shares that the labels of each class cover, times its records."""
        covered = self.cover.of_classes(table)
        if self.nothing:
            distinct = self.sample.distinct_in_classes(table) / self.sample.distinct_microaggregated[:, None]
            covered = np.concatenate([covered, distinct])
        return self.aggregate.order(table.count * covered)

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        length = len(self.heights) + len(self.nothing)
        return [0.0] * length, [1.0] * length


@kernel
def _losses(
    levels: Integers,
    suppressed: int,
    totals: Floats,
    lowest: Floats,
    records: int,
    additions: Floats,
    starts: Integers,
    counts: Integers,
) -> Floats:
    out = np.empty(levels.size)
    for j in range(levels.size):
        out[j] = totals[j, levels[j]]
        if suppressed:
            for u in range(starts[j, levels[j]], starts[j, levels[j] + 1]):
                out[j] += counts[u] * additions[u]
    return _normalized(out, lowest, records)


@light_kernel
def _normalized(totals: Floats, lowest: Floats, records: int) -> Floats:
    out = np.empty(totals.size)
    for j in range(totals.size):
        out[j] = 0.0
        if records > lowest[j] and totals[j] > lowest[j]:
            share = (totals[j] - lowest[j]) / (records - lowest[j])
            # Truncated after ten digits, as ARX does: scores can then be compared with published ones.
            out[j] = np.floor(share * 1e10) / 1e10
    return out
