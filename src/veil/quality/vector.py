"""Measures with one value for each quasi-identifier, joined by an aggregation function."""

from __future__ import annotations

from collections.abc import Sequence

from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.aggregate import Aggregate
from veil.quality.base import Measure, Node, Score


class VectorMeasure(Measure):
    """A measure with a loss for each attribute, whose aggregate yields scores and bounds."""

    def __init__(self, sample: Sample, aggregate: Aggregate) -> None:
        self.sample = sample
        self.aggregate = aggregate
        self.heights = sample.encoding.heights

    def microaggregated(self, node: Node, s: float, g: float) -> list[float]:
        """Return the loss of each microaggregated attribute.

        A class with d of the D different values of the input loses the share d/D of its records. Kept records
        add g times the share, suppressed ones 1 if the weight s of suppression is 1, else as in `Loss`.
        """
        sample, table = self.sample, node.table
        distinct = sample.distinct_in_classes(table)
        # Whole numbers first, so that the order of classes does not matter.
        suppressed_shares = distinct @ (table.count * node.rejected) / sample.distinct_microaggregated
        kept_shares = distinct @ (table.count * (node.rejected == 0)) / sample.distinct_microaggregated
        records = node.tally.suppressed
        suppressed_losses = records if s == 1.0 else suppressed_shares + s * (records - suppressed_shares)
        losses: list[float] = ((g * kept_shares + suppressed_losses) / sample.records).tolist()
        return losses

    def vector(self, node: Node) -> Sequence[float]:
        """Return the loss of each attribute at a node with its rejected classes suppressed."""
        raise NotImplementedError

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        """Return the least loss of each attribute at or above `levels` with `least` records suppressed.

        The claim holds for the values as `vector` computes them in floating point.
        """
        raise NotImplementedError

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        """Return the smallest and the largest loss of each attribute by the definition."""
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
        """Return a score as a share of the way from best to worst; rank scores are clipped to [0, 1]."""
        low, high = (self.aggregate.number(extreme) for extreme in self.extremes(minimum, maximum))
        share = (self.aggregate.number(score) - low) / (high - low) if high != low else 0.0
        return min(1.0, max(0.0, share)) if self.aggregate.function == "rank" else share


class LevelMeasure(VectorMeasure):
    """A loss for each attribute and level. It only grows with the level, so a score is its own bound."""

    def __init__(self, sample: Sample, aggregate: Aggregate, table: Sequence[Sequence[float]]) -> None:
        super().__init__(sample, aggregate)
        self.table = table

    def vector(self, node: Node) -> Sequence[float]:
        return self._at(node.levels)

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        return self._at(levels)

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        return self._at(minimum), self._at(maximum)

    def _at(self, levels: Levels) -> list[float]:
        return [losses[level] for losses, level in zip(self.table, levels, strict=True)]
