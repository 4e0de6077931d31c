"""δ-presence: an attacker learns neither that a person is in the table nor that they are not. Inclusion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_at_least, largest_fraction
from veil.base.wording import Phrase, beside, exactly, plural
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import ParameterError
from veil.models.base import Beside, PrivacyModel, Strength, by_parameters
from veil.models.subset import SubsetField, row_numbers
from veil.published.finding import Finding
from veil.published.owners import count_owners
from veil.published.table import Published

Chance = Annotated[float, Field(ge=0, le=1)]


@declared(kind_of=PrivacyModel)
class DeltaPresence(PrivacyModel):
    """The share of a class of the population that is in the release is between `minimum` and `maximum`.

    The whole table is the population, the research subset is released. For each class of people with the same
    generalized quasi-identifiers: minimum <= (those in the subset) / (all of them) <= maximum. That is the
    chance that a person of the class is in the release, as far as the release shows. Nergiz et al. (2007).

    A class without a person of the subset has the share 0. If minimum is above 0, it breaks the promise, and
    no suppression can mend that: such a transformation is ruled out (`empty_classes="forbid"`). Difference
    from ARX, which forgets this as soon as another model of the plan defines a minimal class size.
    `empty_classes="ignore"` does so always, to reproduce such results. The price: an attacker learns for
    certain that people in a class without a released record are not in the subset. Only `maximum`, and
    `minimum` for people who share their class with a released record, are promised then. The release does not
    show the class of suppressed records, and nothing is promised for people in classes that are suppressed
    whole: any of them may be behind a blank row. Dropped rows leave no such doubt, so a plan with a minimum
    above 0 that drops rows is refused.

    Monotone under generalization, since the share of a union lies between those of its parts; not so if empty
    classes are ignored, as an ignored part may spoil the union. Not monotone under suppression.
    """

    minimum: Annotated[
        Chance, Field(description="minimum probability that a person is in the release; 0 to 0.1")
    ]
    maximum: Annotated[
        Chance, Field(gt=0, description="maximum probability that a person is in the release; less is safer")
    ]
    subset: Annotated[
        SubsetField, Field(description="the rows to release; not needed if another model of the plan says it")
    ] = None
    empty_classes: Annotated[
        Literal["forbid", "ignore"],
        Field(
            description="classes of the population without a released record: rule the node out, or overlook them"
        ),
    ] = "forbid"
    kind: Literal["DeltaPresence"] = Field(default="DeltaPresence", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("table linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("maximum", 1)
    compares_with: ClassVar[tuple[Beside, ...]] = ("population",)
    survives_union: ClassVar[bool] = False  # the part of people who are not released is unknown
    monotone_generalization: ClassVar[bool] = by_parameters(
        lambda model: model.minimum == 0 or model.empty_classes == "forbid",
        condition="minimum is 0 or empty classes are forbidden",
    )
    # If all rows of a class are dropped, the release shows that its share is 0.
    protects_absence: ClassVar[bool] = by_parameters(
        lambda model: model.minimum > 0 and model.empty_classes == "forbid"
    )

    def __post_init__(self) -> None:
        if self.minimum > self.maximum:
            raise ValueError(
                f"`minimum` of DeltaPresence should be at most `maximum`, which is {self.maximum:g}, "
                f"not {self.minimum:g}"
            )

    def minimal_class_size(self, sample: Sample) -> int:
        """Return the numerator of the simplest allowed share; no other allowed fraction has a smaller one."""
        return (
            _simplest_between(decimal_fraction(self.minimum), decimal_fraction(self.maximum)).numerator or 1
        )

    def bind(self, sample: Sample) -> _Presence:
        """Compare the two counts of each class."""
        require_subset(self, sample)
        return _Presence(sample, self)

    def verify(self, published: Published) -> Finding:
        """Count each class in the release and in the population."""
        shares = {"minimum": exactly(self.minimum), "maximum": exactly(self.maximum)}
        promise = Phrase("({minimum}, {maximum})-presence of the research subset", **shares)
        least, most = decimal_fraction(self.minimum), decimal_fraction(self.maximum)
        if least == 0 and most == 1:
            return Finding(promise, True, "any share is allowed")
        if published.population is None:
            return Finding(promise, False, "the population is not at hand, so nothing can be said")
        smallest, largest = _extreme_shares(published)
        holds = least <= smallest and largest <= most
        measured = (
            f"shares from {beside(smallest, self.minimum)} to {beside(largest, self.maximum)}"
            if published.sizes.size
            else "no class"
        )
        if self.empty_classes == "forbid" and least > 0:
            empty = classes_without_members(published)
            holds &= empty == 0
            if empty is None:
                measured += ", and no telling which rows of the population are in the subset"
            elif empty:
                measured += f", {plural(empty, 'class', 'classes')} of the population without a record"
        return Finding(promise, holds, measured)

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the least and the largest share, if the population is at hand."""
        if published.population is None or not published.sizes.size:
            return []
        smallest, largest = _extreme_shares(published)
        if classes_without_members(published) != 0:
            smallest = Fraction(0)
        # Rounded to the safe side, also when read as a decimal number.
        minimum = -float_at_least(-smallest)
        return [
            Strength("DeltaPresence", "minimum", abs(minimum), rounding="down"),
            Strength("DeltaPresence", "maximum", float_at_least(largest)),
        ]


