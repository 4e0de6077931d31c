"""Kullback-Leibler divergence of the distribution that a release suggests from the original one."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Floats, Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import PlanError
from veil.quality.base import Measure, Node, QualityModel, Score
from veil.quality.cover import Cover, CoverLookup, domain_rows, fields, place, sum_of_fixed
from veil.quality.summing import sum_in_any_order


@declared(kind_of=QualityModel)
class KullbackLeibler(QualityModel):
    """Divergence of the distribution that the release suggests from the original one.

    A reader spreads the records of a class evenly over all combinations of domain values that its labels
    cover, and the suppressed records over the whole domain. With p the original frequency of a record's
    combination and q the frequency guessed for it, the score is the sum over records (not combinations, so
    that frequent ones weigh more) of p * log2(p / q). It is never negative. Values count one by one,
    regardless of the shares in a hierarchy. Machanavajjhala et al. (2007).

    >>> KullbackLeibler()
    KullbackLeibler()
    """

    kind: Literal["KullbackLeibler"] = Field(default="KullbackLeibler", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("kl", "kl_divergence", "kullback_leibler_divergence")
    needs_squares: ClassVar[bool] = True

    def bind(self, sample: Sample) -> Measure:
        if len(sample.table.measures) < 2:
            raise PlanError("KullbackLeibler needs a sample made with squares=True")
        return _KullbackLeibler(sample)


class _KullbackLeibler(Measure):
    """Squared multiplicities: a combination that occurs c times contributes c^2/N * (log2(c/N) - log2(q)).

    The part with log2(c/N) is the same at every node, and the squares add up when classes merge.

    More general nodes can have lower scores (a wide, mostly empty class that merges with a dense one), so
    there is no bound but 0. That one holds: for combinations with the counts c in a class, spread over at
    least as many cells with the mean m, x^2 ln x >= x - 1 for x = c/m shows that the sum of c^2 log(c/m) is
    not negative.
    """

    def __init__(self, sample: Sample) -> None:
        encoding = sample.encoding
        self.records = sample.records
        self.cover = Cover(encoding)
        for j, hierarchy in enumerate(encoding.hierarchies):
            for level, rows in enumerate(domain_rows(hierarchy)):
                self.cover.set(j, level, np.log2(rows))
        self.log_domain = math.log2(math.prod(int(h.listed.sum()) for h in encoding.hierarchies))
        everything = np.zeros(len(sample.table), np.uint8)
        # The same kernel with one cell for each combination makes the score of the bottom node exactly 0.
        self.original, _ = self._sums(sample.table, everything, one_cell=True)
        self.squares = int(sample.table.squares.sum())

    def score(self, node: Node) -> Score:
        guessed, suppressed = self._sums(node.table, node.rejected)
        if suppressed:
            guessed += suppressed * (math.log2(node.tally.suppressed / self.records) - self.log_domain)
        return (max(0.0, (self.original - guessed) / self.records),)

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        return (0.0,)

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (0.0,), ((self.original + self.squares * self.log_domain) / self.records,)

    def _sums(self, table: ClassTable, rejected: Marks, *, one_cell: bool = False) -> tuple[float, int]:
        lookup = self.cover.lookup
        if one_cell:
            lookup = lookup._replace(numbers=np.zeros_like(lookup.numbers))
        levels = np.array(table.levels)
        terms, suppressed = _terms(
            table.keys, table.count, table.squares, rejected, self.records, levels, lookup
        )
        return sum_in_any_order(terms), suppressed


@kernel
def _terms(
    keys: kernels.Words,
    counts: Integers,
    squares: Integers,
    rejected: Marks,
    records: int,
    levels: Integers,
    cover: CoverLookup,
) -> tuple[Floats, int]:
    """Return squares times log2 of the guessed frequency of kept classes, and the squares of the others."""
    varying, fixed = fields(levels, cover)
    everywhere = sum_of_fixed(fixed, cover)
    terms = np.empty(counts.size)
    kept_count = suppressed = 0
    for i in range(counts.size):
        if rejected[i]:
            suppressed += squares[i]
        elif counts[i]:
            cells = everywhere
            for v in range(varying.shape[0]):
                cells += cover.numbers[place(keys, i, varying[v])]
            terms[kept_count] = squares[i] * (np.log2(counts[i] / records) - cells)
            kept_count += 1
    return terms[:kept_count], suppressed
