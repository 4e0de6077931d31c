"""l-diversity: each class holds enough different sensitive values, none of them too frequent."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Codes, Integers, Marks, Mask
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, float_above, largest_fraction
from veil.base.views import FillingRule, View
from veil.base.wording import Phrase, beside, exactly
from veil.classes.kernels import Entries
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import ImpossibleError, ParameterError
from veil.models.base import PrivacyModel, PromisedRisk, Strength
from veil.models.sensitive import Missing, SensitiveModel
from veil.published.finding import Finding
from veil.published.table import Published

Attribute = Annotated[str, Field(description="sensitive column whose values must differ within each class")]

_ASSESSED_L = 5
"""Largest l for which `strongest` looks for c."""


@declared(kind_of=PrivacyModel)
class DistinctLDiversity(SensitiveModel):
    """Every class holds at least l different values of a sensitive attribute.

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are its commonest value.

    Both kinds of monotone where no value is missing: a union of classes holds the values of each, and a part
    of a class no further ones. Guessing the most frequent value may still succeed nearly always.
    Machanavajjhala et al. (2007).
    """

    attribute: Attribute
    l: Annotated[int, Field(ge=1, description="least number of distinct values; 2 to 5 is usual")]
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["DistinctLDiversity"] = Field(default="DistinctLDiversity", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("record linkage", "attribute linkage")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("l", 1)
    filling: ClassVar[FillingRule] = "commonest"
    views: ClassVar[tuple[View, ...]] = ("worst",)
    # A class fails iff some l - 1 values cover all its people. The l - 1 commonest values of two classes together
    # cover no more people of each than its own do, so people are left in both.
    survives_union_of_owners: ClassVar[bool] = True

    def least_size(self, sample: Sample) -> int:
        """Return l: each record brings one value."""
        check_l(self, self.l, sample)
        return self.l

    def criterion(self, sample: Sample) -> _Distinct | None:
        """Count the values of each class. Any class holds one value."""
        check_l(self, self.l, sample)
        return _Distinct(sample, self) if self.l > 1 else None

    def promised(self, records: int) -> PromisedRisk:
        """A record is one of l, as l values need l records, unless a class may be blank."""
        return one_of(self.l, self.missing)

    def check(self, published: Published, whole: Published) -> Finding:
        """Count the values of each class."""
        least = ClassValues(published, self.attribute).distinct.min(initial=np.iinfo(np.int64).max)
        measured = f"l = {least}" if published.sizes.size else "no class"
        promise = Phrase("distinct {l}-diversity of {attribute!r}", l=self.l, attribute=self.attribute)
        return Finding(promise, bool(least >= self.l), measured)

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the least number of values of a class."""
        least = int(ClassValues(published, name).distinct.min())
        return [Strength("DistinctLDiversity", "l", least, name)]