@declared(kind_of=PrivacyModel)
class Inclusion(PrivacyModel):
    """Releases a research subset and demands nothing of it: the whole table serves as the population."""

    subset: Annotated[SubsetField, Field(description="the rows to release")] = Field(default=None)
    kind: Literal["Inclusion"] = Field(default="Inclusion", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True
    compares_with: ClassVar[tuple[Beside, ...]] = ("population",)

    def __post_init__(self) -> None:
        if self.subset is None:
            raise ValueError("`subset` of Inclusion is required: row numbers, a query, a path or a frame")

    def verify(self, published: Published) -> Finding:
        """Check that there are no more records than the subset has, and none that the population lacks."""
        records = published.baseline.people
        holds = published.records <= records and bool(sizes_in_population(published).all())
        return Finding(
            "only the research subset is released",
            holds,
            f"{published.records} of {plural(records, 'record')}",
        )


def require_subset(model: PrivacyModel, sample: Sample) -> None:
    """Refuse a sample without a research subset."""
    if not sample.has_subset:
        raise ParameterError(
            f"`subset` of {type(model).__name__} is required, here or in another model of the plan: row numbers, "
            "a query, a path or a frame with the rows to release, while the whole table is the population"
        )


# --- the criterion --------------------------------------------------------------------------------


class _Presence:
    """Decides in integers: bounds on shares of n people become fractions of integers up to n."""

    def __init__(self, sample: Sample, model: DeltaPresence) -> None:
        inside = largest_fraction(decimal_fraction(model.maximum), sample.population_size)
        outside = largest_fraction(1 - decimal_fraction(model.minimum), sample.population_size)
        self.limits = inside.numerator, inside.denominator, outside.numerator, outside.denominator
        self.forbidding = model.minimum > 0 and model.empty_classes == "forbid"

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        _reject_share(table.count, table.population, *self.limits, rejected)

    def forbids(self, table: ClassTable) -> bool:
        """Whether a class is without a person of the subset, which violates any minimum above 0."""
        return self.forbidding and not table.count.all()


@kernel
def _reject_share(
    counts: Integers,
    population: Integers,
    inside: int,
    per: int,
    outside: int,
    per_outside: int,
    rejected: Marks,
) -> None:
    """Reject classes with more than `inside / per` in the subset or more than `outside / per_outside` not."""
    for i in range(counts.size):
        if counts[i] > 0 and rejected[i] == 0:
            everybody = population[i]
            if (
                counts[i] * per > inside * everybody
                or (everybody - counts[i]) * per_outside > outside * everybody
            ):
                rejected[i] = 1


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the least denominator and numerator in an interval of positive numbers.

    It is an integer if there is one. Otherwise both ends have the same integer part, and it is that plus the
    inverse of the simplest number between the inverses of their fractional parts.
    """
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / _simplest_between(1 / (high - whole + 1), 1 / (low - whole + 1))


# --- verification ---------------------------------------------------------------------------------


def sizes_in_population(published: Published) -> Integers:
    """Count the people of the population in each class of a release; without a population, its records.

    0 if the population has fewer than the release: such records are unprotected.
    """
    if published.population is None:
        return published.sizes
    classes, everybody = row_numbers([published.labels, published.population.table], published.names)
    population, size = published.population, int(classes.max(initial=-1)) + 1
    counts = count_owners(everybody, population.weights, population.owners, size)[classes]
    return np.where(counts >= published.sizes, counts, 0)


def classes_without_members(published: Published) -> int | None:
    """Count the classes of the population without a person of the subset; None if that is unknown.

    `members` of a published table are the rows of the population in the subset. Without them, a class without
    a released record may be empty, or suppressed.
    """
    assert published.population is not None
    classes, everybody = row_numbers([published.labels, published.population.table], published.names)
    there = np.bincount(everybody) > 0
    members = published.members
    if members is not None:
        classes = np.concatenate([classes, everybody[members]])
    represented = np.bincount(classes, minlength=there.size)[: there.size] > 0
    empty_count = int(np.count_nonzero(there & ~represented))
    if members is None and empty_count:
        hidden = published.suppressed_records + published.baseline.people - published.records
        return empty_count if hidden <= 0 else None
    return empty_count


def _extreme_shares(published: Published) -> tuple[Fraction, Fraction]:
    """Return the extreme shares of the classes; beyond 1 if the population lacks released records."""
    sizes, everybody = published.sizes, sizes_in_population(published)
    if not everybody.all():
        return Fraction(0), Fraction(2)
    if not sizes.size:
        return Fraction(1), Fraction(0)
    pairs = np.unique(np.stack([sizes, everybody]), axis=1).T.tolist()
    shares = [Fraction(some, whole) for some, whole in pairs]
    return min(shares), max(shares)
