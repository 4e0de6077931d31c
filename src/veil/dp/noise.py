"""Noise for one number: the base of all kinds, and Laplace noise on a grid.

Every kind is a symmetric distribution on whole numbers of grid steps, defined by its tail: the probability of
j steps or more, up or down. See `veil.dp.grid` for why, and `veil.dp.draws` for how.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from veil.base.exact import TURN, ball
from veil.base.randomness import Randomness
from veil.dp.draws import checked_randomness, draw_at_least
from veil.dp.grid import Grid, positive
from veil.dp.symbolic import Readable, Symbolic
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb


class Noise(ABC):
    """Noise for one number.

    Parameters
    ----------
    sensitivity
        The largest change of the number between neighbours: a number, or a text such as "ln(2)".
    whole
        Whether values are whole numbers. Otherwise they are rounded to a grid.
    grid
        The grid has steps of 2^-grid; by default of about a millionth of the sensitivity.
    """

    name: ClassVar[str]

    def __init__(self, sensitivity: Readable | None, *, whole: bool = False, grid: int | None = None) -> None:
        self.sensitivity = positive(sensitivity, "sensitivity")
        if whole and grid is not None:
            raise ParameterError("`grid` is for real numbers: whole numbers are their own grid")
        self.grid = Grid.whole_numbers() if whole else Grid.fine_enough_for(self.sensitivity, grid)

    @abstractmethod
    def tail(self, steps: int) -> arb:
        """Return the probability of so many steps or more, up or down, at the working precision."""

    @abstractmethod
    def guess(self, chance: float) -> float:
        """Return roughly the number of steps that the noise exceeds with a probability."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise."""

    @property
    @abstractmethod
    def mean_absolute_error(self) -> float:
        """The mean distance of a result from the truth."""

    def draw(self, randomness: Randomness | None = None) -> int:
        """Draw the noise, in steps of the grid."""
        source = checked_randomness(randomness)
        size = draw_at_least(self.tail, source, self.guess)
        return -size if size and int(source.bits(1)[0]) & 1 else size

    def add(self, value: Any, randomness: Randomness | None = None) -> float | int:
        """Return a value with noise: a multiple of the step of the grid."""
        return self.grid.value(self.grid.nearest(value) + self.draw(randomness))

    def half_width(self, confidence: float = 0.95) -> float:
        """Return the largest error of a result with a given probability."""
        if not 0 < confidence < 1:
            raise ParameterError(f"`confidence` should be between 0 and 1, not {confidence!r}")
        outside = 1 - Fraction(str(confidence))

        def is_enough(steps: int) -> bool:
            from flint import ctx

            with TURN, ctx.workprec(192):  # a figure for display: indistinguishable numbers are equal
                return bool(self.tail(steps + 1) < ball(outside + Fraction(1, 2**128)))

        low, high = -1, max(1, math.ceil(self.guess(float(outside))))
        while not is_enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        # Rounding to the grid moves a value by half a step.
        return float(high * self.grid.step + (0 if self.grid.is_exact else self.grid.step / 2))

    def interval_length(self, confidence: float = 0.95) -> float:
        """Return the length of the interval around the truth that contains a result with a given probability.

        Where the grid approximates a density, it is that of the density.
        """
        return 2 * self.half_width(confidence)


class PureNoise(Noise):
    """Noise for one number that is epsilon-differentially private.

    Parameters
    ----------
    epsilon
        Its privacy loss: a number, or a text such as "ln(2)".
    """

    def __init__(
        self,
        sensitivity: Readable | None,
        epsilon: Readable | None,
        *,
        whole: bool = False,
        grid: int | None = None,
    ) -> None:
        super().__init__(sensitivity, whole=whole, grid=grid)
        self.steps = self.grid.reach(self.sensitivity)
        """The largest hidden distance of two values on the grid."""
        self.epsilon = positive(epsilon)


class Laplace(PureNoise):
    """Laplace noise: epsilon-differentially private (Dwork et al. 2006).

    On steps of the grid, P(i) is proportional to e^(-epsilon |i| / s): a shift by s steps changes it by
    e^epsilon. For whole numbers it is the geometric mechanism (Ghosh et al. 2012).

    >>> noise = Laplace(1, 1)
    >>> noise.variance, round(noise.half_width(0.95), 4), -50 < noise.add(3.5) < 60
    (2.0, 2.9957, True)
    """

    name: ClassVar[str] = "laplace"

    @property
    def rate(self) -> Symbolic:
        """The privacy loss of a step, as an epsilon."""
        return self.epsilon / self.steps

    def tail(self, steps: int) -> arb:
        if steps <= 0:
            return 0 * self.rate.ball() + 1
        return 2 * (self.rate.ball() * -steps).exp() / (1 + (-self.rate.ball()).exp())

    def guess(self, chance: float) -> float:
        return -math.log(chance * (1 + math.exp(-float(self.rate))) / 2) / float(self.rate)

    @property
    def scale(self) -> float:
        """The scale of the density that the grid approximates."""
        return float(self.sensitivity) / float(self.epsilon)

    @property
    def variance(self) -> float:
        if not self.grid.is_exact:
            return 2 * self.scale**2
        rate = float(self.rate)
        return 2 * math.exp(-rate) / math.expm1(-rate) ** 2

    @property
    def mean_absolute_error(self) -> float:
        return self.scale if not self.grid.is_exact else 1 / math.sinh(float(self.rate))

    def interval_length(self, confidence: float = 0.95) -> float:
        exact = 2 * self.scale * -math.log(1 - confidence)
        return super().interval_length(confidence) if self.grid.is_exact else exact
