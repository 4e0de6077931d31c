"""(α, k)-anonymity."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Mask
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_at_least, largest_fraction
from veil.base.views import View
from veil.base.wording import Phrase, beside, exactly
from veil.classes.sample import Sample
from veil.errors import ParameterError, did_you_mean
from veil.models.base import PrivacyModel, PromisedRisk, Strength
from veil.models.diversity import different
from veil.models.sensitive import Missing, SensitiveModel
from veil.models.shares import ShareLimits, shares
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.text import canonical_text

Value = str | bool | int | float | datetime.date | datetime.datetime | None


@declared(kind_of=PrivacyModel)
class AlphaKAnonymity(SensitiveModel):
    """k-anonymity, and no sensitive value is held by more than a share α of a class.

    `values` lists the sensitive values that matter, as they are or by their text; without it all do. Anyone
    who knows a person's class can then name one of these values with a confidence of at most α.

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are one value that matters.

    Monotone under generalization: sizes add up, and the share of a value in a union is at most the largest
    one of its parts. Not monotone under suppression, unlike k-anonymity alone. Wong et al. (2006).
    """

    attribute: Annotated[str, Field(description="sensitive column whose values must not dominate a class")]
    alpha: Annotated[
        float, Field(gt=0, le=1, description="largest share of a value in a class; 0.5 or less is usual")
    ]
    k: Annotated[int, Field(ge=1, description="smallest allowed class; 5 to 20 is usual for publication")]
    values: Annotated[
        tuple[Value, ...] | None, Field(min_length=1, description="the values that matter; None: all of them")
    ] = None
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["AlphaKAnonymity"] = Field(default="AlphaKAnonymity", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("record linkage", "attribute linkage")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("alpha", 1)
    views: ClassVar[tuple[View, ...]] = ("most",)

    def __post_init__(self) -> None:
        if self.missing != "a value" and None in (self.values or ()):
            raise ValueError(
                "`values` of AlphaKAnonymity should be values, not None: a missing cell is none, unless you say "
                "missing='a value'"
            )

    def minimal_class_size(self, sample: Sample) -> int:
        """Return k, or the least size for which the allowed counts add up, if larger."""
        return max(self.k, super().minimal_class_size(sample))

    def least_size(self, sample: Sample) -> int:
        """Return the least size for which the allowed counts of the values add up."""
        return self.criterion(sample).minimal_class_size()

    def criterion(self, sample: Sample) -> ShareLimits:
        """Limit the share of the values that matter."""
        alpha = decimal_fraction(self.alpha)
        largest = largest_fraction(alpha, sample.largest_size(self.attribute)), Fraction(0)
        criterion = ShareLimits(sample, self.attribute, lambda p, records: largest)
        free = ~self._values_that_matter(sample)
        occurring = criterion.frequencies > 0
        number = int(np.count_nonzero(occurring))
        if not (free & occurring).any() and alpha * number < 1:
            allowed = "1" if number == 1 else f"from 1/{number} to 1"
            reached = "which makes up every class" if number == 1 else "one of which has that share at least"
            raise ParameterError(
                f"`alpha` of AlphaKAnonymity should be {allowed}, as column {self.attribute!r} has "
                f"{different(number)}, {reached}, not {exactly(self.alpha)}"
            )
        criterion.release(free)
        return criterion

    def _values_that_matter(self, sample: Sample) -> Mask:
        """Return a mask of the values of the attribute that matter."""
        attribute = sample.attribute(self.attribute)
        if self.values is None:
            return np.ones(len(attribute.values), np.bool_)
        texts = canonical_text(pa.array(attribute.values), column=self.attribute)
        relevant = self._texts()
        for text in relevant:
            if text not in texts:
                hint = did_you_mean(str(text), [each for each in texts if each is not None])
                raise ParameterError(
                    f"`values` of AlphaKAnonymity should be values of column {self.attribute!r}, "
                    f"not {text!r}.{hint}"
                )
        return np.array([text in relevant for text in texts])

    def _texts(self) -> list[str | None]:
        return [canonical_text(pa.array([value]))[0] for value in self.values or ()]

    def promised(self, records: int) -> PromisedRisk:
        """A record is hidden among k."""
        return PromisedRisk.of_classes(self.k)

    def check(self, published: Published, whole: Published) -> Finding:
        """Check the size of the smallest class and the largest share of each value that matters."""
        value_shares = shares(published, self.attribute)
        if self.values is not None:
            texts = canonical_text(pa.array([each.value for each in value_shares]), column=self.attribute)
            relevant = self._texts()
            value_shares = [each for each, text in zip(value_shares, texts, strict=True) if text in relevant]
        largest = max((each.largest for each in value_shares), default=Fraction(0))
        smallest = int(whole.sizes.min(initial=whole.records))
        holds = largest <= decimal_fraction(self.alpha) and (smallest >= self.k or not whole.sizes.size)
        promise = Phrase(
            "({alpha}, {k})-anonymity of {attribute!r}",
            alpha=exactly(self.alpha),
            k=self.k,
            attribute=self.attribute,
        )
        return Finding(promise, holds, f"alpha = {beside(largest, self.alpha)}, k = {smallest}")

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the largest share of any value, together with the size of the smallest class."""
        alpha = float_at_least(max(each.largest for each in shares(published, name)))
        return [Strength("AlphaKAnonymity", f"alpha (k = {int(whole.sizes.min())})", alpha, name)]
