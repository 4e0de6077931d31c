"""Height: the generalization level of each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.quality.aggregate import Aggregate, Function
from veil.quality.base import Node, QualityModel
from veil.quality.factors import Weights
from veil.quality.vector import VectorMeasure


@declared(kind_of=QualityModel)
class Height(QualityModel):
    """Levels climbed: attribute j loses its generalization level. Suppression is ignored. Samarati (2001).

    >>> Height(weights={"age": 1, "sex": 0.5})
    Height(aggregate='sum', weights={'age': 1.0, 'sex': 0.5})
    """

    aggregate: Function = "sum"
    weights: Weights = Field(default_factory=dict)
    kind: Literal["Height"] = Field(default="Height", repr=False, kw_only=True)

    def bind(self, sample: Sample) -> VectorMeasure:
        """Return the measure of this model for a sample."""
        return _Height(sample, Aggregate(self.aggregate, sample.encoding.names, self.weights))


class _Height(VectorMeasure):
    """The score depends on the levels alone and only grows with them, so it is its own bound."""

    def vector(self, node: Node) -> Sequence[float]:
        return node.levels

    def least_vector(self, levels: Levels, least: int) -> Sequence[float]:
        return levels

    def vector_extremes(self, minimum: Levels, maximum: Levels) -> tuple[Sequence[float], Sequence[float]]:
        return minimum, maximum
