"""Average re-identification risk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_at_least
from veil.base.wording import Phrase, beside, exactly
from veil.classes.sample import Sample
from veil.errors import ParameterError
from veil.models.base import PrivacyModel, PromisedRisk, Reads, Strength
from veil.models.sample_based import Share, ShareCriterion
from veil.published.finding import Finding
from veil.published.table import Published

_ASSESSED_RISK = 0.2
"""Risk above which `strongest` counts records: classes of fewer than five."""


@declared(kind_of=PrivacyModel)
class AverageReidentificationRisk(PrivacyModel):
    """An attacker who links every record succeeds for at most a given share of them.

    The risk of a record is one over the size of its class, so the average is the number of classes divided by
    the number of records. Optionally, at most a share `at_risk` of the records may have a risk above
    `highest`. A risk that is within one percent below 1/s is taken for 1/s, as in ARX, so that 0.33 allows
    classes of three. El Emam and Malin (2015) call the plain form strict average risk.

    Without suppression, merging classes makes fewer and larger ones. Suppressing more of the smallest classes
    never hurts.

    Differences from ARX: the class all of whose labels are `*` counts like any other, as its records are
    people, who may show something in other columns. And among classes of equal size and loss, those whose
    labels come first in their hierarchies go first, not those whose rows come first in the table.

    >>> AverageReidentificationRisk(0.1, highest=0.5, at_risk=0.05)
    AverageReidentificationRisk(average=0.1, highest=0.5, at_risk=0.05)
    """

    average: Annotated[
        float, Field(ge=0, le=1, description="average risk; 0.05 for a closed, 0.01 for an open release")
    ]
    highest: Annotated[
        float | None,
        Field(ge=0, le=1, description="risk that single records should not exceed; 0.2 is usual"),
    ] = None
    at_risk: Annotated[
        float | None, Field(ge=0, le=1, description="share of records that may exceed it; by default none")
    ] = None
    kind: Literal["AverageReidentificationRisk"] = Field(
        default="AverageReidentificationRisk", repr=False, kw_only=True
    )

    monotone_suppression: ClassVar[bool] = True
    # A share of two parts is between those of each, and merged classes are fewer and larger.
    survives_union: ClassVar[bool] = True
    reads: ClassVar[Reads] = "sizes"
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("average", 1)

    def __post_init__(self) -> None:
        if self.at_risk is not None and self.highest is None:
            raise ParameterError(
                "`at_risk` of AverageReidentificationRisk needs `highest`, the risk above which a record is at risk, "
                f"not {self.at_risk:g} alone"
            )

    @property
    def _shares(self) -> list[Share]:
        shares = [Share(decimal_fraction(self.average), None, records=False)]
        if self.highest is not None:
            at_risk = decimal_fraction(self.at_risk or 0)
            shares.append(Share(at_risk, smallest_safe_size(self.highest), records=True))
        return shares

    def bind(self, sample: Sample) -> ShareCriterion:
        """Count classes and the records in small ones."""
        return ShareCriterion(sample, self._shares)

    def promised(self, records: int) -> PromisedRisk:
        """The average is a marketer's success rate."""
        return PromisedRisk(marketer=self.average)

    def verify(self, published: Published) -> Finding:
        """Count again, in rational numbers."""
        sizes = published.sizes
        average, *exposed = [share.measure(sizes) for share in self._shares]
        promise = Phrase("average re-identification risk of at most {average}", average=exactly(self.average))
        measured = beside(average, self.average)
        if self.highest is not None:
            at_risk = self.at_risk or 0.0
            promise = Phrase(
                f"{promise.template}, above {{highest}} for at most {{at_risk}} of the records",
                average=exactly(self.average),
                highest=exactly(self.highest),
                at_risk=exactly(at_risk),
            )
            measured += f", {beside(exposed[0], at_risk)} of the records"
        return Finding(promise, all(share.holds(sizes) for share in self._shares), measured)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the average and the highest risk, and the share of records above a usual risk."""
        sizes = published.sizes
        average = Share(Fraction(0), None, records=False).measure(sizes)
        highest = Fraction(1, int(sizes.min())) if sizes.size else Fraction(0)
        exposed = Share(Fraction(0), smallest_safe_size(_ASSESSED_RISK), records=True).measure(sizes)
        risks = {"average": average, "highest": highest, f"at_risk (highest = {_ASSESSED_RISK:g})": exposed}
        return [Strength(cls.__name__, name, float_at_least(value)) for name, value in risks.items()]


def smallest_safe_size(risk: float) -> int | None:
    """Return the smallest class whose risk counts as at most `risk`; None if every class is too small.

    >>> [smallest_safe_size(risk) for risk in (0.34, 0.33333, 0.3, 0.2, 0.15, 0.051)]
    [3, 3, 4, 5, 7, 20]
    """
    r = decimal_fraction(risk)
    if r == 0:
        return None
    size = math.floor(1 / r)
    return size + 1 if Fraction(1, size) - r >= r / 100 else size
