"""β-likeness, and what all limits on the share of single values in a class have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from veil.classes.kernels import kernel
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.declare import declared
from veil.exact import ball, decimal_fraction, float_at_least, largest_fraction, sign_of_logs
from veil.models.base import Finding, PrivacyModel, Strength
from veil.published import Published


@declared
class BetaLikeness(PrivacyModel):
    """In no class is a sensitive value more than 1 + β times as frequent as in the whole table.

    With the frequency q of a value in a class and p in the table: (q - p) / p <= β. The enhanced form also
    demands (q - p) / p <= -ln p, so that values that are frequent anyway gain little. A value that becomes
    rarer tells nothing here.

    Monotone under generalization: the frequency in a union is at most the largest one of its parts, and p
    stays. Not monotone under suppression. Cao and Karras (2012).
    """

    attribute: Annotated[str, Field(description="sensitive column whose values must not become frequent")]
    beta: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="largest relative gain, less is safer; 1 to 5 is usual"),
    ]
    enhanced: Annotated[bool, Field(description="also limit the gain to -ln p; the safer choice")] = False
    kind: Literal["BetaLikeness"] = Field(default="BetaLikeness", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage", "probabilistic")

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The sensitive attribute."""
        return (self.attribute,)

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the least size for which the counts allowed for each value can add up (see `ShareLimits`)."""
        return self.bind(sample).minimal_class_size()

    def bind(self, sample: Sample) -> ShareLimits:
        """Turn the largest gain of each value into its largest share: q <= p (1 + gain)."""
        return ShareLimits(sample, self.attribute, self._largest_share)

    def _largest_share(self, p: Fraction, records: int) -> tuple[Fraction, Fraction]:
        beta = decimal_fraction(self.beta)
        if self.enhanced and p == 1:
            return Fraction(1), Fraction(0)
        if self.enhanced and sign_of_logs([(1, p)], beta) == 1:  # -ln p < beta, and irrational
            return largest_fraction(lambda bits: ball(p) * (1 - ball(p).log()), records), Fraction(0)
        return largest_fraction(p * (1 + beta), records), Fraction(0)

    def verify(self, published: Published) -> Finding:
        """Compare the largest frequency of each value in any class with its frequency in the table."""
        found = shares(published, self.attribute)
        name = "enhanced" if self.enhanced else "basic"
        holds = all(
            each.p > 0
            and each.gain <= decimal_fraction(self.beta)
            and (not self.enhanced or each.has_enhanced_likeness)
            for each in found
        )
        gains = [float(each.gain) if each.p else float("inf") for each in found]
        measured = f"beta = {max(gains):.6g}" if gains else "no class"
        if self.enhanced and not all(each.p > 0 and each.has_enhanced_likeness for each in found):
            measured += ", and a gain above -ln p"
        return Finding(f"{name} {self.beta:g}-likeness of {self.attribute!r}", holds, measured)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the largest gain; for the enhanced form too, if every gain is at most -ln p."""
        strengths = []
        for name in sensitive:
            found = shares(published, name)
            if found and all(each.p > 0 for each in found):
                beta = float_at_least(max(each.gain for each in found))
                strengths.append(Strength("BetaLikeness", "beta", beta, name))
                if all(each.has_enhanced_likeness for each in found):
                    strengths.append(Strength("BetaLikeness", "beta (enhanced)", beta, name))
        return strengths


# --- limits on shares -----------------------------------------------------------------------------

_LOOKED_AT = 4096
"""Class sizes that are tried out for the minimal class size."""

Limit = Callable[[Fraction, int], tuple[Fraction, Fraction]]
"""Given the share of a value in the table and the number of records: the largest share allowed in a class, and
the share that it must exceed if it occurs. Both as fractions with a denominator up to the number of records."""