@declared(kind_of=PrivacyModel)
class RecursiveCLDiversity(SensitiveModel):
    """In every class the most frequent sensitive value occurs less than c times as often as the rare ones.

    With the counts of a class in descending order: r_1 < c (r_l + ... + r_m). An attacker who excludes l - 2
    values still cannot be too sure of the most frequent one. (Some texts print the inequality reversed.)

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are its commonest value.

    Monotone under generalization: in a union r_1 is at most the sum of the parts', and the sum of the l - 1
    largest counts too, so what is left is at least the sum of what the parts leave. Not monotone under
    suppression. Machanavajjhala et al. (2007).
    """

    attribute: Attribute
    c: Annotated[
        float,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="how dominant a value may be, less is safer; 1 to 5 is usual",
        ),
    ]
    l: Annotated[int, Field(ge=1, description="values that count as frequent, plus one; 2 to 5 is usual")]
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["RecursiveCLDiversity"] = Field(default="RecursiveCLDiversity", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("record linkage", "attribute linkage")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("c", math.inf)
    filling: ClassVar[FillingRule] = "commonest"
    views: ClassVar[tuple[View, ...]] = ("worst",)
    # In both classes, people show none of the l - 1 most frequent values, or none would be left. So the worst view
    # has r_1 = c_1 people and leaves n less the l - 1 largest counts, as in a union of rows.
    survives_union_of_owners: ClassVar[bool] = True

    def least_size(self, sample: Sample) -> int:
        """Return l + floor(1/c).

        r_1 is at least 1, so the counts from r_l on add up to more than 1/c, that is to floor(1/c) + 1 or
        more; each of the l - 1 counts before them is at least 1.
        """
        values = check_l(self, self.l, sample)
        c = decimal_fraction(self.c)
        if c * (values - self.l + 1) <= 1:  # even if all values are equally frequent
            raise ParameterError(
                f"`c` of RecursiveCLDiversity should be greater than {Fraction(1, values - self.l + 1)} for "
                f"l = {self.l}, as column {self.attribute!r} has {different(values)}, not {exactly(self.c)}"
            )
        return self.l + math.floor(1 / c)

    def criterion(self, sample: Sample) -> _Recursive:
        """Find the l - 1 largest counts of each class."""
        self.least_size(sample)
        return _Recursive(sample, self)

    def promised(self, records: int) -> PromisedRisk:
        """A record is one of l, as l values need l records, unless a class may be blank."""
        return one_of(self.l, self.missing)

    def check(self, published: Published, whole: Published) -> Finding:
        """Sort the counts of each class."""
        values = ClassValues(published, self.attribute)
        first, rest = values.recursive(self.l)
        c = decimal_fraction(self.c)
        pairs = np.unique(np.stack([first, rest]), axis=1).T.tolist()
        holds = all(rest > 0 and first < c * rest for first, rest in pairs)
        measured = "no class"
        if pairs:
            worst = max(Fraction(first, rest) if rest else math.inf for first, rest in pairs)
            measured = f"r_1 is at most {beside(worst, self.c)} times the rest"
            measured += ", and less is needed" if worst == c else ""
        template = "recursive ({c}, {l})-diversity of {attribute!r}"
        promise = Phrase(template, c=exactly(self.c), l=self.l, attribute=self.attribute)
        return Finding(promise, holds, measured)

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the least c for each l from 2 to 5 for which every class has enough values."""
        result, values = [], ClassValues(published, name)
        for l in range(2, min(int(values.distinct.min()), _ASSESSED_L) + 1):
            first, rest = values.recursive(l)
            ratio = first / rest
            worst = np.flatnonzero(ratio == ratio.max())  # division is monotone, so the largest is there
            largest = max(Fraction(int(first[i]), int(rest[i])) for i in worst)
            result.append(Strength("RecursiveCLDiversity", f"c (l = {l})", float_above(largest), name))
        return result


def one_of(l: int, missing: str) -> PromisedRisk:
    """Return the risks if classes have at least l values; none is promised for classes without a value."""
    return PromisedRisk() if missing == "left out" else PromisedRisk.of_classes(l)


def check_l(model: PrivacyModel, l: float, sample: Sample) -> int:
    """Refuse an l that no class can reach, and return the number of values."""
    (attribute,) = model.attribute_names
    values = int(np.count_nonzero(sample.distribution(attribute)))
    if l > values:
        raise ImpossibleError(
            f"`l` of {type(model).__name__} should be {'1' if values == 1 else f'between 1 and {values}'}, "
            f"the number of distinct values of column {attribute!r}, not {exactly(l)}"
        )
    return values


def different(values: int) -> str:
    """Return a count of distinct values in words.

    >>> different(1), different(3)
    ('1 value only', '3 different values')
    """
    return "1 value only" if values == 1 else f"{values} different values"


# --- criteria -------------------------------------------------------------------------------------


class _Distinct:
    def __init__(self, sample: Sample, model: DistinctLDiversity) -> None:
        self.sample, self.model = sample, model

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        histogram = self.sample.histogram(table, self.model.attribute)
        _reject_uniform(histogram.classes, table.count, self.model.l, rejected)


class _Recursive:
    """Decides r_1 < c * rest in integers.

    Both sides count records, so c may give way to a fraction of integers up to the number of records. If
    c <= 1 it is p/q, the largest one below c: r_1 / rest < c is r_1 * q <= p * rest. Otherwise p/q is the
    largest one up to 1/c: rest / r_1 > 1/c is r_1 * p < q * rest. No product exceeds the square of the number
    of records.
    """

    def __init__(self, sample: Sample, model: RecursiveCLDiversity) -> None:
        self.sample, self.model = sample, model
        c = decimal_fraction(model.c)
        if c <= 1:
            fraction = largest_fraction(c, sample.records, below=True)
            self.left, self.right, self.gap = fraction.denominator, fraction.numerator, 0
        else:
            fraction = largest_fraction(1 / c, sample.records)
            self.left, self.right, self.gap = fraction.numerator, fraction.denominator, 1

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        histogram = self.sample.histogram(table, self.model.attribute)
        frequent = self.model.l - 1
        _reject_dominated(histogram, table.count, frequent, self.left, self.right, self.gap, rejected)


@kernel
def _reject_uniform(classes: Codes, sizes: Integers, least: int, rejected: Marks) -> None:
    """Reject classes with fewer than `least` different values."""
    distinct = np.zeros(sizes.size, np.int64)
    for e in range(classes.size):
        distinct[classes[e]] += 1
    for i in range(sizes.size):
        if sizes[i] > 0 and distinct[i] < least:
            rejected[i] = 1


@kernel
def _reject_dominated(
    entries: Entries, sizes: Integers, frequent: int, left: int, right: int, gap: int, rejected: Marks
) -> None:
    """Reject classes unless r_1 * left + gap <= right * (all records but those of the `frequent` values)."""
    _, classes, counts = entries
    width = max(1, frequent)
    largest = np.zeros((sizes.size, width), np.int64)
    for e in range(classes.size):
        i = classes[e]
        if rejected[i]:
            continue
        count = counts[e]
        place = width - 1
        if count > largest[i, place]:
            while place > 0 and count > largest[i, place - 1]:
                largest[i, place] = largest[i, place - 1]
                place -= 1
            largest[i, place] = count
    for i in range(sizes.size):
        if rejected[i] or sizes[i] == 0:
            continue
        rest = sizes[i]
        for place in range(frequent):
            rest -= largest[i, place]
        if rest == 0 or largest[i, 0] * left + gap > right * rest:
            rejected[i] = 1


# --- verification ---------------------------------------------------------------------------------


class ClassValues:
    """The histograms of a published table, class by class, counts in ascending order."""

    def __init__(self, published: Published, attribute: str) -> None:
        number, _, count = published.histograms(attribute)
        order = np.lexsort((count, number))
        self.number, self.count = number[order], count[order]
        self.starts = np.flatnonzero(np.diff(self.number, prepend=-1))
        self.distinct = np.diff(self.starts, append=self.number.size)
        self.sizes = np.add.reduceat(self.count, self.starts) if self.starts.size else np.empty(0, np.int64)

    def counts_of(self, classes: Mask) -> set[tuple[int, ...]]:
        """Return the distinct histograms of some classes."""
        entries = np.repeat(classes, self.distinct)
        return set(split(self.number[entries], self.count[entries])[1])

    def recursive(self, l: int) -> tuple[Integers, Integers]:
        """Return the largest count of each class, and the sum of all but the l - 1 largest."""
        if not self.starts.size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ends = self.starts + self.distinct
        place_from_end = np.repeat(ends, self.distinct) - np.arange(self.count.size)  # 1 is the largest
        rest = np.add.reduceat(np.where(place_from_end >= l, self.count, 0), self.starts)
        return self.count[ends - 1], rest


def split(number: Integers, count: Integers) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the classes, and the counts of each as a sorted tuple."""
    order = np.lexsort((count, number))
    number, count = number[order], count[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    ends = [*starts[1:].tolist(), number.size]
    return number[starts].tolist(), [
        tuple(count[start:end].tolist()) for start, end in zip(starts, ends[: starts.size], strict=True)
    ]
