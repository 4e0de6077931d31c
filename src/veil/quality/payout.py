"""Entropy-based information loss, and the payout of a publisher with a rational adversary."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Floats, Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.quality.additive import Additive
from veil.quality.aggregate import comparable
from veil.quality.base import NO_BOUND, Measure, Node, QualityModel, Score
from veil.quality.cover import Cover, CoverLookup, fields, place, sum_of_fixed
from veil.quality.factors import Factor, factors
from veil.quality.summing import sum_in_any_order

Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Benefit = Annotated[Money, Field(description="what an unchanged record earns the publisher")]
PublisherLoss = Annotated[Money, Field(description="publisher's loss from a re-identified record")]
AdversaryGain = Annotated[Money, Field(description="adversary's gain from a re-identified record")]
Cost = Annotated[Money, Field(description="adversary's cost of trying to re-identify a record")]

EVERYONE = 2**62
"""More than the records of any class."""


@declared(kind_of=QualityModel)
class EntropyBased(QualityModel):
    """Entropy-based information loss of each record: 0 for an original record, 1 for a suppressed one.

    The labels of a class cover the share c of the domain of D combinations; its loss is 1 + log(c) / log(D),
    clipped to [0, 1], and 0 if there is only one combination. A microaggregated attribute with n different
    values, m of them in the class, counts like a domain of n values of which the class covers m. The score is
    g times the loss summed over kept records, plus s times the suppressed ones. Wan et al. (2015).

    >>> EntropyBased(factor=0.25)
    EntropyBased(factor=0.25)
    """

    factor: Factor = 0.5
    kind: Literal["EntropyBased"] = Field(default="EntropyBased", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("entropy_based_information_loss",)

    def bind(self, sample: Sample) -> Measure:
        return _EntropyBased(sample, *factors(self.factor), benefit=1.0, harm=0.0, attacked=0)


@declared(kind_of=QualityModel)
class PublisherPayout(QualityModel):
    """Earnings that the publisher loses, at most `benefit` for each record, if an adversary acts rationally.

    A record of a class with the entropy-based loss x earns benefit * (1 - x), less publisher_loss * p if the
    adversary attacks. The attack succeeds with probability p = 1 / (size of the class), counted in the
    research subset by a prosecutor and in the whole table by a journalist, and is made only if it pays:
    adversary_gain * p > cost. The score is the benefit less what is earned, summed over kept records and
    weighted with g, plus s * benefit for each suppressed record. Wan et al. (2015).

    >>> PublisherPayout(benefit=100)
    PublisherPayout(journalist=False, benefit=100.0, publisher_loss=300.0, adversary_gain=300.0, ...)
    """

    journalist: Annotated[bool, Field(description="count classes in the whole table, not the subset")] = False
    benefit: Benefit = 1200.0
    publisher_loss: PublisherLoss = 300.0
    adversary_gain: AdversaryGain = 300.0
    cost: Cost = 4.0
    factor: Factor = 0.5
    kind: Literal["PublisherPayout"] = Field(default="PublisherPayout", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("publisher_payoff", "payout", "payoff")

    def bind(self, sample: Sample) -> Measure:
        return PayoutMeasure(
            sample,
            *factors(self.factor),
            benefit=self.benefit,
            harm=self.publisher_loss,
            attacked=self.largest_attacked_class(),
            journalist=self.journalist,
        )

    def largest_attacked_class(self) -> int:
        """Return the size of the largest class whose records are worth an attack; 0 if there is none.

        >>> PublisherPayout(adversary_gain=300, cost=4).largest_attacked_class()
        74
        """
        gain, cost = decimal_fraction(self.adversary_gain), decimal_fraction(self.cost)
        if cost == 0:
            return EVERYONE if gain > 0 else 0
        return max(0, min(EVERYONE, math.ceil(gain / cost) - 1))


class PayoutMeasure(Measure):
    """Entropy-based loss times a benefit, plus expected harm; without harm it is entropy-based loss itself.

    A record's loss is a sum over attributes, log(c_j * D_j) / log(D), so `Additive` bounds it by levels. A
    kept record costs at least its loss times min(g, s), a suppressed one s; harm is never negative. If
    suppression is cheaper (s < g), the classes of a node give a better bound: each of their records costs at
    least the smaller of g times its loss and s there and at everything more general.

    Rounding: a loss is off by a few units for each attribute, and a sum over classes by two; bounds have a
    margin of twice as much. Harm only adds to a score, and rounding never makes it negative.
    """

    def __init__(
        self,
        sample: Sample,
        s: float,
        g: float,
        *,
        benefit: float,
        harm: float,
        attacked: int,
        journalist: bool = False,
    ) -> None:
        encoding = sample.encoding
        self.sample = sample
        self.records = sample.records
        self.s, self.g, self.benefit = s, g, benefit
        self.harm, self.attacked, self.journalist = harm, attacked, journalist
        self.cover = Cover(encoding)
        domains = _log(np.array([hierarchy.domain_size for hierarchy in encoding.hierarchies]))
        information = math.fsum([*domains, *_log(sample.distinct_microaggregated.astype(np.float64))])
        unit = 1.0 / information if information != 0.0 else 0.0
        least = min(g, s)
        costs: list[list[Floats]] = []
        additions: list[list[Floats]] = []
        for j, hierarchy in enumerate(encoding.hierarchies):
            whole = s * (domains[j] * unit)
            losses = [_log(shares * hierarchy.domain_size) * unit for shares in hierarchy.shares]
            for level, loss in enumerate(losses):
                self.cover.set(j, level, loss)
            costs.append([least * loss for loss in losses])
            additions.append([whole - least * loss for loss in losses])
        self.additive = Additive(sample, costs, additions)
        # Where shares above 1 or a domain below 1 make losses leave [0, 1], they no longer add up.
        largest = max(
            float(shares.max()) for hierarchy in encoding.hierarchies for shares in hierarchy.shares
        )
        self.bounded = unit >= 0.0 and largest < 1.0 + 2.0**-50
        self.unit = unit
        attributes = len(encoding.names) + len(sample.microaggregated)
        steps = 16 * attributes * (1.0 + abs(unit)) + 10
        self.margin = sample.records * steps * 2.0**-51 * benefit

    def score(self, node: Node) -> Score:
        sizes = node.table.population if self.journalist else node.table.count
        cost = self._sum(node, node.rejected, sizes, math.inf, self.harm)
        return (cost + self.s * self.benefit * node.tally.suppressed,)

    def base(self, node: Node) -> Score:
        if not self.bounded or self.s >= self.g or not np.all(self.additive.monotone):
            return NO_BOUND
        nothing = np.zeros_like(node.rejected)
        return (self._sum(node, nothing, node.table.count, self.s * self.benefit, 0.0) - self.margin,)

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        loss = float(np.sum(self.additive.least(levels, least))) if self.bounded else -math.inf
        return (self.benefit * loss - self.margin,) if loss > -math.inf else NO_BOUND

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (0.0,), (self.records * self.benefit,)

    def _sum(self, node: Node, rejected: Marks, sizes: Integers, most: float, harm: float) -> float:
        costs = _costs(
            node.table.keys, node.table.count, sizes, rejected, np.array(node.levels), self.cover.lookup,
            self.further(node.table), self.g, self.benefit, most, harm, self.attacked,
        )  # fmt: skip
        return sum_in_any_order(costs)

    def further(self, table: ClassTable) -> Floats:
        """Return the loss of each class by microaggregated attributes; empty if there are none."""
        if not self.sample.microaggregated:
            return np.empty(0)
        distinct = self.sample.distinct_in_classes(table).astype(np.float64)
        return np.asarray(_log(np.maximum(distinct, 1.0)).sum(axis=0) * self.unit, np.float64)


class _EntropyBased(PayoutMeasure):
    """A payout without harm, of one unit a record."""

    def class_losses(self, table: ClassTable) -> Floats:
        """Return the loss of each class, times its records."""
        losses = self.cover.of_classes(table).sum(axis=0)
        if self.sample.microaggregated:
            losses = losses + self.further(table)
        losses = np.clip(losses, 0.0, 1.0)
        return comparable(self.g * table.count * losses)


@kernel
def _costs(
    keys: kernels.Words,
    counts: Integers,
    sizes: Integers,
    rejected: Marks,
    levels: Integers,
    cover: CoverLookup,
    further: Floats,
    g: float,
    benefit: float,
    most: float,
    harm: float,
    attacked: int,
) -> Floats:
    """Return the cost of the records of each kept class, each at most `most`."""
    varying, fixed = fields(levels, cover)
    # The loss of attributes with the same loss in all classes.
    everywhere = sum_of_fixed(fixed, cover)
    # The cost of each kept class: benefit times its loss, and the expected harm if it is attacked.
    costs = np.empty(counts.size)
    kept_count = 0
    for i in range(counts.size):
        if counts[i] and not rejected[i]:
            loss = everywhere
            for v in range(varying.shape[0]):
                loss += cover.numbers[place(keys, i, varying[v])]
            if further.size:
                loss += further[i]
            cost = benefit * min(max(loss, 0.0), 1.0)
            if sizes[i] <= attacked:
                cost += harm / sizes[i]
            costs[kept_count] = counts[i] * min(g * cost, most)
            kept_count += 1
    return costs[:kept_count]


def _log(values: Floats) -> Floats:
    """Return finite logarithms; a label that covers nothing counts as the smallest double."""
    return np.log(np.maximum(values, np.finfo(np.float64).tiny))
