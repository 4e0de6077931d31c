"""Discernibility: the number of records that each record is indistinguishable from."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.base import Measure, Node, QualityModel, Score
from veil.quality.factors import Monotone


@declared(kind_of=QualityModel)
class Discernibility(QualityModel):
    """Each record is charged the size of its class, and the size N of the table if it is suppressed.

    That is the sum over kept classes of their squared size, plus N times the suppressed records. The
    monotone variant charges suppressed records like kept ones. Bayardo and Agrawal (2005).

    >>> Discernibility(monotone=True)
    Discernibility(monotone=True)
    """

    monotone: Monotone = False
    kind: Literal["Discernibility"] = Field(default="Discernibility", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("discernability", "dm")

    def bind(self, sample: Sample) -> Measure:
        return _Discernibility(sample, self.monotone)


class _Discernibility(Measure):
    """Scores and bounds are exact integers.

    Merging classes never lowers a sum of squares, and no class is larger than the table, so the sum of
    squares over all classes of a node is a bound for everything more general.

    At or above some levels there are no more classes than the K combinations of values. With n suppressed
    records the kept squares are at least (N - n)^2 / K, when classes are of equal size. Together with N * n
    this grows with n if K > 1, so that the fewest suppressed records decide; for K = 1 it is least at n =
    N/2. (Counting the classes that can be kept would spare a tenth of the nodes and cost more than that.)
    """

    def __init__(self, sample: Sample, monotone: bool) -> None:
        self.records = sample.records
        self.distinct = sample.distinct
        self.monotone = monotone

    def score(self, node: Node) -> Score:
        if self.monotone:
            return (node.tally.squares,)
        return (node.tally.kept_squares + self.records * node.tally.suppressed,)

    def base(self, node: Node) -> Score:
        return (node.tally.squares,)

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        n = self.records
        classes = math.prod(counts[level] for counts, level in zip(self.distinct, levels, strict=True))
        if self.monotone:
            return (_over(n * n, classes),)
        suppressed = max(least, n // 2) if classes == 1 else least
        return (_over((n - suppressed) ** 2, classes) + n * suppressed,)

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (self.records,), (self.records**2,)


def _over(dividend: int, divisor: int) -> int:
    """Divide and round up."""
    return -(-dividend // divisor)
