"""Limits on the share of single values in a class, which several models have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from veil.base.arrays import Codes, Floats, Integers, Marks, Mask
from veil.base.compiled import kernel
from veil.base.exact import sign_of_logs
from veil.classes.kernels import Entries
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.models.value_counts import count
from veil.published.table import Published

_LOOKED_AT = 4096
"""Largest class size that the search for the minimal class size tries."""

Limit = Callable[[Fraction, int], tuple[Fraction, Fraction]]
"""Maps the share of a value in the table and the number of records to the largest share allowed in a class,
and the share that it must exceed if it occurs. Both have a denominator up to the number of records."""


class ShareLimits:
    """Criterion: the share of each value that occurs in a class lies between two limits.

    A share is a fraction f/n of integers up to the number of records. Any real limit is therefore equivalent
    to the largest such fraction up to it (`veil.base.exact.largest_fraction`), and the kernel decides in
    integers; no product exceeds the square of the number of records.
    """

    def __init__(self, sample: Sample, attribute: str, limit: Limit) -> None:
        self.sample, self.attribute = sample, attribute
        self.frequencies, self.whole = sample.distribution(attribute), sample.whole_of(attribute)
        # Values of equal frequency have equal limits, and frequencies repeat when there are many values.
        limits_by_frequency = {0: (Fraction(1), Fraction(0))}
        for frequency in np.unique(self.frequencies[self.frequencies > 0]).tolist():
            upper, lower = limit(Fraction(frequency, self.whole), sample.largest_size(attribute))
            limits_by_frequency[frequency] = min(upper, Fraction(1)), lower
        self.limits = np.empty((self.frequencies.size, 4), np.int64)
        for value, frequency in enumerate(self.frequencies.tolist()):
            upper, lower = limits_by_frequency[frequency]
            self.limits[value] = upper.numerator, upper.denominator, lower.numerator, lower.denominator

    def release(self, values: Mask) -> None:
        """Lift the limits of some values."""
        self.limits[values] = 1, 1, 0, 1

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Reject classes in which a value's share is off limits."""
        histogram = self.sample.histogram(table, self.attribute)
        _reject_shares(histogram, table.count, self.limits, rejected)

    def keepable(self, table: ClassTable, left: Integers, source: ClassTable, groups: Codes) -> None:
        """Lower `left` to the most records of each class within the upper limits.

        If parts of a class keep to an upper limit, so does their union. In a union of n records value v
        occurs at most min(f, c * n) times, f being its count in the class and c its limit, and these must add
        up to n.
        """
        histogram = self.sample.histogram(table, self.attribute)
        _lower_to_keepable(histogram, self.limits[:, 0] / self.limits[:, 1], left)

    def minimal_class_size(self) -> int:
        """Return the smallest n for which some counts within the limits add up to n.

        In a class of n records a value occurs at most f times, for the largest integer f with f/n within its
        limits, nor more often than in the table. If even all those f together are fewer than n, no class of n
        records fulfils the limits. Sizes beyond a few thousand are not tried.
        """
        rows = np.column_stack([self.limits, self.frequencies])[self.frequencies > 0]
        kinds, times = np.unique(rows, axis=0, return_counts=True)
        upper, upper_of, lower, lower_of, most = kinds.T
        last = min(self.whole, _LOOKED_AT)
        for start in range(1, last + 1, 256):
            sizes = np.arange(start, min(start + 256, last + 1))[:, None]
            allowed = np.minimum(sizes * upper // upper_of, most)
            allowed[allowed * lower_of <= sizes * lower] = 0
            enough = np.flatnonzero(allowed @ times >= sizes[:, 0])
            if enough.size:
                return start + int(enough[0])
        return last


@kernel
def _reject_shares(entries: Entries, sizes: Integers, limits: Integers, rejected: Marks) -> None:
    """Reject classes with a value whose share is above its upper limit, or not above its lower limit."""
    starts, classes, counts = entries
    for value in range(starts.size - 1):
        upper, upper_of, lower, lower_of = limits[value]
        for e in range(starts[value], starts[value + 1]):
            i = classes[e]
            if rejected[i] == 0 and (
                counts[e] * upper_of > upper * sizes[i] or counts[e] * lower_of <= lower * sizes[i]
            ):
                rejected[i] = 1


ROUNDS = 6
"""Newton steps; each yields a bound, and more than a few gain little."""


@kernel
def _lower_to_keepable(entries: Entries, limits: Floats, left: Integers) -> None:
    """Lower `left[i]` to a bound on the n for which the sum of min(f, c * n) over values is at least n.

    f is the count of a value in class i and c its limit. The left side minus the right is concave in n and 0
    at 0, so that Newton's method from above never passes the largest such n: every step is a bound.
    """
    starts, classes, counts = entries
    bound = left.astype(np.float64)
    short = np.empty(left.size)
    full = np.empty(left.size)
    rounding = starts.size * 2.0**-50
    for _ in range(ROUNDS):
        # Add up the counts below their limit, and the limits of the others.
        short[:] = 0.0
        full[:] = 0.0
        for value in range(starts.size - 1):
            for e in range(starts[value], starts[value + 1]):
                i = classes[e]
                if counts[e] < limits[value] * bound[i]:
                    short[i] += counts[e]
                else:
                    full[i] += limits[value]
        # One step of Newton's method for each class.
        changed = False
        for i in range(left.size):
            # Limits that add up to 1 within rounding give no bound.
            slope = 1.0 - full[i] - rounding
            if slope > 0.0:
                better = short[i] / slope
                if better < bound[i] * (1.0 - 1e-6):
                    changed = True
                    bound[i] = better
        if not changed:
            break
    for i in range(left.size):
        # Round up by more than the rounding error.
        left[i] = min(left[i], np.int64(np.floor(bound[i] * (1.0 + 1e-9) + 1e-6)))


# --- verification ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueShare:
    """The share of a value in the table (0 if it does not occur there), and in the classes that hold it."""

    value: pa.Scalar
    p: Fraction
    largest: Fraction
    smallest: Fraction

    @property
    def gain(self) -> Fraction:
        """Largest relative gain in a class."""
        return self.largest / self.p - 1

    @property
    def has_enhanced_likeness(self) -> bool:
        """Whether the gain is at most -ln p."""
        return self.p == 1 or sign_of_logs([(1, self.p)], self.gain) in (-1, 0)


def shares(published: Published, attribute: str) -> list[ValueShare]:
    """Compare the share of each published value in the classes with that in the table, exactly."""
    counts = count(published, attribute, ordered=False)
    if not counts.classes.size:
        return []
    sizes = counts.sizes[counts.classes]
    largest, smallest = (_extreme(counts.codes, counts.counts, sizes, most) for most in (True, False))
    total = int(counts.masses.sum())
    return [
        ValueShare(
            counts.values[code], Fraction(int(counts.masses[code]), total), largest[code], smallest[code]
        )
        for code in sorted(largest)
    ]


def _extreme(codes: Integers, count: Integers, sizes: Integers, most: bool) -> dict[int, Fraction]:
    """Return the largest or smallest share of each value that occurs.

    Rounding keeps the order of two quotients, or makes them equal. So the extreme is among those with the
    extreme double, which are compared exactly.
    """
    quotient = count / sizes
    extreme = np.full(int(codes.max()) + 1, -np.inf if most else np.inf)
    (np.maximum if most else np.minimum).at(extreme, codes, quotient)
    at = quotient == extreme[codes]
    common = np.gcd(count[at], sizes[at])
    result: dict[int, Fraction] = {}
    for code, f, n in np.unique(
        np.stack([codes[at], count[at] // common, sizes[at] // common]), axis=1
    ).T.tolist():
        share = Fraction(f, n)
        result[code] = (max if most else min)(result.get(code, share), share)
    return result
