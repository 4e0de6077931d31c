"""Ambiguity: the number of combinations of original values that each record could have had."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Floats, Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.quality.base import NO_BOUND, Measure, Node, QualityModel, Score
from veil.quality.cover import Cover, CoverLookup, domain_rows, fields, place
from veil.quality.summing import sum_in_any_order

EXACT = 2.0**53
"""Up to this number, sums of whole numbers are exact in double precision."""


@declared(kind_of=QualityModel)
class Ambiguity(QualityModel):
    """Each record is charged the number of combinations of domain values that its labels cover.

    That is, for a kept record, the product over the attributes of the number of domain values below its
    label, and for a suppressed one the size of the whole domain. Values count one by one, regardless of the
    shares in a hierarchy. Goldberger and Tassa (2010).

    >>> Ambiguity()
    Ambiguity()
    """

    kind: Literal["Ambiguity"] = Field(default="Ambiguity", repr=False, kw_only=True)

    def bind(self, sample: Sample) -> Measure:
        return _Ambiguity(sample)


class _Ambiguity(Measure):
    """Whole numbers, exact up to 2^53; beyond, bounds have a margin above the error of products of doubles.

    No label covers less than one below it, so the charges of a node with nothing suppressed are bounds for
    everything more general, where a suppressed record only costs more.

    Levels alone bound the mean charge from below by the geometric mean, whose logarithm is a sum over
    attributes. If n records are suppressed, each is charged the whole domain; the logarithms of the others
    add up to at least the total less n times the logarithm of the domain.
    """

    def __init__(self, sample: Sample) -> None:
        encoding = sample.encoding
        self.records = sample.records
        self.cover = Cover(encoding)
        self.logs: list[list[float]] = []
        domain = 1
        for j, hierarchy in enumerate(encoding.hierarchies):
            self.logs.append([])
            for level, rows in enumerate(domain_rows(hierarchy)):
                self.cover.set(j, level, rows)
                self.logs[j].append(math.fsum(sample.frequencies[j][level] * np.log(rows)))
            domain *= int(hierarchy.listed.sum())
        self.log_domain = math.log(domain)
        self.bounded = self.log_domain < 600.0
        self.domain = float(domain) if self.bounded else math.inf
        # Rounding errors of the sum of logarithms, and relative ones of the exponential and of products.
        self.log_margin = self.records * (1.0 + self.log_domain) * 2.0**-48
        self.slack = (4 * len(encoding.names) + 10) * 2.0**-51 + 1e-12

    def score(self, node: Node) -> Score:
        charge = self._charge(node, node.rejected)
        return (charge + node.tally.suppressed * self.domain if node.tally.suppressed else charge,)

    def base(self, node: Node) -> Score:
        if not self.bounded:
            return NO_BOUND
        charge = self._charge(node, np.zeros_like(node.rejected))
        return (charge if charge < EXACT else charge * (1.0 - self.slack),)

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        if not self.bounded:
            return NO_BOUND
        logs = sum(sums[level] for sums, level in zip(self.logs, levels, strict=True))
        kept_count = self.records - least
        left = logs - least * self.log_domain - self.log_margin
        mean = left / kept_count if left > 0.0 else 0.0
        return ((least * self.domain + kept_count * math.exp(mean)) * (1.0 - self.slack),)

    def class_losses(self, table: ClassTable) -> Floats:
        """Return the summand of each class."""
        covered: Floats = np.prod(self.cover.of_classes(table), axis=0)
        return table.count * covered

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (float(self.records),), (self.records * self.domain,)

    def _charge(self, node: Node, rejected: Marks) -> float:
        table, lookup = node.table, self.cover.lookup
        return sum_in_any_order(_charges(table.keys, table.count, rejected, np.array(node.levels), lookup))


@kernel
def _charges(
    keys: kernels.Words, counts: Integers, rejected: Marks, levels: Integers, cover: CoverLookup
) -> Floats:
    """Return the charge of each kept class."""
    varying, fixed = fields(levels, cover)
    everywhere = 1.0
    for f in range(fixed.size):
        everywhere *= cover.numbers[fixed[f]]
    charges = np.empty(counts.size)
    kept_count = 0
    for i in range(counts.size):
        if counts[i] and not rejected[i]:
            covered = everywhere
            for v in range(varying.shape[0]):
                covered *= cover.numbers[place(keys, i, varying[v])]
            charges[kept_count] = counts[i] * covered
            kept_count += 1
    return charges[:kept_count]