class ShareLimits:
    """Criterion: the share of each value that occurs in a class lies between two limits.

    A share is a fraction f/n of integers up to the number of records. A limit, whatever real number it is,
    is therefore as good as the largest such fraction up to it (`veil.exact.largest_fraction`), and the kernel
    decides in integers; no product exceeds the square of the number of records.
    """

    def __init__(self, sample: Sample, attribute: str, limit: Limit) -> None:
        self.sample, self.attribute = sample, attribute
        self.frequencies = sample.distribution(attribute)
        # Values of equal frequency have equal limits, and frequencies repeat when there are many values.
        known = {0: (Fraction(1), Fraction(0))}
        for frequency in np.unique(self.frequencies[self.frequencies > 0]).tolist():
            upper, lower = limit(Fraction(frequency, sample.records), sample.records)
            known[frequency] = min(upper, Fraction(1)), lower
        self.limits = np.empty((self.frequencies.size, 4), np.int64)
        for value, frequency in enumerate(self.frequencies.tolist()):
            upper, lower = known[frequency]
            self.limits[value] = upper.numerator, upper.denominator, lower.numerator, lower.denominator

    def release(self, values: NDArray[np.bool_]) -> None:
        """Lift the limits of some values."""
        self.limits[values] = 1, 1, 0, 1

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        """Reject classes in which a value's share is off limits."""
        histogram = self.sample.histogram(table, self.attribute)
        _reject_shares(
            histogram.starts, histogram.classes, histogram.counts, table.count, self.limits, rejected
        )

    def minimal_class_size(self) -> int:
        """Return the smallest n for which some counts within the limits add up to n.

        In a class of n records a value occurs at most as often as the largest integer f with f/n within its
        limits says, nor more often than in the table. If even all those f together are fewer than n, no class
        of n records fulfils the limits. Sizes beyond a few thousand are not tried out.
        """
        rows = np.column_stack([self.limits, self.frequencies])[self.frequencies > 0]
        kinds, times = np.unique(rows, axis=0, return_counts=True)
        upper, upper_of, lower, lower_of, most = kinds.T
        last = min(self.sample.records, _LOOKED_AT)
        for start in range(1, last + 1, 256):
            sizes = np.arange(start, min(start + 256, last + 1))[:, None]
            allowed = np.minimum(sizes * upper // upper_of, most)
            allowed[allowed * lower_of <= sizes * lower] = 0
            enough = np.flatnonzero(allowed @ times >= sizes[:, 0])
            if enough.size:
                return start + int(enough[0])
        return last


@kernel
def _reject_shares(
    starts: NDArray[np.int64],
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    limits: NDArray[np.int64],
    rejected: NDArray[np.uint8],
) -> None:
    """Reject classes with a value whose share is above its upper limit, or not above its lower limit."""
    for value in range(starts.size - 1):
        upper, upper_of, lower, lower_of = limits[value]
        for e in range(starts[value], starts[value + 1]):
            i = classes[e]
            if rejected[i] == 0 and (
                counts[e] * upper_of > upper * sizes[i] or counts[e] * lower_of <= lower * sizes[i]
            ):
                rejected[i] = 1


# --- seen from outside ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """How frequent a value is in the table (0 if it does not occur there), and in the classes that hold it."""

    value: object
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


def shares(published: Published, attribute: str) -> list[Share]:
    """Compare the share of each published value in the classes with that in the table, exactly."""
    number, values, count = published.histograms(attribute)
    if not number.size:
        return []
    sizes = np.bincount(number, weights=count).astype(np.int64)[number]
    codes, distinct = _coded(values)
    largest, smallest = (_extreme(codes, count, sizes, len(distinct), most) for most in (True, False))
    baseline = pc.value_counts(_plain(published.baseline[attribute]))
    total = len(published.baseline)
    frequencies = baseline.field("counts").to_numpy()
    place = pc.index_in(distinct, value_set=baseline.field("values"), skip_nulls=False)
    return [
        Share(value, Fraction(int(frequencies[i]), total) if i is not None else Fraction(0), *extremes)
        for value, i, *extremes in zip(
            distinct.to_pylist(), place.to_pylist(), largest, smallest, strict=True
        )
    ]


def _extreme(
    codes: NDArray[np.int64], count: NDArray[np.int64], sizes: NDArray[np.int64], values: int, most: bool
) -> list[Fraction]:
    """Largest or smallest share of each value.

    Rounding keeps the order of two quotients, or makes them equal. So the extreme is among those with the
    extreme double, and these are compared again.
    """
    quotient = count / sizes
    extreme = np.full(values, -np.inf if most else np.inf)
    (np.maximum if most else np.minimum).at(extreme, codes, quotient)
    at = quotient == extreme[codes]
    common = np.gcd(count[at], sizes[at])
    found: dict[int, Fraction] = {}
    for code, f, n in np.unique(
        np.stack([codes[at], count[at] // common, sizes[at] // common]), axis=1
    ).T.tolist():
        share = Fraction(f, n)
        found[code] = (max if most else min)(found.get(code, share), share)
    return [found[code] for code in range(values)]


def _coded(values: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    encoded = _plain(values).dictionary_encode(null_encoding="encode")
    return np.array(encoded.indices, dtype=np.int64), encoded.dictionary


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array without dictionary encoding, text of one type."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):  # what combining leaves of a column without rows
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    text = pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)
    return array.cast(pa.string()) if text else array
