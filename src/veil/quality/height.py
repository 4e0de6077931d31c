"""Height: the generalization level of each attribute."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.sample import Sample
from veil.quality.aggregate import Aggregate, Function
from veil.quality.base import QualityModel
from veil.quality.factors import Weights
from veil.quality.vector import LevelMeasure, VectorMeasure


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
        aggregate = Aggregate(self.aggregate, sample.encoding.names, self.weights)
        return LevelMeasure(sample, aggregate, [range(height + 1) for height in sample.encoding.heights])
