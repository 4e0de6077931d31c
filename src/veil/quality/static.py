"""Static: a loss for each attribute and level that the user states."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.classes.sample import Sample
from veil.errors import PlanError, did_you_mean
from veil.quality.aggregate import Aggregate, Function
from veil.quality.base import QualityModel
from veil.quality.factors import Weights
from veil.quality.vector import LevelMeasure, VectorMeasure

Losses = Annotated[
    dict[str, list[Annotated[float, Field(ge=0, allow_inf_nan=False)]]],
    Field(description="for each quasi-identifier its loss on every level, from 0 up, never decreasing"),
]


@declared(kind_of=QualityModel)
class Static(QualityModel):
    """A loss for each attribute and level that the user states. Suppression is ignored.

    >>> Static({"age": [0, 0.2, 1], "sex": [0, 1]})
    Static(losses={'age': [0.0, 0.2, 1.0], 'sex': [0.0, 1.0]}, aggregate='sum', weights={})
    """

    losses: Losses
    aggregate: Function = "sum"
    weights: Weights = Field(default_factory=dict)
    kind: Literal["Static"] = Field(default="Static", repr=False, kw_only=True)

    def bind(self, sample: Sample) -> VectorMeasure:
        """Return the measure for a sample, whose quasi-identifiers must have one loss for each level."""
        names, heights = sample.encoding.names, sample.encoding.heights
        for name in self.losses:
            if name not in names:
                raise PlanError(
                    f"losses for {name!r}, which is not a quasi-identifier.{did_you_mean(name, names)}"
                )
        table = [self._column(name, height) for name, height in zip(names, heights, strict=True)]
        return LevelMeasure(sample, Aggregate(self.aggregate, names, self.weights), table)

    def _column(self, name: str, height: int) -> list[float]:
        if name not in self.losses:
            raise PlanError(f"Static lists no losses for {name!r}; it needs {height + 1}, one for each level")
        losses = self.losses[name]
        if len(losses) != height + 1:
            raise PlanError(f"{name!r} has {height + 1} levels, but Static lists {len(losses)} losses for it")
        for level in range(height):
            if losses[level + 1] < losses[level]:
                raise PlanError(
                    f"the losses of {name!r} should not decrease, but level {level} has {losses[level]} and "
                    f"level {level + 1} has {losses[level + 1]}"
                )
        return losses
