"""Uniqueness: records that are alone in their class, in the sample or, by estimate, in the population."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, get_args

import numpy as np
from pydantic import Field

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_at_least
from veil.base.wording import beside, exactly
from veil.classes.sample import Sample
from veil.errors import ParameterError
from veil.models.base import Beside, PrivacyModel, PromisedRisk, Reads, Strength
from veil.models.sample_based import Share, ShareCriterion, SizeCriterion
from veil.population import Population, estimate
from veil.population.dankar import Estimate, Estimator
from veil.population.exact_check import confirm_estimate
from veil.population.size import AnyPopulation
from veil.population.zayatz import zayatz_between, zayatz_is_at_most
from veil.published.finding import Finding
from veil.published.table import Published


@declared(kind_of=PrivacyModel)
class SampleUniqueness(PrivacyModel):
    """At most a given share of the records are alone in their class.

    Without suppression, merging classes never makes a record unique. Suppressing small classes never hurts.

    Differences from ARX: the class all of whose labels are `*` counts like any other, as its records are
    people, who may show something in other columns. And among classes of equal size and loss, those whose
    labels come first in their hierarchies go first, not those whose rows come first in the table.

    >>> SampleUniqueness(0.05)
    SampleUniqueness(threshold=0.05)
    """

    threshold: Annotated[
        float, Field(ge=0, le=1, description="share of unique records; 0.05 or less is usual")
    ]
    kind: Literal["SampleUniqueness"] = Field(default="SampleUniqueness", repr=False, kw_only=True)

    monotone_suppression: ClassVar[bool] = True
    # A share of two parts is between those of each, and merged classes are fewer and larger.
    survives_union: ClassVar[bool] = True
    reads: ClassVar[Reads] = "sizes"
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("threshold", 1)

    @property
    def _share(self) -> Share:
        return Share(decimal_fraction(self.threshold), 2, records=True)

    def bind(self, sample: Sample) -> ShareCriterion:
        """Count the classes of one record."""
        return ShareCriterion(sample, [self._share])

    def promised(self, records: int) -> PromisedRisk:
        """The share of records that may be unique."""
        return PromisedRisk(marketer=self.threshold)

    def verify(self, published: Published) -> Finding:
        """Count again, in rational numbers."""
        sizes = published.sizes
        measured = beside(self._share.measure(sizes), self.threshold)
        promise = f"at most {exactly(self.threshold)} of the records are unique"
        return Finding(promise, self._share.holds(sizes), measured)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the share of unique records."""
        share = Share(Fraction(0), 2, records=True).measure(published.sizes)
        return [Strength(cls.__name__, "threshold", float_at_least(share))]


