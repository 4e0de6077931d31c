"""k-map: k-anonymity in the population that the release was drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

import numpy as np
from pydantic import Field

from veil.base.arrays import Marks
from veil.base.declare import declared
from veil.base.exact import ball, decimal_fraction, is_at_most
from veil.base.wording import Phrase
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import ParameterError
from veil.models.base import Beside, PrivacyModel, PromisedRisk, Strength, by_parameters
from veil.models.k_anonymity import KAnonymity
from veil.models.presence import require_subset, sizes_in_population
from veil.models.subset import SubsetField
from veil.population.size import AnyPopulation, Population
from veil.published.finding import Finding
from veil.published.table import Published

if TYPE_CHECKING:
    from flint import arb

Estimator = Literal["poisson", "zero_truncated_poisson"]

_OFFSETS: dict[Estimator, tuple[int, int]] = {"poisson": (0, 2), "zero_truncated_poisson": (1, 1)}
"""The least number of records in a class, and the difference of k' and the records of a class of k people."""


@declared(kind_of=PrivacyModel)
class KMap(PrivacyModel):
    """Everyone in the release looks like at least k - 1 other people of the population, released or not.

    With a research subset, the whole table is the population. With `population`, only its size is known, and
    classes need k' records, derived from k: a class of k people would show at most k' - 2 records
    (zero-truncated: k' - 1) in a random sample of this size, but for a chance of `significance`. A class with
    k' records is therefore taken to be larger than k in the population. k' is at most k.

    Both kinds of monotone: merging classes only makes them larger, in the population as well, and parts of a
    class that is too small are too small. Sweeney (2001), El Emam and Dankar (2008).

    >>> KMap(10, population=50).derived_class_size(records=10)
    8
    """

    k: Annotated[int, Field(ge=1, description="smallest allowed class of the population; 5 to 20 is usual")]
    subset: Annotated[
        SubsetField, Field(description="the rows to release; not needed if another model of the plan says it")
    ] = None
    population: Annotated[
        AnyPopulation | None,
        Field(description="size or region of the population, if its people are not known"),
    ] = None
    significance: Annotated[
        float,
        Field(
            gt=0, lt=1, description="accepted probability of an error of the estimate; 0.01 to 0.05 is usual"
        ),
    ] = 0.01
    estimator: Annotated[
        Estimator,
        Field(description="how records of a class of k people are spread; truncated: it shows at least one"),
    ] = "poisson"
    kind: Literal["KMap"] = Field(default="KMap", repr=False, kw_only=True)

    monotone_generalization: ClassVar[bool] = True
    monotone_suppression: ClassVar[bool] = True
    attacks: ClassVar[tuple[str, ...]] = ("record linkage",)
    relaxed_by: ClassVar[tuple[str, float] | None] = ("k", 1)
    # People of the population are in no part and cannot be counted by part, unless k' is derived.
    survives_union: ClassVar[bool] = by_parameters(lambda model: model.population is not None)
    compares_with: ClassVar[tuple[Beside, ...]] = by_parameters(
        lambda model: ("population",) if model.population is None else ("records",), safe=()
    )

    def __post_init__(self) -> None:
        if self.subset is not None and self.population is not None:
            raise ValueError(
                "`population` of KMap should be left out if `subset` is given: the whole table is then the "
                "population"
            )

    def derived_class_size(self, records: int) -> int:
        """Return k', for a table of so many records in total.

        The smallest c with a distribution function of at least 1 - significance, plus 2 (truncated: 1); at
        most k. Its mean is k * records / population.
        """
        assert self.population is not None
        rate, goal = Fraction(self.k * records, _people(self.population, records)), self._goal
        least, further = _OFFSETS[self.estimator]
        most = min(self.k, records)
        # The function is monotone in c, so bisect. If no c up to `high` reaches the goal, k' is `most`.
        low, high = least, most - further
        while low <= high:
            c = (low + high) // 2
            if self._reaches(goal, c, rate):
                high = c - 1
            else:
                low = c + 1
        return min(low + further, most)

    @property
    def _goal(self) -> Fraction:
        return 1 - decimal_fraction(self.significance)

    def _reaches(self, goal: Fraction, c: int, rate: Fraction) -> bool:
        """Whether the distribution function at c reaches the goal; never equal: e^rate is transcendental."""

        def distribution(bits: int) -> arb:
            mean = ball(rate)
            below = mean.gamma_upper(ball(c + 1), True)
            if self.estimator == "poisson":
                return below
            none = (-mean).exp()
            return (below - none) / (1 - none)

        return is_at_most(goal, distribution)

    def for_part(self, sample: Sample) -> PrivacyModel:
        """Return k'-anonymity if k' is derived: from the number of all records, not of those in the part."""
        return self if self.population is None else KAnonymity(self.minimal_class_size(sample))

    def minimal_class_size(self, sample: Sample) -> int:
        """Return k' if it is derived: the model is k'-anonymity then. Otherwise `bind` counts people."""
        return 1 if self.population is None else self.derived_class_size(sample.population_size)

    def bind(self, sample: Sample) -> LargeInPopulation | None:
        """Count each class in the population, if available."""
        if self.population is not None:
            return None
        require_subset(self, sample)
        return LargeInPopulation(self.k)

    def promised(self, records: int) -> PromisedRisk:
        """A record is one of k in the population, and one of k' in the table if that is derived."""
        derived = 1 if self.population is None else self.derived_class_size(records)
        return PromisedRisk(1.0 / derived, 1.0 / self.k, 1.0 / self.k)

    def verify(self, published: Published) -> Finding:
        """Count the smallest class, in the population if available. It is never smaller there."""
        needed = self.k
        promise = Phrase("{k}-map", k=self.k)
        sizes = published.sizes
        if self.population is not None:
            whole = (published.baseline if published.population is None else published.population).people
            needed = self.derived_class_size(whole)
            promise = Phrase(
                "{promise}, estimated for {population}: classes of {size}",
                promise=promise,
                population=str(self.population),
                size=needed,
            )
        else:
            sizes = sizes_in_population(published)
        smallest = int(sizes.min(initial=np.iinfo(np.int64).max))
        return Finding(promise, smallest >= needed, f"k = {smallest}" if sizes.size else "no class")

    @classmethod
    def strongest(cls, published: Published, sensitive: Sequence[str]) -> list[Strength]:
        """Return the size of the smallest class in the population, if available or by estimate.

        Estimated with the usual significance, from the records alone: that k' is at most their number does
        not make a table of one class, or of one record, any safer.
        """
        if not published.sizes.size:
            return []
        strengths = []
        if published.population is not None:
            strengths.append(Strength("KMap", "k", int(sizes_in_population(published).min())))
        if isinstance(published.region, Population):
            whole = (published.baseline if published.population is None else published.population).people
            if published.region.size_for(whole) < whole:
                return strengths
            smallest = int(published.sizes.min())
            for estimator in get_args(Estimator):
                model = cls(smallest, population=published.region, estimator=estimator)
                strengths.append(Strength("KMap", f"k ({estimator})", model._largest(smallest, whole)))
        return strengths

    def _largest(self, size: int, records: int) -> int:
        """Return the largest k for which a class of this size is large enough; at least the size itself."""
        assert self.population is not None
        people = _people(self.population, records)
        least, further = _OFFSETS[self.estimator]
        low, high = size, max(size, people)
        while low < high and size - further >= least:  # a larger k only ever asks for more
            k = (low + high + 1) // 2
            if self._reaches(self._goal, size - further, Fraction(k * records, people)):
                low = k
            else:
                high = k - 1
        return low


def _people(population: Population, records: int) -> int:
    people = population.size_for(records)
    if people < records:
        raise ParameterError(
            f"`population` of KMap should be at least {records}, the number of records, not {people}"
        )
    return people


class LargeInPopulation:
    """Rejects classes of fewer than k people of the population."""

    def __init__(self, k: int) -> None:
        self.k = k

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        rejected |= table.population < self.k
