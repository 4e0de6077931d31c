"""Staircase noise: optimal noise for one number, by variance, absolute error or interval.

All optimal symmetric noises have a density that falls in steps (Soria-Comas 2013, theorems 1 and 2; Geng and
Viswanath 2014). With q = e^-epsilon and D the sensitivity, it is M on |x| < d and M q^(i+1) on d + iD <= |x|
< d + (i+1)D, for some d from 0 to D, and M = 1 / (2 (d + D q / (1 - q))). That is, it is uniform on ±(d +
iD), for an i that is drawn with weights q^i (d + iD). A shift by at most D crosses at most one step, of q.

On whole numbers the probability is M on |i| < r and M q^j, j = floor((|i| - r) / D) + 1, beyond, for some r
from 1 to D, and M = 1 / (2r - 1 + 2D q / (1 - q)). For D = 1 that is the geometric mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from veil.base.exact import ball
from veil.dp.geometric_sums import fall_of, falling_sum
from veil.dp.grid import exact_value
from veil.dp.noise import PureNoise
from veil.dp.symbolic import Readable
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

Best = str | float
_BEST = ("variance", "absolute error", "like Laplace")
_ALL_TRIED = 256
"""Up to so many steps, every core is tried; beyond, only those next to the optimum of the density."""


class Staircase(PureNoise):
    """Staircase noise: epsilon-differentially private, with the least variance, error or interval.

    Parameters
    ----------
    sensitivity, epsilon, whole, grid
        As for `Laplace`.
    best
        The figure to minimize: "variance", "absolute error", or the length of the interval with a confidence
        such as 0.95. "like Laplace" has the height of Laplace noise at 0, and is nowhere worse.
    d
        The half-width of the first step, in place of `best`; on whole numbers, r.

    >>> noise = Staircase(1, 1)
    >>> round(noise.d, 6), round(noise.variance, 6)
    (0.416737, 1.918104)
    >>> whole = Staircase(4, 1, whole=True)
    >>> whole.core, round(whole.variance, 5), type(whole.add(17))
    (2, 30.63501, <class 'int'>)
    """

    name: ClassVar[str] = "staircase"

    def __init__(
        self,
        sensitivity: Readable | None,
        epsilon: Readable | None,
        *,
        best: Best = "variance",
        d: float | None = None,
        whole: bool = False,
        grid: int | None = None,
    ) -> None:
        super().__init__(sensitivity, epsilon, whole=whole, grid=grid)
        reach = float(self.sensitivity)
        self.best = _check_best(best)
        self.d = _best_d(reach, *self._fall, self.best) if d is None else _check_d(d, reach)
        near = round(exact_value(self.d) / self.grid.step)
        if whole and d is None:
            cores: Iterable[int] = range(1, self.steps + 1)
            if self.steps > _ALL_TRIED:
                cores = {min(max(1, near + shift), self.steps) for shift in range(-2, 3)}
            self.core = min(cores, key=self._badness)
        elif whole and near != self.d:
            raise ParameterError(f"`d` of whole numbers should be a whole number, not {d!r}")
        else:
            self.core = min(max(1, near), self.steps)
        """The half-width of the first step in steps of the grid, r."""

    @property
    def _fall(self) -> tuple[float, float]:
        return fall_of(self.epsilon)

    def tail(self, steps: int) -> arb:
        q = (-self.epsilon.ball()).exp()
        rest = 1 - q
        height = 1 / (2 * self.core - 1 + 2 * self.steps * q / rest)
        if steps <= 0:
            return ball(1)
        if steps <= self.core:
            return 1 - height * (2 * steps - 1)
        fallen, into = divmod(steps - self.core, self.steps)
        left: arb = (self.steps - into) + self.steps * q / rest
        return 2 * height * q ** (fallen + 1) * left

    def guess(self, chance: float) -> float:
        q, rest = self._fall
        return _half_length(self.core - 0.5, self.steps, q, rest, chance) if q else self.core * (1 - chance)

    @property
    def variance(self) -> float:
        if self.grid.is_exact:
            return self._moment(self.core, lambda n: n * (n + 1) / 3)
        return variance_of(self.d, float(self.sensitivity), *self._fall)

    @property
    def mean_absolute_error(self) -> float:
        if self.grid.is_exact:
            return self._moment(self.core, lambda n: n * (n + 1) / (2 * n + 1))
        return absolute_error_of(self.d, float(self.sensitivity), *self._fall)

    def interval_length(self, confidence: float = 0.95) -> float:
        if self.grid.is_exact:
            return super().interval_length(confidence)
        return 2 * _half_length(self.d, float(self.sensitivity), *self._fall, 1 - confidence)

    def _moment(self, core: int, of_uniform: Callable[[int], float]) -> float:
        """Return a moment on whole numbers, given that of the uniform distribution on -n, …, n."""
        q, rest = self._fall
        ends = [core + i * self.steps - 1 for i in range(4)]
        weighted = [(2 * n + 1) * of_uniform(n) for n in ends]
        return float(falling_sum(weighted, q, rest) / falling_sum([2 * n + 1 for n in ends[:2]], q, rest))

    def _badness(self, core: int) -> float:
        """Return the figure to minimize."""
        if self.best == "absolute error":
            return self._moment(core, lambda n: n * (n + 1) / (2 * n + 1))
        if isinstance(self.best, float):
            return Staircase(self.sensitivity, self.epsilon, d=core, whole=True).half_width(self.best)
        return self._moment(core, lambda n: n * (n + 1) / 3)


def variance_of(d: float, sensitivity: float, q: float, rest: float) -> float:
    """Return the variance of the density with a first half-width d; a uniform one on ±b has b^2 / 3."""
    ends = [d + i * sensitivity for i in range(4)]
    return float(falling_sum([b**3 / 3 for b in ends], q, rest) / falling_sum(ends[:2], q, rest))


def absolute_error_of(d: float, sensitivity: float, q: float, rest: float) -> float:
    """Return the mean absolute value of the density; a uniform one on ±b has b / 2."""
    ends = [d + i * sensitivity for i in range(3)]
    return float(falling_sum([b**2 / 2 for b in ends], q, rest) / falling_sum(ends[:2], q, rest))


def _half_length(d: float, sensitivity: float, q: float, rest: float, outside: float) -> float:
    """Return the x that |noise| exceeds with a given probability; the tail is linear between steps."""
    height = 1 / (2 * (d + sensitivity * q / rest))
    if 2 * height * sensitivity * q / rest < outside:  # within the first step
        return (1 - outside) / (2 * height)
    step = math.floor(math.log(2 * height * sensitivity / rest / outside) / -math.log(q)) - 1
    beyond = 2 * height * sensitivity * q ** (step + 1) / rest  # at d + step * sensitivity
    return d + step * sensitivity + (beyond - outside) / (2 * height * q ** (step + 1))


def _best_d(sensitivity: float, q: float, rest: float, best: Best) -> float:
    """Return the optimal half-width of the first step, by the closed forms.

    The interval's length is linear in d as long as it ends in the same step, so its minimum is where that
    changes, or at an end.
    """
    rate = -math.log1p(-rest) if rest < 1 else math.inf
    if best == "variance":
        return sensitivity * (math.cbrt(q * (1 + q) / 2) - q) / rest
    if best == "absolute error":
        return sensitivity * math.sqrt(q) / (1 + math.sqrt(q))
    if best == "like Laplace":
        return sensitivity * (rest - rate * q) / (rate * rest) if q else 0.0
    assert isinstance(best, float)
    outside, candidates = 1 - best, [0.0, sensitivity]
    last = math.ceil(-math.log(outside) / rate) + 2
    for step in range(max(0, last - 4 - math.ceil(1 / rest)), last + 1):
        candidates.append(sensitivity / rest * (q ** (step + 1) / outside - q))
    fitting = [d for d in candidates if 0 <= d <= sensitivity]
    return min(fitting, key=lambda d: _half_length(d, sensitivity, q, rest, outside))


def _check_best(best: Best) -> Best:
    if isinstance(best, float) and 0 < best < 1:
        return best
    if best in _BEST:
        return best
    raise ParameterError(
        f'`best` should be "variance", "absolute error", "like Laplace" or a confidence such as 0.95, not {best!r}'
    )


def _check_d(d: float, sensitivity: float) -> float:
    if not 0 <= exact_value(d, "d") <= sensitivity:
        raise ParameterError(f"`d` should be from 0 to the sensitivity, {sensitivity:g}, not {d!r}")
    return float(d)
