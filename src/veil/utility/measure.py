"""A measured value with its least and greatest possible value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from veil.errors import ParameterError
from veil.quality.aggregate import geometric_mean

Function = Literal["arithmetic_mean", "geometric_mean", "maximum"]


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


_FUNCTIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "arithmetic_mean": _mean,
    "geometric_mean": geometric_mean,
    "maximum": max,
}


@dataclass(frozen=True)
class Measured:
    """Information loss: a value between that of the original and that of a table without information.

    `quality` is 1 for the original and 0 for a table without information. If nothing could be lost, it is 1.

    >>> Measured(4.0, minimum=2.0, maximum=10.0).quality
    0.75
    """

    value: float
    minimum: float
    maximum: float

    @property
    def quality(self) -> float:
        """The share of information left, from 0 to 1."""
        if not self.maximum > self.minimum:
            return 1.0
        loss = (self.value - self.minimum) / (self.maximum - self.minimum)
        return 1.0 - min(1.0, max(0.0, loss))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "value": self.value,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "quality": self.quality,
        }


def aggregate(
    measures: Sequence[Measured], function: Function = "arithmetic_mean", *, normalized: bool = False
) -> float:
    """Return the quality of several attributes together.

    Values, minima and maxima are aggregated before they become a quality, as in ARX; `normalized` aggregates
    the lost shares instead. The geometric mean is that of the numbers plus one, minus one.

    >>> both = [Measured(1.0, 0.0, 1.0), Measured(0.0, 0.0, 3.0)]
    >>> aggregate(both), aggregate(both, normalized=True)
    (0.75, 0.5)
    """
    if not measures:
        return 1.0
    if function not in _FUNCTIONS:
        names = ", ".join(map(repr, _FUNCTIONS))
        raise ParameterError(f"`function` should be one of {names}, not {function!r}")
    combine = _FUNCTIONS[function]
    if normalized:
        return 1.0 - combine([1.0 - each.quality for each in measures])
    return Measured(
        combine([each.value for each in measures]),
        combine([each.minimum for each in measures]),
        combine([each.maximum for each in measures]),
    ).quality
