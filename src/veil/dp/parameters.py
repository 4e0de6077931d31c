r"""The sampling probability and the smallest class size that follow from a budget.

Each record is drawn with probability β; drawn records are generalized by a scheme that does not depend on
them, and classes with fewer than k records are suppressed. Claims and proofs, with f(j; n, β) for the chance
that j of n records are drawn and γ = 1 - (1 - β) e^-ε:

1. *Sampling, generalizing and suppressing is (ε, δ)-private for every ε ≥ -ln(1 - β), with δ = d(k, β, ε) =
   max over n of the sum of f(j; n, β) over j ≥ k with j > γn* (Li, Qardaji and Su 2012; Bild, Kuhn and
   Prasser 2018, Theorems 3 and 11). Two neighbours differ by one record, so in one class: n records against
   n - 1. The class shows its j drawn records if j ≥ k, and nothing otherwise. The ratio f(j; n) / f(j; n - 1)
   is n (1 - β) / (n - j), which exceeds e^ε exactly if j > γn: the sum is the chance of such a j. The inverse
   ratio (n - j) / (n (1 - β)) is at most 1 / (1 - β) ≤ e^ε. "Nothing" is less likely with n records than with
   n - 1, and at most e^ε times as likely the other way around, as each of its j is. So β may be anything up
   to 1 - e^-ε, and a larger ε only makes γ larger and the sum smaller: the curve that `smoothness` returns
   falls.

2. *d(k, β, ε) = max over t ≥ k of A_t, the chance that at least t of n_t records are drawn, where n_t is the
   largest n with γn < t.* Group n by t, the smallest admissible j: for γn < k it is k, else the integer after
   γn. Within a group the sum is the chance that at least t of n are drawn, which grows with n, and n_t is the
   last of its group. In the words of the paper: n_k = ⌈k/γ - 1⌉ = n_m, and of the sequence a_n for n ≥ n_m
   only these terms matter.

3. *The minimal k is 1 + the last t with A_t > δ* (1 if there is none). By 2, k will do exactly if every A_t
   with t ≥ k is at most δ. There is a last one, as A_t ≤ exp(-n_t K) for the positive K = γ ln(γ/β) + (1 - γ)
   ln((1 - γ)/(1 - β)) (Chernoff; Hoeffding 1963). This bound is sharper than c_n = exp(-n (γ ln(γ/β) - (γ -
   β))) of the paper, as ln x ≥ 1 - 1/x. So the search goes down from the first t where the bound is at most
   δ, and every t on the way is decided, as A_t does not fall steadily. No smaller k fulfils the theorem, and
   a larger one is not needed: those of ARX lie one or two above.

4. *A table that is a random sample itself may be sampled less, or not at all.* Let every person of a
   population have come into the table with probability α, independently, and let Veil draw each record of the
   table with probability β/α. Then a person's record is drawn with probability α · β/α = β, independently:
   the two samples are one with rate β, and 1 to 3 hold for neighbouring populations, as long as the scheme
   depends on neither sample. So with α ≤ 1 - e^-ε no sampling is needed, β is α, and k is the least for it;
   with a larger α, β is as without a sample. This needs a scheme fixed without looking at the table, since a
   search looks at the very sample that protects (the second gap in `veil.dp.walk`); and it holds for one
   release alone. Two releases share the coins tossed for the table, so their budgets do not add up: a record
   that is alone in its class is left out of a fine release, and visible in the difference to a coarse one.

β is a rational number, so that it can be drawn with exactly: 1 - e^-ε where that is rational (ε = ln 2: one
half), and otherwise 1 - e^-ε rounded down to 64 binary digits, which 1 allows. Everything above then holds
for the very β that is used. Comparisons are made with balls and, where they may be equal, with fractions; one
that stays open counts as "A_t > δ", and an n_t that stays open is the larger one, so that k is never too
small.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from veil.base.exact import Real, ball, float_at_least, is_at_most, largest_fraction
from veil.base.figures import new_figure
from veil.dp.grid import positive, probability
from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb
    from matplotlib.figure import Figure

_DIGITS = 64
"""Binary digits of a sampling probability that is not rational."""


@dataclass(frozen=True)
class Parameters:
    """Requirements of (epsilon, delta)-privacy by sampling and k-anonymity, computed by `parameters`.

    Attributes
    ----------
    epsilon : Symbolic
        The budget, as it was written.
    delta : Fraction
        Largest chance allowed that the bound e^epsilon is exceeded.
    beta : Fraction
        Probability with which each person's record is drawn, by one sample or by both together.
    k : int
        Size of the smallest class that may be published.
    acquired : Fraction
        Probability with which each person came into the table, if that is a random sample; otherwise 1.
    """

    epsilon: Symbolic
    delta: Fraction
    beta: Fraction
    k: int
    acquired: Fraction = Fraction(1)

    @property
    def drawn(self) -> Fraction:
        """Probability with which each record of the table is to be drawn."""
        return self.beta / self.acquired

    @property
    def gamma(self) -> float:
        """The share of a class that has to be drawn for the bound to be exceeded."""
        low, high = enclosure(lambda bits: self._operator.gamma())
        return float((low + high) / 2)

    @property
    def n_m(self) -> int:
        """The size, before sampling, of the smallest class in which the bound can be exceeded visibly."""
        return self._operator.largest_class(self.k)

    @property
    def reached(self) -> float:
        """The chance that the bound is exceeded: d(k, beta, epsilon), at most delta. Rounded up."""
        return _rounded_up(self._operator.worst(self.k))

    @property
    def _operator(self) -> _Operator:
        return _Operator(self.beta, self.epsilon)


def parameters(epsilon: Readable, delta: Readable, acquired: Readable = 1) -> Parameters:
    """Return the largest sampling probability and the least k that make a release (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : number or str
        Positive: a number, or a text such as "1/3" or "2*ln(3)/3". A double is the decimal that it prints as.
    delta : number or str
        Between 0 and 1; 1e-4 or less, and below one over the number of records, is usual.
    acquired : number or str
        Probability with which each person came into the table, if that is a random sample: see 4 above.

    >>> parameters(1, 1e-6).k, parameters("ln(2)", 1e-6).k
    (74, 66)
    >>> parameters("ln(2)", 1e-6).beta, float(parameters(1, 1e-6).beta)
    (Fraction(1, 2), 0.6321205588285577)
    >>> [parameters(1, 1e-6, acquired=rate).k for rate in (0.01, 0.1, 0.3)]
    [4, 9, 22]
    """
    rate = Fraction(1) if acquired == 1 else probability(acquired, "acquired")
    return _calculate(positive(epsilon), probability(delta), rate)


@functools.lru_cache(maxsize=256)
def _calculate(budget: Symbolic, chance: Fraction, acquired: Fraction) -> Parameters:
    shrink = (-budget).exponential()
    most = 1 - shrink if shrink is not None else _rounded_down(lambda bits: -((-budget).ball().expm1()))
    beta = min(acquired, most)
    operator = _Operator(beta, budget, shrink)
    last = operator.safe_from(chance)
    k = next((t + 1 for t in range(last - 1, 0, -1) if not operator.keeps(t, chance)), 1)
    return Parameters(budget, chance, beta, k, acquired)


def delta_of(k: int, beta: Readable, epsilon: Readable) -> float:
    """Return d(k, beta, epsilon), the chance that the bound e^epsilon is exceeded, rounded up.

    `epsilon` must be at least -ln(1 - beta).

    >>> beta = parameters(1, 1e-6).beta
    >>> f"{delta_of(74, beta, 1):.5}"
    '8.9948e-07'
    """
    return _rounded_up(_make_operator(k, beta, epsilon).worst(k))


def smoothness(k: int, beta: Readable, epsilons: Iterable[Readable]) -> list[float]:
    """Return the chance that e^epsilon is exceeded for each of some epsilons, rounded up.

    Sampling and suppression with the same k and beta keep all of these promises at once, and the chance falls
    as epsilon grows: the larger an excess, the less likely it is (Bild, Kuhn and Prasser 2018, Theorem 11).

    >>> safepub = parameters(1, 1e-6)
    >>> [f"{each:.2}" for each in smoothness(safepub.k, safepub.beta, [1, 1.5, 2])]
    ['9e-07', '1.6e-09', '1.5e-11']
    """
    return [delta_of(k, beta, each) for each in epsilons]


def plot_smoothness(requirements: Parameters | Sequence[Parameters], until: float | None = None) -> Figure:
    """Draw the curves of `smoothness`, from each epsilon to `until` (default: twice the largest)."""
    curves = [requirements] if isinstance(requirements, Parameters) else list(requirements)
    end = Fraction(until) if until is not None else 2 * Fraction(max(float(each.epsilon) for each in curves))
    figure = new_figure(6, 4)
    axes: Any = figure.add_subplot()
    for each in curves:
        step = (Symbolic(end) - each.epsilon) / 40
        if step.sign() <= 0:
            raise ParameterError(f"`until` should be above epsilon = {each.epsilon}, not {until}")
        grid = [each.epsilon + place * step for place in range(41)]
        label = f"ε = {each.epsilon}, δ = {float(each.delta):.3g}, k = {each.k}"
        axes.semilogy([float(point) for point in grid], smoothness(each.k, each.beta, grid), label=label)
    axes.set_xlabel("ε'")
    axes.set_ylabel("chance that e^ε' is exceeded")
    axes.legend()
    return figure


class _Operator:
    """Sampling with a probability, judged at one epsilon. Symbols as in the text at the top of the module."""

    def __init__(self, beta: Fraction, epsilon: Symbolic, shrink: Fraction | None = None) -> None:
        self.beta, self.epsilon = beta, epsilon
        self.shrink = shrink if shrink is not None else (-epsilon).exponential()

    def gamma(self) -> arb:
        shrink = (-self.epsilon).ball().exp() if self.shrink is None else ball(self.shrink)
        return 1 - ball(1 - self.beta) * shrink

    def largest_class(self, t: int) -> int:
        """Return n_t, the largest n with gamma * n < t."""
        if self.shrink is not None:
            gamma = 1 - (1 - self.beta) * self.shrink
            return math.ceil(t / gamma) - 1
        try:
            return int(largest_fraction(lambda bits: t / self.gamma(), 1))  # irrational: never equal to n
        except ArithmeticError:
            return math.floor(enclosure(lambda bits: t / self.gamma())[1])

    def tail(self, t: int) -> Real:
        """Return A_t, the chance that at least t of n_t records are drawn."""
        n = self.largest_class(t)
        return lambda bits: _tail(t, n, self.beta, bits)

    def keeps(self, t: int, delta: Fraction) -> bool:
        """Return whether A_t <= delta; a comparison that stays open counts as no."""
        n = self.largest_class(t)

        def equal() -> bool:
            if n * self.beta.denominator.bit_length() > 10**6:
                return False  # too long to write down
            over, under = self.beta.numerator, self.beta.denominator
            ways = sum(math.comb(n, j) * over**j * (under - over) ** (n - j) for j in range(t, n + 1))
            return Fraction(ways, under**n) == delta

        return is_at_most(self.tail(t), delta, equal)

    def rate(self) -> arb:
        """Return K of the Chernoff bound; ln((1 - gamma) / (1 - beta)) is -epsilon."""
        gamma = self.gamma()
        return gamma * (gamma / ball(self.beta)).log() - (1 - gamma) * self.epsilon.ball()

    def safe_from(self, delta: Fraction) -> int:
        """Return a t such that this A_t and all later ones are at most delta, by the Chernoff bound.

        With n = ⌈ln(1/delta) / K⌉ and t ≥ gamma (n + 1), n_t ≥ t/gamma - 1 ≥ n.
        """

        def needed(bits: int) -> arb:
            return -ball(delta).log() / self.rate()

        rough = math.ceil(enclosure(needed)[1])
        n = math.ceil(enclosure(needed, 60 + rough.bit_length())[1])  # off by one at most, for any epsilon
        return math.floor(enclosure(lambda bits: self.gamma() * (n + 1), 60 + n.bit_length())[1]) + 1

    def worst(self, k: int) -> Real:
        """Return the largest A_t for t >= k, that is d(k, beta, epsilon).

        Theorem 4 of the paper with the sharper bound: no later A_t can exceed the first one.
        """
        first, _ = enclosure(self.tail(k))
        terms = [self.tail(t) for t in range(k, max(k + 1, self.safe_from(first)))]

        def largest(bits: int) -> arb:
            maximum = terms[0](bits)
            for term in terms[1:]:
                maximum = maximum.max(term(bits))
            return maximum

        return largest


def _tail(t: int, n: int, beta: Fraction, bits: int) -> arb:
    """Return the chance that at least t of n records are drawn, for t above n * beta.

    Terms fall faster and faster from t on, so that what is left out is bounded by a geometric series.
    """
    from flint import arb

    if t > n:
        return arb(0)
    share, odds = ball(beta), ball(beta / (1 - beta))
    ways = arb(n + 1).lgamma() - arb(t + 1).lgamma() - arb(n - t + 1).lgamma()
    first = (ways + t * share.log() + (n - t) * (1 - share).log()).exp()
    term, total, tiny = arb(1), arb(0), arb(2) ** -bits  # in units of the first term
    for j in range(t, n + 1):
        total += term
        ratio = odds * (n - j) / (j + 1)
        rest = term * ratio / (1 - ratio)
        if ratio < 1 and rest < tiny:
            return first * (total + rest.union(arb(0)))
        term *= ratio
    return first * total


def _make_operator(k: int, beta: Readable, epsilon: Readable) -> _Operator:
    budget, share = positive(epsilon), probability(beta, "beta")
    if k < 1:
        raise ParameterError(f"`k` should be 1 or more, not {k}")
    shrink = (-budget).exponential()
    # beta <= 1 - e^-epsilon; both are rational, or one of them is not and they are never equal.
    most: Fraction | Real = 1 - shrink if shrink is not None else lambda bits: -((-budget).ball().expm1())
    if not is_at_most(share, most):
        raise ParameterError(
            f"`epsilon` should be at least -ln(1 - beta) = {-math.log1p(-share):.6g} for this `beta`, "
            f"not {budget}"
        )
    return _Operator(share, budget, shrink)


def _rounded_down(number: Real) -> Fraction:
    """Return a number from 0 to 1 rounded down to some binary digits, zeros after the point not counted."""
    low, _ = enclosure(number, _DIGITS + 8)
    shift = _DIGITS + low.denominator.bit_length() - low.numerator.bit_length() - 1
    return Fraction(math.floor(low * 2**shift), 2**shift)


def _rounded_up(number: Real) -> float:
    return float_at_least(enclosure(number)[1])
