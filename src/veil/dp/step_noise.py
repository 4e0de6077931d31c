"""Step noise: noise for several numbers at once, each with its own sensitivity.

With q = e^-epsilon, an i is drawn with weights q^i times the product of z_j + i s_j, and then every component
j, uniform on ±(z_j + i s_j) (Soria-Comas 2013, theorem 3, for boxes). The density at x is proportional to
q^b, b the first box that contains x, and a shift by at most s_j in each component j goes at most one box
farther: epsilon is for all components together. Components are dependent: one is far off where others are.

Laplace noise has to be scaled to the sum of all s_j. Step noise is smaller where these differ, and so is the
region that contains all results together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from veil.base.randomness import Randomness
from veil.dp.draws import checked_randomness, draw_at_least, draw_below
from veil.dp.geometric_sums import fall_of, falling_sum
from veil.dp.grid import Grid, exact_value, positive
from veil.dp.symbolic import Readable
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb


class StepNoise:
    """Step noise for a vector: epsilon-differentially private, for all of its components together.

    Parameters
    ----------
    sensitivities
        The largest change of each component between neighbours; all of them may change at once.
    epsilon
        The privacy loss of the whole vector.
    core
        The half-widths z of the first box, at most the sensitivities; by default those of least variance, all
        in the same proportion to the sensitivities.
    whole, grid
        As for `Laplace`.

    >>> noise = StepNoise([1, 10], 1, core=[0.1, 1])
    >>> [round(each, 4) for each in noise.variances], round(noise.region(0.95), 2)
    ([4.0338, 403.3805], 916.89)
    >>> noise = StepNoise([1, 1], 1)
    >>> round(noise.core[0], 6), round(noise.variances[0], 6), len(noise.add([0, 7.5]))
    (0.697533, 3.970828, 2)
    """

    name: ClassVar[str] = "step"

    def __init__(
        self,
        sensitivities: Sequence[Readable],
        epsilon: Readable | None,
        core: Sequence[float] | None = None,
        *,
        whole: bool = False,
        grid: int | None = None,
    ) -> None:
        if not sensitivities:
            raise ParameterError("`sensitivities` is empty: give one for each component")
        self.sensitivities = [positive(each, "sensitivities") for each in sensitivities]
        self.epsilon = positive(epsilon)
        if whole and grid is not None:
            raise ParameterError("`grid` is for real numbers: whole numbers are their own grid")
        self._grids = [
            Grid.whole_numbers() if whole else Grid.fine_enough_for(each, grid) for each in self.sensitivities
        ]
        self._steps = [each.reach(reach) for each, reach in zip(self._grids, self.sensitivities, strict=True)]
        self.core = self._least_variance() if core is None else self._check_core(core)
        """The half-widths z of the first box."""
        self._core = [
            min(max(1, round(exact_value(z) / each.step)), steps)
            for z, each, steps in zip(self.core, self._grids, self._steps, strict=True)
        ]
        # There are as many whole numbers up to ±n as the interval ±(n + 1/2) is long: figures are those of
        # such intervals, corrected for the smaller variance of uniform whole numbers.
        self._lack = 1 if whole else 0
        if whole:
            self.core = [float(each) for each in self._core]

    def draw(self, randomness: Randomness | None = None) -> list[int]:
        """Draw the noise of all components, each in steps of its grid."""
        source = checked_randomness(randomness)
        box = draw_at_least(self._tail, source)
        ends = [z + box * s - 1 for z, s in zip(self._core, self._steps, strict=True)]
        return [draw_below(2 * end + 1, source) - end for end in ends]

    def add(self, values: Sequence[Any], randomness: Randomness | None = None) -> list[float | int]:
        """Return a vector with noise: multiples of the steps of the grids."""
        if len(values) != len(self.core):
            raise ParameterError(
                f"`values` should be {len(self.core)} numbers, one for each sensitivity, not {len(values)}"
            )
        nearest = [grid.nearest(value) for grid, value in zip(self._grids, values, strict=True)]
        triples = zip(self._grids, nearest, self.draw(randomness), strict=True)
        return [grid.value(value + noise) for grid, value, noise in triples]

    @property
    def variances(self) -> list[float]:
        """The variance of each component."""
        return [self._moment(j, lambda end: end**2 / 3 - self._lack / 12, 2) for j in range(len(self.core))]

    @property
    def mean_absolute_errors(self) -> list[float]:
        """The mean distance of each component from the truth."""
        return [
            self._moment(j, lambda end: end / 2 - self._lack / (8 * end), 1) for j in range(len(self.core))
        ]

    @property
    def height(self) -> float:
        """The density in the first box, M."""
        q, rest = fall_of(self.epsilon)
        return 1 / (rest * float(falling_sum(self._volumes(len(self.core) + 1), q, rest)))

    def region(self, confidence: float = 0.95) -> float:
        """Return the volume of the smallest region around the truth with a given probability.

        As the density falls from box to box, it consists of some boxes and a part of the next one.
        """
        q, _ = fall_of(self.epsilon)
        inside, volume, box = 0.0, 0.0, 0
        while True:
            larger = math.prod(2 * end for end in self._ends(box))
            density = self.height * q**box
            mass = density * (larger - volume)
            if inside + mass >= confidence:
                return volume + (confidence - inside) / density
            inside, volume, box = inside + mass, larger, box + 1

    def half_width(self, component: int, confidence: float = 0.95) -> float:
        """Return the largest error of a component with a given probability."""
        low, high = 0.0, self._ends(1)[component]
        while self._beyond(component, high) > 1 - confidence:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._beyond(component, middle) > 1 - confidence else (low, middle)
        return math.ceil(high - 0.5) if self._lack else high

    # --- sums over boxes ------------------------------------------------------------------------------

    def _tail(self, box: int) -> arb:
        """Return the probability of a box or one after it."""
        q: arb = (-self.epsilon.ball()).exp()
        weights = [falling_sum(self._counts(first), q, 1 - q) for first in (box, 0)]
        chance: arb = q**box * weights[0] / weights[1]
        return chance

    def _counts(self, first: int) -> list[int]:
        """Return how many grid points some boxes have, which is a polynomial in their number."""
        return [
            math.prod(2 * (z + (first + i) * s) - 1 for z, s in zip(self._core, self._steps, strict=True))
            for i in range(len(self._core) + 1)
        ]

    def _ends(self, box: int) -> list[float]:
        widths = zip(self.core, self.sensitivities, strict=True)
        return [z - self._lack / 2 + box * float(s) for z, s in widths]

    def _volumes(self, boxes: int, first: int = 0) -> list[float]:
        return [math.prod(2 * end for end in self._ends(first + i)) for i in range(boxes)]

    def _moment(self, component: int, of_uniform: Callable[[float], float], degree: int) -> float:
        """Return a moment of a component, given that of the uniform distribution up to an end."""
        q, rest = fall_of(self.epsilon)
        boxes = len(self.core) + 1 + degree
        weighted = [
            volume * of_uniform(self._ends(i)[component]) for i, volume in enumerate(self._volumes(boxes))
        ]
        return float(falling_sum(weighted, q, rest) / falling_sum(self._volumes(len(self.core) + 1), q, rest))

    def _beyond(self, component: int, end: float) -> float:
        """Return the probability that a component is farther from the truth than an end."""
        q, rest = fall_of(self.epsilon)
        first = max(0, math.ceil((end - self._ends(0)[component]) / float(self.sensitivities[component])))
        boxes = len(self.core) + 1
        outside = [
            volume * (1 - end / self._ends(first + i)[component])
            for i, volume in enumerate(self._volumes(boxes, first))
        ]
        whole = falling_sum(self._volumes(boxes), q, rest)
        return float(q**first * falling_sum(outside, q, rest) / whole)

    # --- the first box --------------------------------------------------------------------------------

    def _least_variance(self) -> list[float]:
        """Return the first box of least variance among those in proportion to the sensitivities.

        The variance is s_j^2 times the same function of the proportion, which has one minimum from 0 to 1.
        """
        q, rest = fall_of(self.epsilon)
        numbers = len(self.sensitivities)

        def variance(part: float) -> float:
            ends = [part + i for i in range(numbers + 3)]
            total = falling_sum([b**numbers for b in ends[: numbers + 1]], q, rest)
            return float(falling_sum([b ** (numbers + 2) for b in ends], q, rest) / total)

        ratio, low, high = (math.sqrt(5) - 1) / 2, 0.0, 1.0
        for _ in range(80):
            one, other = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, other) if variance(one) <= variance(other) else (one, high)
        return [high * float(each) for each in self.sensitivities]

    def _check_core(self, core: Sequence[float]) -> list[float]:
        if len(core) != len(self.sensitivities):
            raise ParameterError(
                f"`core` should have {len(self.sensitivities)} half-widths, one for each sensitivity, not {len(core)}"
            )
        for z, reach in zip(core, self.sensitivities, strict=True):
            if not 0 < exact_value(z, "core") <= Fraction(float(reach)):
                raise ParameterError(
                    f"`core` should be above 0 and at most the sensitivity, {reach}, not {z!r}"
                )
        return [float(each) for each in core]
