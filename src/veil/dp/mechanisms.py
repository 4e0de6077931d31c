"""Random choices and random noise: the building blocks of differentially private methods.

`ExponentialChoice` draws from a changing set of candidates, better ones more often, with exactly the
probabilities of the proof. The selection of OpenDP adds noise to every candidate anew, takes scores that are
machine numbers, and needs about two milliseconds for two thousand of them; this one takes exact fractions and
some thirty microseconds.

`laplace` and `geometric` are OpenDP's, which samples without rounding errors. It is imported when used.
`gaussian` is `veil.dp.gaussian`, whose standard deviation is the least one.

All randomness is the operating system's.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from veil.base.exact import TURN, ball
from veil.base.randomness import Randomness
from veil.dp.gaussian import Gaussian
from veil.dp.grid import positive
from veil.dp.symbolic import Readable, Symbolic, brief, enclosure
from veil.errors import MissingDependencyError, ParameterError

Candidate = TypeVar("Candidate", bound=Hashable)

_LARGEST_WEIGHT = 2.0**900
"""A weight is at most this, so that sums of them stay far from overflow."""

_LEAST_TOTAL = 2.0**-500
"""If the sum of all weights is less, they are computed again relative to another candidate."""

_LEAST_WEIGHT = 2.0**-1000
"""Smaller weights count as 0 in doubles."""


class ExponentialChoice(Generic[Candidate]):
    """The exponential mechanism on a set of candidates that changes.

    `draw` returns a candidate with a probability proportional to exp(epsilon * score / (2 * sensitivity)),
    which is epsilon-differentially private if no score changes by more than the sensitivity between
    neighbouring tables (McSherry and Talwar 2007). If all scores change by numbers that are at most r apart,
    r/2 will do in its place.

    *Probabilities are exact.* Let the weights be w_1, …, w_n, C_i the sum of the first i, and U an infinite
    sequence of random binary digits, read as a number from 0 to 1. The candidate drawn is the i with
    C_(i-1) <= U * C_n < C_i. Doubles usually suffice to find it: with u for the first 64 digits and sums S_i
    of rounded weights,

    - every weight is off by at most 2^-52 of itself (it is rounded from a ball of 56 bits or more) and, where
      it is left out, by 2^-1000; adding up n of them is off by at most (n - 1) * 2^-53 * S_n (any order, IEEE
      754); so |S_i - C_i| <= (n + 2) * 2^-52 * S_n, as S_n > 2^-500;
    - |u * S_n - U * C_n| <= (n + 4) * 2^-52 * S_n, with the digits of U that are not known and two roundings.

    If no S_i is within (n + 8) * 2^-50 * S_n of u * S_n, which is more than both together, the answer is
    certain. If one is, which happens once in some hundred million draws from 2000 candidates, further digits
    are drawn and compared in ball arithmetic until the answer is certain.

    >>> choice = ExponentialChoice(1, sensitivity=1, randomness=Randomness.for_testing(7))
    >>> for name, score in [("good", 9), ("fair", 5), ("poor", 0)]:
    ...     choice.add(name, score)
    >>> [choice.draw() for _ in range(6)]
    ['good', 'fair', 'good', 'good', 'good', 'fair']
    >>> choice.remove("good")
    >>> choice.candidates
    ('poor', 'fair')
    """

    def __init__(
        self, epsilon: Readable, sensitivity: int | Fraction, randomness: Randomness | None = None
    ) -> None:
        budget = positive(epsilon, "epsilon")
        if not sensitivity > 0:
            raise ParameterError(f"`sensitivity` should be greater than 0, not {sensitivity}")
        self._rate = budget / (2 * Fraction(sensitivity))
        self._randomness = randomness or Randomness()
        self._candidates: list[Candidate] = []
        self._scores: list[Fraction] = []
        self._places: dict[Candidate, int] = {}
        self._weights = np.zeros(64)
        self._weighed = 0  # number of weights computed so far
        self._reference = Fraction(0)  # weight 1

    def __len__(self) -> int:
        return len(self._candidates)

    def __contains__(self, candidate: object) -> bool:
        return candidate in self._places

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates, in the order in which a draw goes through them."""
        return tuple(self._candidates)

    def add(self, candidate: Candidate, score: int | Fraction) -> None:
        """Add a candidate with its score."""
        if candidate in self._places:
            raise ParameterError(
                f"{candidate!r} is already a candidate: remove it before giving it another score"
            )
        self._places[candidate] = len(self._candidates)
        self._candidates.append(candidate)
        self._scores.append(Fraction(score))

    def remove(self, candidate: Candidate) -> None:
        """Remove a candidate; the last one takes its place."""
        if candidate not in self._places:
            raise ParameterError(f"{candidate!r} is not a candidate")
        self._weigh()
        place, last = self._places.pop(candidate), len(self._candidates) - 1
        if place < last:
            self._candidates[place] = self._candidates[last]
            self._scores[place] = self._scores[last]
            self._weights[place] = self._weights[last]
            self._places[self._candidates[place]] = place
        del self._candidates[last], self._scores[last]
        self._weighed = last

    def draw(self) -> Candidate:
        """Draw a candidate; it stays among the candidates."""
        n = len(self._candidates)
        if n == 0:
            raise ParameterError("there are no candidates to draw from")
        self._weigh()
        sums = np.cumsum(self._weights[:n])
        if sums[-1] < _LEAST_TOTAL:
            self._weigh_anew()
            sums = np.cumsum(self._weights[:n])
        digits = int(self._randomness.bits(1)[0])
        target, doubt = digits * 2.0**-64 * sums[-1], (n + 8) * 2.0**-50 * sums[-1]
        first, last = np.searchsorted(sums, (target - doubt, target + doubt), side="right")
        place = int(first) if first == min(last, n - 1) else self._decide(digits)
        return self._candidates[place]

    # --- weights --------------------------------------------------------------------------------------

    def _weigh(self) -> None:
        """Compute the missing weights."""
        first, n = self._weighed, len(self._candidates)
        if first == n:
            return
        if n > self._weights.size:
            self._weights = np.concatenate([self._weights, np.zeros(max(n, self._weights.size))])
        if first == 0:
            self._reference = max(self._scores)
        weights = self._weights_as_doubles(self._scores[first:])
        if weights is None:
            self._weigh_anew()
        else:
            self._weights[first:n] = weights
            self._weighed = n

    def _weigh_anew(self) -> None:
        """Compute all weights again, with 1 for the best candidate."""
        self._weighed = 0
        self._weigh()

    def _weights_as_doubles(self, scores: list[Fraction]) -> list[float] | None:
        """Return weights as doubles; None if one is too large for that."""
        from flint import ctx

        for bits in (128, 512, 4096):
            with TURN, ctx.workprec(bits):
                balls = self._balls(scores)
                if any(weight.rel_accuracy_bits() < 56 for weight in balls):
                    continue
                rounded = [float(weight) for weight in balls]  # the middle, to nearest
            if max(rounded) > _LARGEST_WEIGHT:
                return None
            return [weight if weight >= _LEAST_WEIGHT else 0.0 for weight in rounded]
        raise ParameterError("the scores are too large to be distinguished: divide them by a common factor")

    def _balls(self, scores: Iterable[Fraction]) -> list[Any]:
        from flint import arb, fmpq

        rate = self._rate.ball()
        base = rate * ball(self._reference)
        return [(rate * arb(fmpq(score.numerator, score.denominator)) - base).exp() for score in scores]

    # --- close calls ----------------------------------------------------------------------------------

    def _decide(self, digits: int) -> int:
        """Return the place that U points to, given its first 64 digits; draw more until it is certain."""
        from flint import ctx

        bits = 64
        while True:
            for word in self._randomness.bits(bits // 64):  # as many again
                digits = digits << 64 | int(word)
            bits *= 2
            with TURN, ctx.workprec(bits + 64):
                weights = self._balls(self._scores)
                total = sum(weights[1:], weights[0])
                low, high = (total * ball(Fraction(edge, 1 << bits)) for edge in (digits, digits + 1))
                passed = 0 * total
                for place, weight in enumerate(weights):
                    begins = place == 0 or passed <= low
                    passed += weight
                    if begins and (place == len(weights) - 1 or high <= passed):
                        return place


def exponential(
    scores: dict[Candidate, int | Fraction],
    sensitivity: int | Fraction,
    epsilon: Readable,
    randomness: Randomness | None = None,
) -> Candidate:
    """Draw one of some candidates by the exponential mechanism: see `ExponentialChoice`.

    >>> exponential({"good": 100, "poor": 0}, sensitivity=1, epsilon=1)
    'good'
    """
    choice = ExponentialChoice[Candidate](epsilon, sensitivity, randomness)
    for candidate, score in scores.items():
        choice.add(candidate, score)
    return choice.draw()


# --- noise ------------------------------------------------------------------------------------------


def laplace(
    value: float, sensitivity: Readable, epsilon: Readable, *, randomness: Randomness | None = None
) -> float:
    """Return a number with Laplace noise: epsilon-differentially private (Dwork et al. 2006).

    `sensitivity` is the largest change of the number by one record.

    >>> -100 < laplace(42.0, sensitivity=1, epsilon=1) < 200
    True
    """
    _operating_system(randomness)
    return float(_laplace("f64", positive(sensitivity, "sensitivity"), positive(epsilon))(_finite(value)))


def geometric(
    value: int, sensitivity: int, epsilon: Readable, *, randomness: Randomness | None = None
) -> int:
    """Return a whole number with two-sided geometric noise: epsilon-private (Ghosh et al. 2012).

    >>> -100 < geometric(42, sensitivity=1, epsilon=1) < 200
    True
    """
    _operating_system(randomness)
    reach = Symbolic(Fraction(_whole(sensitivity, "sensitivity")))
    return int(_laplace("i64", positive(reach, "sensitivity"), positive(epsilon))(_whole(value, "value")))


def gaussian(
    value: float,
    sensitivity: Readable,
    epsilon: Readable,
    delta: Readable,
    *,
    randomness: Randomness | None = None,
) -> float:
    """Return a number with Gaussian noise: (epsilon, delta)-differentially private (Balle and Wang 2018).

    >>> -200 < gaussian(42.0, sensitivity=1, epsilon=1, delta=1e-6) < 300
    True
    """
    _operating_system(randomness)
    return float(Gaussian(positive(sensitivity, "sensitivity"), epsilon, delta).add(_finite(value)))


@functools.lru_cache(maxsize=64)
def _laplace(kind: str, sensitivity: Symbolic, epsilon: Symbolic) -> Any:
    """Return the measurement with the least scale that OpenDP itself certifies for the budget."""
    metrics, domains, measurements = _opendp()
    reach = _up(sensitivity) if kind == "f64" else int(sensitivity.rational)
    domain = domains.atom_domain(T=kind, nan=False) if kind == "f64" else domains.atom_domain(T=kind)
    least = float(reach) / float(epsilon) if float(epsilon) else math.inf
    if not 1e-290 < least < 1e290:
        raise ParameterError(f"noise of scale {sensitivity} / {epsilon} is beyond what a double can hold")
    for digits in range(52, 0, -1):  # usually one of the first: OpenDP rounds up what it certifies
        measurement = measurements.make_laplace(
            domain, metrics.absolute_distance(T=kind), scale=least * (1 + 2.0**-digits)
        )
        if Symbolic(Fraction(measurement.map(reach))) <= epsilon:
            return measurement
    raise ParameterError(f"OpenDP has no Laplace noise for sensitivity {sensitivity} and epsilon {epsilon}")


def _opendp() -> tuple[Any, Any, Any]:
    try:
        from opendp import domains, measurements, metrics, mod
    except ImportError:
        raise MissingDependencyError(
            "Noise needs OpenDP. Install it with: pip install 'veil-anonymizer[noise]'"
        ) from None
    mod.enable_features("contrib")  # what has been proved and reviewed, but not vetted by OpenDP's committee
    return metrics, domains, measurements


def _operating_system(randomness: Randomness | None) -> None:
    if randomness is not None and not randomness.is_private:
        raise ParameterError(
            "this noise is drawn from the operating system's randomness and cannot be repeated with a seed: leave out "
            "`randomness`"
        )


def _whole(number: object, name: str) -> int:
    if not isinstance(number, int | np.integer) or not -(2**63) <= number < 2**63:
        raise ParameterError(f"`{name}` should be a whole number of at most 63 bits, not {brief(number)}")
    return int(number)


def _finite(value: float) -> float:
    with contextlib.suppress(OverflowError, TypeError, ValueError):
        if math.isfinite(value):
            return float(value)
    raise ParameterError(f"`value` should be a finite number, not {brief(value)}")


def _up(number: Symbolic) -> float:
    high = enclosure(lambda bits: number.ball())[1]
    rounded = float(high)
    return rounded if Fraction(rounded) >= high else math.nextafter(rounded, math.inf)