@declared(kind_of=PrivacyModel)
class PopulationUniqueness(PrivacyModel):
    """At most a given share of the population is estimated to be alone in its class.

    This is a statistical estimate and no guarantee: it rests on a model of class sizes in an unknown
    population, and other models give other numbers. It makes no promise for single records. Combine it with a
    model that does.

    A table whose estimate fails, because the solver finds no solution or because the equations determine
    nothing, as for a single record, counts as violating the model, unless no record is unique. Solver limits
    are those of ARX, but without its clocks, so results do not depend on the machine. For Dankar's rule see
    `veil.population.estimate`; here it does not fall back on Zayatz. The equations are those of the papers;
    ARX's, which differ for the slide negative binomial and for Pitman, are available for comparison.

    Not monotone: merging classes that are not unique can raise every one of the estimates, or make it fail.
    Zayatz's, which is claimed to be monotone, grows from 2/3 to 6/5 uniques among six people when a sample of
    1 + 2 + 2 records becomes one of 1 + 4. And a suppressed class changes all of them, up or down.

    Difference from ARX: among classes of equal size and loss, those whose labels come first in their
    hierarchies go first, not those whose rows come first in the table.

    >>> PopulationUniqueness(0.01, "USA")
    PopulationUniqueness(threshold=0.01, population=Population(size=None, region='USA', sampling_fraction=None),
    model='dankar', like_arx=False)
    """

    threshold: Annotated[
        float, Field(ge=0, le=1, description="share of the population; 0.01 is usual, 0.001 strict")
    ]
    population: Annotated[
        AnyPopulation,
        Field(description="the people the records come from: a size, a region, or a Population"),
    ]
    model: Annotated[
        Estimator, Field(description="estimator; dankar chooses among the others by the sampling fraction")
    ] = "dankar"
    like_arx: Annotated[
        bool,
        Field(description="solve ARX's equations of snb and pitman, which are wrong: for comparison only"),
    ] = False
    kind: Literal["PopulationUniqueness"] = Field(default="PopulationUniqueness", repr=False, kw_only=True)

    reads: ClassVar[Reads] = "sizes"
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("threshold", 1)
    # The number of records is a lower bound or a fraction of the population.
    compares_with: ClassVar[tuple[Beside, ...]] = ("records",)

    def why_not_owners(self, *, all_rows: bool) -> str | None:
        """Return a reason unless attackers know all rows: estimators need a sample with each person once."""
        if all_rows:
            return super().why_not_owners(all_rows=True)
        return "its estimates take a sample in which everybody is once, as they are where attackers know all rows"

    def bind(self, sample: Sample) -> SizeCriterion:
        """Estimate from the class sizes of each node."""
        return _Estimated(self, self._size(sample.records))

    def _size(self, records: int) -> int:
        size = self.population.size_for(records)
        if size < records:
            raise ParameterError(
                f"`population` of PopulationUniqueness should be at least {records}, the number of records in "
                f"the table, not {size}"
            )
        return size

    def promised(self, records: int) -> PromisedRisk:
        """The share of people who may be unique."""
        return PromisedRisk(marketer=self.threshold)

    def verify(self, published: Published) -> Finding:
        """Estimate again and put the solution into the equations, summed term by term."""
        size = self._size(published.baseline.people)
        sizes, counts = np.unique(published.sizes, return_counts=True)
        estimation = confirm_estimate(self.model, sizes, counts, size, like_arx=self.like_arx)
        equations = ", by ARX's equations" if self.like_arx else ""
        promise = (
            f"at most {exactly(self.threshold)} of {self.population} are unique by the estimate of {self.model} "
            f"(an estimate, not a guarantee{equations})"
        )
        uniques = Fraction(estimation.uniques)
        if estimation.available and estimation.estimator == "zayatz":
            uniques, _ = zayatz_between(sizes, counts, size)
        share = beside(uniques / size, self.threshold)
        measured = f"{share} by {estimation.estimator}" if estimation.available else "no estimate"
        return Finding(promise, _Estimated(self, size).accepts(estimation, sizes, counts), measured)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the share of population uniques by each estimator, if the population size is known."""
        if not isinstance(published.region, Population):
            return []
        size = published.region.size_for(published.baseline.people)
        sizes, counts = np.unique(published.sizes, return_counts=True)
        estimates = {name: confirm_estimate(name, sizes, counts, size) for name in get_args(Estimator)}
        return [
            Strength(cls.__name__, f"threshold ({name})", _least_threshold(each, sizes, counts, size))
            for name, each in estimates.items()
            if _Estimated(cls(1, published.region, name), size).accepts(each, sizes, counts)
        ]


def _least_threshold(estimation: Estimate, sizes: Integers, counts: Integers, population: int) -> float:
    """Return the least threshold that an estimate keeps, decided as by the criterion."""
    if estimation.estimator != "zayatz":
        return float_at_least(Fraction(estimation.uniques) / population)
    low, high = zayatz_between(sizes, counts, population)
    least = float_at_least(low / population)
    if zayatz_is_at_most(decimal_fraction(least) * population, sizes, counts, population):
        return least
    return float_at_least(high / population)


class _Estimated(SizeCriterion):
    def __init__(self, model: PopulationUniqueness, population: int) -> None:
        self.estimator: Estimator = model.model
        self.like_arx = model.like_arx
        self.population = population
        self.bound = decimal_fraction(model.threshold) * population

    def holds(self, sizes: Integers, counts: Integers) -> bool:
        if sizes[0] != 1:
            return True
        estimation = estimate(self.estimator, sizes, counts, self.population, like_arx=self.like_arx)
        return self.accepts(estimation, sizes, counts)

    def accepts(self, estimation: Estimate, sizes: Integers, counts: Integers) -> bool:
        """Whether an estimate is low enough; close ones by Zayatz, which are rational, are exact."""
        if not sizes.size or sizes[0] != 1:
            return True
        if estimation.estimator == "zayatz" and math.isclose(estimation.uniques, self.bound, rel_tol=1e-9):
            return zayatz_is_at_most(self.bound, sizes, counts, self.population)
        return 0 < estimation.uniques <= self.bound
