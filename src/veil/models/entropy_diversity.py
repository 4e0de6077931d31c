"""Entropy l-diversity."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.base.arrays import Floats, Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction, entropy_reaches
from veil.base.views import FillingRule, View
from veil.base.wording import Phrase, beside, exactly
from veil.classes.kernels import Entries
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.models.base import PrivacyModel, PromisedRisk, Strength, by_parameters
from veil.models.diversity import Attribute, ClassValues, check_l, one_of, split
from veil.models.sensitive import Missing, SensitiveModel
from veil.published.finding import Finding
from veil.published.table import Published

_ENTROPY_LOSS = 2.0**-52
"""Twice the relative rounding error of one operation on doubles."""

_CLOSE = 2
"""Mark of a class that doubles cannot decide."""


@declared(kind_of=PrivacyModel)
class EntropyLDiversity(SensitiveModel):
    """The entropy of a sensitive attribute is at least ln l in every class, and at least l values occur.

    The estimator "shannon" takes the entropy of the class as it is: n ln n - sum of f ln f >= n ln l for
    counts f that add up to n (the second condition follows, as d values have at most entropy ln d).
    "grassberger" corrects for the entropy that small samples lack, by G(x) in place of ln x for counts
    (Stammler, Katzenbeisser and Hamacher 2016).

    Missing and withheld cells are no values: they are left out of the class and of the table, and a class
    without any value holds. Their records still count for the sizes of classes. At worst, all blanks of a
    class are its commonest value.

    With the Shannon estimator, monotone under generalization: entropy is concave, so a union has at least the
    least entropy of its parts. Not so with Grassberger's: the counts (1, 1) fulfil l = 2, and twice that, (2,
    2), does not. Under suppression neither is monotone. Machanavajjhala et al. (2007).

    Difference from ARX: there the sum with G is compared after every value, in the order of the table, and as
    G(1) is negative a sum may exceed its bound on the way only. Here the sum itself is compared.
    """

    attribute: Attribute
    l: Annotated[
        float,
        Field(ge=1, allow_inf_nan=False, description="effective number of values, may be fractional; 2 to 5"),
    ]
    estimator: Annotated[
        Literal["shannon", "grassberger"],
        Field(description="entropy of the class itself, or corrected for small classes"),
    ] = "shannon"
    missing: Missing = Field(default="left out", kw_only=True)
    kind: Literal["EntropyLDiversity"] = Field(default="EntropyLDiversity", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("record linkage", "attribute linkage")
    relaxed_by: ClassVar[tuple[str, float] | None] = ("l", 1)
    filling: ClassVar[FillingRule] = "commonest"
    monotone_generalization: ClassVar[bool] = by_parameters(
        lambda model: model.estimator == "shannon", condition="estimator is shannon"
    )
    # Shannon's entropy falls as counts move to frequent values; Grassberger's may rise: (2, 2) to (3, 1).
    views: ClassVar[tuple[View, ...]] = by_parameters(
        lambda model: ("worst",) if model.estimator == "shannon" else ("one value",), safe=("one value",)
    )

    def __post_init__(self) -> None:
        if self.missing == "worst" and self.estimator != "shannon":
            raise ValueError(
                "`missing` of EntropyLDiversity should be 'left out' or 'a value' for the estimator 'grassberger', not "
                "'worst': its entropy may rise as a frequent value becomes more frequent. Use estimator='shannon'"
            )

    def least_size(self, sample: Sample) -> int:
        """Return l, rounded up: at least that many values occur."""
        check_l(self, self.l, sample)
        return math.ceil(decimal_fraction(self.l))

    def criterion(self, sample: Sample) -> _Entropy | None:
        """Sum up f ln f. Entropies are never below ln 1."""
        check_l(self, self.l, sample)
        return _Entropy(sample, self) if self.l > 1 else None

    def promised(self, records: int) -> PromisedRisk:
        """A record is one of ceil(l), as so many values need as many records, unless a class may be blank."""
        return one_of(math.ceil(decimal_fraction(self.l)), self.missing)

    def check(self, published: Published, whole: Published) -> Finding:
        """Compute the entropy of each class."""
        values = ClassValues(published, self.attribute)
        l = decimal_fraction(self.l)
        entropy, error = _entropies(values, self.estimator)
        below = (entropy + error < math.log(l)) | (values.distinct < math.ceil(l))
        close = ~below & (entropy - error <= math.log(l))
        holds = not below.any() and all(
            entropy_reaches(c, l, self.estimator) for c in values.counts_of(close)
        )
        measured = "no class"
        if entropy.size:
            least = min(float(np.exp(entropy.min())), float(values.distinct.min()))
            # Entropies are rounded: a value on the wrong side of l is shown next to l.
            least = max(least, self.l) if holds else min(least, math.nextafter(self.l, 0.0))
            measured = f"l = {beside(least, self.l)}"
        promise = Phrase(
            "{estimator} entropy {l}-diversity of {attribute!r}",
            estimator=self.estimator,
            l=exactly(self.l),
            attribute=self.attribute,
        )
        return Finding(promise, holds, measured)

    @classmethod
    def strengths(cls, published: Published, name: str, whole: Published) -> list[Strength]:
        """Return the exponential of the least entropy, for both estimators."""
        counted = ClassValues(published, name)
        return [
            Strength("EntropyLDiversity", parameter, _largest_l(counted, estimator), name, "down")
            for parameter, estimator in (("l", "shannon"), ("l (grassberger)", "grassberger"))
        ]


class _Entropy:
    """Decides with doubles, and again with balls (interval arithmetic) if those are too close to the bound.

    Error bound: an entry of the table is off by at most 4 units of 2^-53 relative to its size (logarithm,
    product), and adding up d of them by d - 1 more; so is, with fewer operations, the right-hand side. All
    terms are at most n ln n (or n G(n)) + n ln l; the 1 covers the decimal l, which is not quite its double.
    """

    def __init__(self, sample: Sample, model: EntropyLDiversity) -> None:
        self.sample, self.model = sample, model
        self.l = decimal_fraction(model.l)
        self.least, self.bound = math.ceil(self.l), math.log(self.l)
        counts = np.arange(sample.records + 1)
        self.terms = counts * _LOGARITHMS[model.estimator](counts)
        self.decided: dict[tuple[int, ...], bool] = {}

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        histogram = self.sample.histogram(table, self.model.attribute)
        close = _reject_low_entropy(
            histogram, table.count, self.terms, self.least, self.bound, self.model.estimator == "shannon", rejected
        )  # fmt: skip
        if close:
            entries = np.flatnonzero(rejected[histogram.classes] == _CLOSE)
            histograms = split(histogram.classes[entries].astype(np.int64), histogram.counts[entries])
            for number, counts in zip(*histograms, strict=True):
                rejected[number] = not self._fulfils(counts)

    def _fulfils(self, counts: tuple[int, ...]) -> bool:
        verdict = self.decided.get(counts)
        if verdict is None:
            verdict = self.decided[counts] = entropy_reaches(counts, self.l, self.model.estimator)
        return verdict


@kernel
def _reject_low_entropy(
    entries: Entries, sizes: Integers, terms: Floats, least: int, bound: float, plain: bool, rejected: Marks
) -> int:
    """Reject classes with fewer than `least` values or an entropy below `bound`; mark and count close calls.

    Equal counts are no close call with the plain estimator: their entropy is the logarithm of their number.
    """
    _, classes, counts = entries
    sums = np.zeros(sizes.size)
    distinct = np.zeros(sizes.size, np.int64)
    largest = np.zeros(sizes.size, np.int64)
    for e in range(classes.size):
        i = classes[e]
        if rejected[i] == 0:
            sums[i] += terms[counts[e]]
            distinct[i] += 1
            largest[i] = max(largest[i], counts[e])
    close = 0
    for i in range(sizes.size):
        size = sizes[i]
        if rejected[i] or size == 0:
            continue
        if distinct[i] < least:
            rejected[i] = 1
        elif not (plain and largest[i] * distinct[i] == size):
            excess = sums[i] - (terms[size] - size * bound)
            error = (distinct[i] + 32) * _ENTROPY_LOSS * (terms[size] + size * (bound + 1))
            if excess > error:
                rejected[i] = 1
            elif excess >= -error:
                rejected[i] = _CLOSE
                close += 1
    return close


def _logarithm(counts: Integers) -> Floats:
    """Return natural logarithms, 0 for 0."""
    return np.log(np.maximum(counts, 1))


def _grassberger(counts: Integers) -> Floats:
    """Return G(x) - G(1): the sum of 2 / (2j - 1) for j up to x // 2.

    The constant G(1) cancels in every entropy, since the counts add up to the size of the class. Beyond 128
    terms the sum is ln i + 1/(24 i^2) - 7/(960 i^4) + 31/(8064 i^6) plus a constant, with an error below
    1/(240 i^8), less than the precision of a double.
    """
    half = counts // 2
    few = np.array([math.fsum(2 / (2 * j - 1) for j in range(1, i + 1)) for i in range(129)])
    many = np.maximum(half, 128).astype(np.float64)
    square = 1 / (many * many)
    series = square * (1 / 24 - square * (7 / 960 - square * (31 / 8064)))
    offset = np.euler_gamma + 2 * math.log(2)
    return np.where(half <= 128, few[np.minimum(half, 128)], np.log(many) + series + offset)


_LOGARITHMS = {"shannon": _logarithm, "grassberger": _grassberger}


def _entropies(counted: ClassValues, estimator: str) -> tuple[Floats, Floats]:
    """Return the entropy of each class in doubles, and a bound on the error."""
    logarithm = _LOGARITHMS[estimator]
    if not counted.starts.size:
        return np.empty(0), np.empty(0)
    sums = np.add.reduceat(counted.count * logarithm(counted.count), counted.starts)
    whole = logarithm(counted.sizes)
    return whole - sums / counted.sizes, (counted.distinct + 32) * _ENTROPY_LOSS * (whole + 1)


def _largest_l(counted: ClassValues, estimator: str) -> float:
    """Return the largest l, up to a few units in the last place, that all classes reach."""
    entropy, error = _entropies(counted, estimator)
    limit = int(counted.distinct.min())
    least = int(np.argmin(entropy + error))
    candidates = counted.counts_of(entropy - error <= entropy[least] + error[least])
    guess = min(math.exp(entropy[least]), limit)

    def holds(l: float) -> bool:
        exact = decimal_fraction(l)
        return l == 1 or all(entropy_reaches(counts, exact, estimator) for counts in candidates)

    whole = float(round(guess))
    if abs(whole - guess) < 1e-9 and whole <= limit and holds(whole):
        return whole
    step = math.ulp(guess)
    while guess > 1 and not holds(guess):
        guess, step = guess - step, 2 * step
    return max(guess, 1.0)
