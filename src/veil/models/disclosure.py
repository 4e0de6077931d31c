"""δ-disclosure privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.base.exact import Real, ball, decimal_fraction, float_above, largest_fraction, sign_of_logs
from veil.base.views import FillingRule, View
from veil.base.wording import Phrase, beside, exactly
from veil.classes.sample import Sample
from veil.models.base import Beside, PrivacyModel, Strength
from veil.models.sensitive import Missing, SensitiveModel
from veil.models.shares import ShareLimits, ValueShare, shares
from veil.published.finding import Finding
from veil.published.table import Published


@declared(kind_of=PrivacyModel)
class DeltaDisclosure(SensitiveModel):
    """Each sensitive value that occurs in a class is about as frequent there as in the whole table.

    With its frequency q in the class and p in the table: |log2(q / p)| < δ. Values that do not occur in the
    class are not judged, as in ARX; the original definition asks for all values in all classes.

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are one value, or one of them is a value that the class lacks.

    Not monotone: a class without a value may be merged with one that holds it, and then hold too little of
    it. Nor under suppression. Brickell and Shmatikov (2008).
    """

    attribute: Annotated[
        str, Field(description="sensitive column whose values must keep their frequencies in each class")
    ]
    delta: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="bits that a class may reveal, less is safer; 1 to 3 is usual",
        ),
    ]
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["DeltaDisclosure"] = Field(default="DeltaDisclosure", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage", "probabilistic")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("delta", math.inf)
    compares_with: ClassVar[tuple[Beside, ...]] = ("distribution",)
    filling: ClassVar[FillingRule] = "each or one"
    views: ClassVar[tuple[View, ...]] = ("most", "fewest")

    def least_size(self, sample: Sample) -> int:
        """Return the least size for which the allowed counts of the values add up (see `ShareLimits`)."""
        return self.criterion(sample).minimal_class_size()

    def criterion(self, sample: Sample) -> ShareLimits:
        """Turn the distance into limits on the share of each value: p / 2^δ < q < p * 2^δ."""
        return ShareLimits(sample, self.attribute, self._limits)

    def _limits(self, p: Fraction, records: int) -> tuple[Fraction, Fraction]:
        delta = decimal_fraction(self.delta)
        if delta > 2 * records.bit_length():  # q / p lies between 1 / records and records anyway
            return Fraction(1), Fraction(0)
        if delta.denominator == 1:
            factor = 2 ** int(delta)
            return largest_fraction(p * factor, records, below=True), largest_fraction(p / factor, records)
        # A power of 2 is rational only if the exponent is an integer.
        upper, lower = (
            largest_fraction(_times_power_of_two(p, exponent), records) for exponent in (delta, -delta)
        )
        return upper, lower

    def check(self, published: Published, whole: Published) -> Finding:
        """Compare the extreme frequencies of each value in the classes with its frequency in the table."""
        template = "{delta}-disclosure privacy of {attribute!r}"
        promise = Phrase(template, delta=exactly(self.delta), attribute=self.attribute)
        value_shares = shares(published, self.attribute)
        if not value_shares:
            return Finding(promise, True, "no class")
        if not all(each.p > 0 for each in value_shares):
            return Finding(promise, False, "a value that the input does not have")
        ratio = _largest_ratio(value_shares)
        holds = _discloses_less(ratio, self.delta)
        # Logarithms are rounded: a value on the wrong side of delta is shown next to delta.
        delta = min(_log2(ratio), math.nextafter(self.delta, 0.0)) if holds else max(_log2(ratio), self.delta)
        measured = f"delta = {beside(delta, self.delta)}"
        return Finding(promise, holds, f"{measured}, and less is needed" if delta == self.delta else measured)

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return a delta just above the largest distance, the least for which the model holds."""
        value_shares = shares(published, name)
        if not all(each.p > 0 for each in value_shares):
            return []
        ratio = _largest_ratio(value_shares)
        delta = float_above(Fraction(0)) if ratio == 1 else _log2(ratio)
        while not _discloses_less(ratio, delta):
            delta = math.nextafter(delta, math.inf)
        return [Strength("DeltaDisclosure", "delta", delta, name)]


def _times_power_of_two(p: Fraction, exponent: Fraction) -> Real:
    return lambda bits: ball(p) * (ball(exponent) * ball(2).log()).exp()


def _largest_ratio(value_shares: list[ValueShare]) -> Fraction:
    """Return the largest q / p or p / q."""
    return max(max(each.largest / each.p, each.p / each.smallest) for each in value_shares)


def _log2(ratio: Fraction) -> float:
    return math.log2(ratio.numerator) - math.log2(ratio.denominator)


def _discloses_less(ratio: Fraction, delta: float) -> bool:
    """Decide exactly whether log2(ratio) < delta."""
    return sign_of_logs([(1, ratio), (-decimal_fraction(delta), 2)]) == -1
