"""The ratio distance: t-closeness with a distance whose promise resembles that of differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Marks
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_at_least, largest_fraction
from veil.base.views import View
from veil.base.wording import beside, exactly
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.models.base import Beside, PrivacyModel, Strength
from veil.models.sensitive import Missing, SensitiveModel
from veil.models.shares import ShareLimits, shares
from veil.models.value_counts import count
from veil.published.finding import Finding
from veil.published.table import Published

LABEL = "not differential privacy: holds for somebody who knows no more than the distribution"


@declared(kind_of=PrivacyModel)
class RatioDistance(SensitiveModel):
    """In every class, each sensitive value is at most t times and at least 1/t times as frequent as in the
    whole table.

    With its share q in a class and p in the table: max(q / p, p / q) <= t, for all values of the table. A
    value that a class lacks is infinitely far away, so every class has every value: attributes with many
    values need large classes, or fewer and coarser values (see `BucketizedTCloseness`). It is δ-disclosure
    privacy for δ = log2 t as defined by its authors, with <= for <; `DeltaDisclosure` ignores values that a
    class lacks.

    An attacker who knows who is in the table and the distribution of the attribute learns at most a factor t
    about a person, as with ln(t)-differential privacy. This is not differential privacy: who knows all values
    of a class but one learns that one.

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are one value, whichever it is.

    Monotone under generalization: the share in a union is a mean of the shares in its parts. Not monotone
    under suppression: two classes that are too far away, on opposite sides, can be acceptable together.
    Soria-Comas (2013), definition 15 and proposition 10.

    >>> RatioDistance("disease", 2)
    RatioDistance(attribute='disease', t=2.0)
    """

    attribute: Annotated[
        str, Field(description="sensitive column whose values must keep their frequencies in each class")
    ]
    t: Annotated[
        float,
        Field(
            ge=1,
            allow_inf_nan=False,
            description="largest ratio of shares, either way, less is safer; 1 is no difference at all, 2 to 5 is usual",
        ),
    ]
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["RatioDistance"] = Field(default="RatioDistance", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage", "probabilistic")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("t", math.inf)
    compares_with: ClassVar[tuple[Beside, ...]] = ("distribution",)
    views: ClassVar[tuple[View, ...]] = ("most", "sure")

    def least_size(self, sample: Sample) -> int:
        """Return the number of values: each occurs in every class."""
        return max(1, int(np.count_nonzero(sample.distribution(self.attribute))))

    def criterion(self, sample: Sample) -> _Criterion:
        """Turn the ratio into limits on the share of each value: p / t <= q <= p * t."""
        return _Criterion(sample, self.attribute, self._limits)

    def _limits(self, p: Fraction, records: int) -> tuple[Fraction, Fraction]:
        t = decimal_fraction(self.t)
        return largest_fraction(p * t, records), largest_fraction(p / t, records, below=True)

    def check(self, published: Published, whole: Published) -> Finding:
        """Compare the extreme shares of each value in the classes with that in the table."""
        promise = f"ratio distance of {self.attribute!r} at most {exactly(self.t)} ({LABEL})"
        if not published.sizes.size:
            return Finding(promise, True, "no class")
        ratio = largest_ratio(published, self.attribute)
        if ratio is None:
            return Finding(promise, False, "a class that lacks a value, or has one that the input lacks")
        return Finding(promise, ratio <= decimal_fraction(self.t), f"t = {beside(ratio, self.t)}")

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the largest ratio, if every class has every value."""
        ratio = largest_ratio(published, name)
        return [] if ratio is None else [Strength("RatioDistance", "t", float_at_least(ratio), name)]


class _Criterion(ShareLimits):
    """The share of each value lies between two limits, and no value is lacking."""

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        super().reject(table, rejected)
        histogram = self.sample.histogram(table, self.attribute)
        there = np.bincount(histogram.classes, minlength=len(table))
        rejected[there < np.count_nonzero(self.frequencies)] = 1


def largest_ratio(published: Published, attribute: str) -> Fraction | None:
    """Return the largest ratio of shares, either way, over all classes; None if it is infinite."""
    counts = count(published, attribute, ordered=False)
    input_mask = counts.masses > 0
    there = np.bincount(counts.classes[input_mask[counts.codes]], minlength=len(counts.sizes))
    if not input_mask[counts.codes].all() or (there < input_mask.sum()).any():
        return None
    return max(max(each.largest / each.p, each.p / each.smallest) for each in shares(published, attribute))
