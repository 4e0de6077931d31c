"""A tester that tries to break a mechanism: many runs on neighbouring data sets, and a search for an event
that is likelier on one of them than (epsilon, delta)-differential privacy allows.

Half of the runs only suggest the event, the other half put it to the test, so that what is tested does not
depend on what it is tested with. Bounds on probabilities are exact (Clopper and Pearson, 1934), and the
chance of any false alarm over all pairs together is at most `alarm`, whatever the mechanism.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TypeVar

from flint import arb, ctx, fmpq

from veil.base.exact import Number, ball, decimal_fraction, is_less

Record = TypeVar("Record")
Dataset = TypeVar("Dataset", bound=Hashable)


@dataclass(frozen=True)
class Violation:
    """An event too likely on one data set: P[M(first) in it] > e^epsilon * P[M(second) in it] + delta."""

    first: Hashable
    second: Hashable
    event: frozenset[Hashable]
    at_least: float
    at_most: float

    def __str__(self) -> str:
        return (
            f"{set(self.event)} has a probability of at least {self.at_least:.6g} on {self.first} "
            f"and of at most {self.at_most:.6g} on {self.second}"
        )


def find_violation(
    run: Callable[[Dataset], Hashable],
    pairs: Iterable[tuple[Dataset, Dataset]],
    epsilon: Number,
    delta: Number = 0,
    *,
    runs: int = 4000,
    alarm: float = 1e-6,
) -> Violation | None:
    """Return evidence, at the given false-alarm rate, that a mechanism is not (epsilon, delta)-private; or None.

    Parameters
    ----------
    run : callable
        The mechanism: takes a data set, returns what is published, as something hashable.
    pairs : iterable of pairs
        Neighbouring data sets, each pair once: both directions are tested. Data sets are hashable.
    runs : int
        Runs on each data set (not: on each pair). A probability of p is found too large by a factor f
        only with some 100 / (p * (f - 1)^2) runs.
    alarm : float
        The chance that a mechanism without fault is reported.
    """
    couples = list(pairs)
    explored: dict[Dataset, Counter[Hashable]] = {}
    tested: dict[Dataset, Counter[Hashable]] = {}
    for dataset in dict.fromkeys(each for couple in couples for each in couple):
        explored[dataset] = Counter(run(dataset) for _ in range(runs // 2))
        tested[dataset] = Counter(run(dataset) for _ in range(runs - runs // 2))
    # Two directions of every pair, two bounds each: by Bonferroni all hold together.
    level = Fraction(alarm) / (4 * max(1, len(couples)))
    factor, slack = math.exp(decimal_fraction(epsilon)), float(decimal_fraction(delta))
    for first, second in [*couples, *((b, a) for a, b in couples)]:
        event = _suspect(explored[first], explored[second], factor, slack)
        n = tested[first].total()
        ones, others = (sum(tested[each][outcome] for outcome in event) for each in (first, second))
        if ones <= factor * others + slack * n:
            continue  # bounds only bring the two closer
        low, high = lower_bound(ones, n, level), upper_bound(others, n, level)
        if exceeds(low, high, epsilon, delta):
            return Violation(first, second, event, float(low), float(high))
    return None


def exceeds(low: Fraction, high: Fraction, epsilon: Number, delta: Number) -> bool:
    """Tell whether low > e^epsilon * high + delta. In doubt it does not: no false alarm from rounding."""
    return is_less(lambda bits: ball(epsilon).exp() * ball(high) + ball(delta), low)


def _suspect(
    first: Counter[Hashable], second: Counter[Hashable], factor: float, slack: float
) -> frozenset[Hashable]:
    """Return the event whose excess stands out most from its noise, among the outcomes by falling ratio.

    By Neyman and Pearson, the outcomes with the largest ratios make the best event of their probability.
    """
    order = sorted(first, key=lambda each: (-first[each] / (second[each] + 1), repr(each)))
    best, event, ones, others = -math.inf, frozenset[Hashable](), 0, 0
    for place, outcome in enumerate(order, start=1):
        ones += first[outcome]
        others += second[outcome]
        excess = ones - factor * others - slack * first.total()
        clarity = excess / math.sqrt(ones + factor**2 * others + 1)
        if clarity > best:
            best, event = clarity, frozenset(order[:place])
    return event


def lower_bound(successes: int, trials: int, level: Fraction) -> Fraction:
    """Return a number that is above the probability of a success with a chance of at most `level`."""
    return 1 - upper_bound(trials - successes, trials, level)


def upper_bound(successes: int, trials: int, level: Fraction, bits: int = 40) -> Fraction:
    """Return a number that is below the probability of a success with a chance of at most `level` (< 1/2).

    The smallest multiple p of 2^-bits with P[at most `successes`; p] <= level, by bisection.
    """
    if successes >= trials:
        return Fraction(1)
    low, high = (
        (successes << bits) // trials,
        1 << bits,
    )  # too small, as half of the chance is below it; enough
    with ctx.workprec(96):
        goal = arb(fmpq(level.numerator, level.denominator))
        while high - low > 1:
            middle = (low + high) // 2
            if _at_most(successes, trials, arb(fmpq(middle, 1 << bits))) <= goal:
                high = middle
            else:
                low = middle
    return Fraction(high, 1 << bits)


def _at_most(successes: int, trials: int, p: arb) -> arb:
    """Return at least P[at most `successes`] for p > successes / trials, hardly more."""
    ways = arb(trials + 1).lgamma() - arb(successes + 1).lgamma() - arb(trials - successes + 1).lgamma()
    term = total = (ways + successes * p.log() + (trials - successes) * (1 - p).log()).exp()
    odds = (1 - p) / p
    for j in range(successes, 0, -1):
        ratio = j * odds / (trials - j + 1)  # of the next term to this; it only falls from here on
        if ratio < 1 and term * ratio / (1 - ratio) < total * 2.0**-80:
            return total * (1 + arb(2.0**-80))
        term *= ratio
        total += term
    return total


def neighbours(dataset: Sequence[Record], universe: Sequence[Record]) -> Iterator[tuple[Record, ...]]:
    """Yield every data set with one record more (from the universe) or one less."""
    for record in universe:
        yield tuple(sorted((*dataset, record)))  # type: ignore[type-var]
    for place in range(len(dataset)):
        if place == 0 or dataset[place] != dataset[place - 1]:
            yield (*dataset[:place], *dataset[place + 1 :])


def neighbouring_pairs(
    universe: Sequence[Record], largest: int
) -> Iterator[tuple[tuple[Record, ...], tuple[Record, ...]]]:
    """Yield every pair of neighbours among the multisets of at most `largest` records of a universe, once."""
    for size in range(1, largest + 1):
        for dataset in combinations_with_replacement(sorted(universe), size):  # type: ignore[type-var]
            for smaller in neighbours(dataset, ()):
                yield dataset, smaller
