"""Average equivalence class size."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.base import Measure, Node, QualityModel, Score
from veil.quality.factors import Factor, factors


@declared(kind_of=QualityModel)
class AverageClassSize(QualityModel):
    """Records divided by classes; all suppressed records together count as one class.

    With suppression weight s and generalization weight g: N / (s * kept classes + g * [anything suppressed]).
    Unlike in all other models, s weighs kept classes. LeFevre et al. (2006).

    >>> AverageClassSize()
    AverageClassSize(factor=0.5)
    """

    factor: Factor = 0.5
    kind: Literal["AverageClassSize"] = Field(default="AverageClassSize", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("aecs", "average_equivalence_class_size", "class_size")

    def bind(self, sample: Sample) -> Measure:
        return _AverageClassSize(sample.records, *factors(self.factor))


class _AverageClassSize(Measure):
    """Fewer kept classes make a worse score, and each rounding step keeps that order.

    A node more general than one with C classes has at most C; if it suppresses any, it keeps at most C - 1.
    """

    counts_classes = True

    def __init__(self, records: int, s: float, g: float) -> None:
        self.records, self.s, self.g = records, s, g

    def score(self, node: Node) -> Score:
        return self._score_of(node.tally.kept, node.tally.suppressed > 0)

    def base(self, node: Node) -> Score:
        classes = node.tally.classes
        return min(self._score_of(classes, False), self._score_of(classes - 1, True))

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        return self._score_of(room, True)

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (1.0,), (float(self.records),)

    def _score_of(self, kept_count: int, suppressed: bool) -> Score:
        classes = self.s * kept_count + self.g * suppressed
        return (self.records / classes if classes > 0 else float("inf"),)
