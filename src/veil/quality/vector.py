"""Measures with one value for each quasi-identifier, joined by an aggregation function."""

from __future__ import annotations

from collections.abc import Sequence

from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.aggregate import Aggregate
from veil.quality.base import Measure, Node, Score


class VectorMeasure(Measure):
    """A measure that knows what each attribute loses; its aggregate makes scores and bounds of that."""

    def __init__(self, sample: Sample, aggregate: Aggregate) -> None:
        self.sample = sample
        self.aggregate = aggregate
        self.heights = sample.encoding.heights

    def microaggregated(self, node: Node, s: float, g: float) -> list[float]:
        """Return what each microaggregated attribute loses.

        A class with d of the D different values in the input loses the share d/D of its records. A kept record
        adds g times the share, a suppressed one 1 if the weight s of suppression is 1, and else what `Loss` says.
        """
        sample, table = self.sample, node.table
        distinct = sample.distinct_in_classes(table)
        # Whole numbers first, so that the order of classes does not matter.
        suppressed = distinct @ (table.count * node.rejected) / sample.distinct_microaggregated
        kept = distinct @ (table.count * (node.rejected == 0)) / sample.distinct_microaggregated
        records = node.tally.suppressed
        lost = records if s == 1.0 else suppressed + s * (records - suppressed)
        losses: list[float] = ((g * kept + lost) / sample.records).tolist()
        return losses

    def vector(self, node: Node) -> Sequence[float]:
        """Return what each attribute loses at a node with its rejected classes suppressed."""
        raise NotImplementedError

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        """Return what each attribute loses at least, at or above `levels` with `least` records suppressed.

        The claim holds for the values as `vector` computes them in floating point.
        """
        raise NotImplementedError

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        """Return the smallest and the largest loss of each attribute that the definition knows."""
        raise NotImplementedError

    def score(self, node: Node) -> Score:
        return self.aggregate(self.vector(node))

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        return self.aggregate.bound(self.least_vector(levels, least))

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        """Return the aggregates of the smallest and the largest losses."""
        low, high = self.vector_extremes(minimum or (0,) * len(self.heights), maximum or self.heights)
        return self.aggregate(low), self.aggregate(high)

    def normalized(self, score: Score, minimum: Levels | None = None, maximum: Levels | None = None) -> float:
        """Return a score as a share of the way from the best to the worst; rank scores are kept in [0, 1]."""
        low, high = (self.aggregate.number(extreme) for extreme in self.extremes(minimum, maximum))
        share = (self.aggregate.number(score) - low) / (high - low) if high != low else 0.0
        return min(1.0, max(0.0, share)) if self.aggregate.function == "rank" else share
