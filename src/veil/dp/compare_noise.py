"""Compare the error of all kinds of noise from public parameters alone, before any budget is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from veil.dp.gaussian import Gaussian
from veil.dp.grid import positive
from veil.dp.noise import Laplace, Noise
from veil.dp.staircase import Staircase
from veil.dp.step_noise import StepNoise
from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.errors import ParameterError


@dataclass(frozen=True)
class NoiseFigures:
    """Error of one kind of noise for each number: `interval` is the length of the interval around the truth.

    `region` is the size of the smallest region around the truth that contains all numbers together.
    """

    noise: str
    variance: tuple[float, ...]
    mean_absolute_error: tuple[float, ...]
    interval: tuple[float, ...]
    region: float

    def __str__(self) -> str:
        groups = (self.variance, self.mean_absolute_error, self.interval, (self.region,))
        cells = ["; ".join(f"{each:.6g}" for each in figures) for figures in groups]
        return f"{self.noise}: variance {cells[0]}, mean absolute error {cells[1]}, interval {cells[2]}, region {cells[3]}"


def compare_noise(
    sensitivity: Readable | Sequence[Readable],
    epsilon: Readable,
    delta: Readable | None = None,
    *,
    confidence: float = 0.95,
    whole: bool = False,
) -> list[NoiseFigures]:
    """Compare the kinds of noise for one number, or for several that one record may change all at once.

    Parameters
    ----------
    sensitivity
        How much a neighbour changes the number; or, for several, each of them.
    epsilon, delta
        The privacy loss of all numbers together. Gaussian noise needs a delta, and is left out without one.
    confidence
        The probability of intervals and of the region.
    whole
        Whether the numbers are whole.

    >>> for each in compare_noise(1, 1):
    ...     print(each)
    laplace: variance 2, mean absolute error 1, interval 5.99146, region 5.99146
    staircase, best variance: variance 1.9181, mean absolute error 0.960287, interval 5.99146, region 5.99146
    staircase, best absolute error: variance 1.91968, mean absolute error 0.959517, interval 5.99179, region 5.99179
    staircase, best interval: variance 2.16939, mean absolute error 1.07985, interval 5.98653, region 5.98653
    >>> [round(each.region, 2) for each in compare_noise([1, 10], 1)]
    [5446.03, 872.45]
    """
    if isinstance(sensitivity, str) or not isinstance(sensitivity, Sequence):
        return _compare_for_one_number(sensitivity, epsilon, delta, confidence, whole)
    reaches = [positive(each, "sensitivity") for each in sensitivity]
    if not reaches:
        raise ParameterError("`sensitivity` is empty: give one for each number")
    number = len(reaches)
    laplace = Laplace(sum(reaches[1:], reaches[0]), epsilon, whole=whole)
    radius = laplace.scale * _gamma_quantile(number, confidence)
    figures = [_equal_figures(laplace, number, confidence, (2 * radius) ** number / math.factorial(number))]
    step = StepNoise(reaches, epsilon, whole=whole)
    intervals = tuple(2 * step.half_width(each, confidence) for each in range(number))
    figures.append(
        NoiseFigures(
            "step",
            tuple(step.variances),
            tuple(step.mean_absolute_errors),
            intervals,
            step.region(confidence),
        )
    )
    if delta is not None:
        gaussian = Gaussian(root_of_squares(reaches), epsilon, delta, numbers=number, whole=False)
        radius = gaussian.sigma * math.sqrt(2 * _gamma_quantile(number / 2, confidence))
        volume = math.pi ** (number / 2) / math.gamma(number / 2 + 1) * radius**number
        figures.append(_equal_figures(gaussian, number, confidence, volume))
    return figures


def _compare_for_one_number(
    sensitivity: Readable, epsilon: Readable, delta: Readable | None, confidence: float, whole: bool
) -> list[NoiseFigures]:
    kinds: dict[str, Noise] = {"laplace": Laplace(sensitivity, epsilon, whole=whole)}
    for name, best in (
        ("variance", "variance"),
        ("absolute error", "absolute error"),
        ("interval", confidence),
    ):
        kinds[f"staircase, best {name}"] = Staircase(sensitivity, epsilon, best=best, whole=whole)
    if delta is not None:
        kinds["gaussian"] = Gaussian(sensitivity, epsilon, delta, whole=whole)
    figures = []
    for name, noise in kinds.items():
        length = noise.interval_length(confidence)
        figures.append(NoiseFigures(name, (noise.variance,), (noise.mean_absolute_error,), (length,), length))
    return figures


def _equal_figures(noise: Noise, number: int, confidence: float, region: float) -> NoiseFigures:
    errors = (noise.mean_absolute_error,) * number
    lengths = (noise.interval_length(confidence),) * number
    return NoiseFigures(noise.name, (noise.variance,) * number, errors, lengths, region)


def root_of_squares(reaches: Sequence[Symbolic]) -> Fraction:
    """Return the Euclidean norm of a vector of sensitivities, rounded up.

    >>> root_of_squares([Symbolic.read(3), Symbolic.read(4)])
    Fraction(5, 1)
    """
    return enclosure(
        lambda bits: sum((each.ball() ** 2 for each in reaches[1:]), reaches[0].ball() ** 2).sqrt()
    )[1]


def _gamma_quantile(shape: float, confidence: float) -> float:
    """Return a quantile of the gamma distribution, by bisection."""
    from flint import arb

    low, high = 0.0, 1.0
    while float((1 - arb(high).gamma_upper(arb(shape), regularized=1)).mid()) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        reached = float((1 - arb(middle).gamma_upper(arb(shape), regularized=1)).mid()) >= confidence
        low, high = (low, middle) if reached else (middle, high)
    return high
