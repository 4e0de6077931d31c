"""β-likeness."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.base.exact import ball, decimal_fraction, float_at_least, largest_fraction, sign_of_logs
from veil.base.views import View
from veil.base.wording import beside, exactly
from veil.classes.sample import Sample
from veil.models.base import Beside, PrivacyModel, Strength
from veil.models.sensitive import Missing, SensitiveModel
from veil.models.shares import ShareLimits, shares
from veil.published.finding import Finding
from veil.published.table import Published


@declared(kind_of=PrivacyModel)
class BetaLikeness(SensitiveModel):
    """In no class is a sensitive value more than 1 + β times as frequent as in the whole table.

    With the frequency q of a value in a class and p in the table: (q - p) / p <= β. The enhanced form also
    demands (q - p) / p <= -ln p, so that values that are frequent anyway gain little. A value that becomes
    rarer is no disclosure here.

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are one value, whichever gains most.

    Monotone under generalization: the frequency in a union is at most the largest one of its parts, and p
    stays. Not monotone under suppression. Cao and Karras (2012).
    """

    attribute: Annotated[str, Field(description="sensitive column whose values must not become frequent")]
    beta: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="largest relative gain, less is safer; 1 to 5 is usual"),
    ]
    enhanced: Annotated[bool, Field(description="also limit the gain to -ln p; the safer choice")] = False
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["BetaLikeness"] = Field(default="BetaLikeness", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage", "probabilistic")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("beta", math.inf)
    compares_with: ClassVar[tuple[Beside, ...]] = ("distribution",)
    views: ClassVar[tuple[View, ...]] = ("most",)

    def least_size(self, sample: Sample) -> int:
        """Return the least size for which the allowed counts of the values add up (see `ShareLimits`)."""
        return self.criterion(sample).minimal_class_size()

    def criterion(self, sample: Sample) -> ShareLimits:
        """Turn the largest gain of each value into its largest share: q <= p (1 + gain)."""
        return ShareLimits(sample, self.attribute, self._largest_share)

    def _largest_share(self, p: Fraction, records: int) -> tuple[Fraction, Fraction]:
        beta = decimal_fraction(self.beta)
        if self.enhanced and p == 1:
            return Fraction(1), Fraction(0)
        if self.enhanced and sign_of_logs([(1, p)], beta) == 1:  # -ln p < beta, and irrational
            return largest_fraction(lambda bits: ball(p) * (1 - ball(p).log()), records), Fraction(0)
        return largest_fraction(p * (1 + beta), records), Fraction(0)

    def check(self, published: Published, whole: Published) -> Finding:
        """Compare the largest frequency of each value in any class with its frequency in the table."""
        value_shares = shares(published, self.attribute)
        name = "enhanced" if self.enhanced else "basic"
        holds = all(
            each.p > 0
            and each.gain <= decimal_fraction(self.beta)
            and (not self.enhanced or each.has_enhanced_likeness)
            for each in value_shares
        )
        gains = [each.gain if each.p else math.inf for each in value_shares]
        measured = f"beta = {beside(max(gains), self.beta)}" if gains else "no class"
        if self.enhanced and not all(each.p > 0 and each.has_enhanced_likeness for each in value_shares):
            measured += ", and a gain above -ln p"
        return Finding(f"{name} {exactly(self.beta)}-likeness of {self.attribute!r}", holds, measured)

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the largest gain; for the enhanced form too, if every gain is at most -ln p."""
        value_shares = shares(published, name)
        if not all(each.p > 0 for each in value_shares):
            return []
        beta = float_at_least(max(each.gain for each in value_shares))
        forms = (
            ("beta", "beta (enhanced)")
            if all(each.has_enhanced_likeness for each in value_shares)
            else ("beta",)
        )
        return [Strength("BetaLikeness", form, beta, name) for form in forms]
