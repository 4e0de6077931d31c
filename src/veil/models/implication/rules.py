"""Rules by which models follow from others, and their context: distributions of columns, and goals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from veil.base.exact import decimal_fraction
from veil.models import PrivacyModel
from veil.models.sensitive import SensitiveModel


@dataclass(frozen=True)
class ValueFrequencies:
    """How often each value of a sensitive column occurs in the input, before suppression, without blanks.

    It has to be fixed before the release is made: rules that use it hold for that table only.

    >>> ValueFrequencies((2, 1, 1)).p
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """

    counts: tuple[int, ...]
    height: int | None = None
    """The height of the hierarchy of the column, if it has one with a single root."""
    complete: bool = True
    """Whether every record has a value."""

    def __post_init__(self) -> None:
        if not self.counts or min(self.counts) < 1:
            raise ValueError("a distribution has at least one value, and every value occurs")

    @classmethod
    def of(cls, values: Iterable[Any], height: int | None = None) -> ValueFrequencies:
        """Count the values of a column.

        >>> ValueFrequencies.of(["flu", "gout", "flu"]).counts
        (2, 1)
        """
        from collections import Counter

        counts = Counter(values)
        missing = counts.pop(None, 0)
        return cls(tuple(counts.values()), height, not missing)

    @cached_property
    def p(self) -> list[Fraction]:
        """Frequencies, the largest first."""
        total = sum(self.counts)
        return [Fraction(each, total) for each in sorted(self.counts, reverse=True)]

    @property
    def m(self) -> int:
        """The number of values."""
        return len(self.counts)

    def values_for(self, share: Fraction) -> int:
        """Return the least number of values that make up a share of the table."""
        total = Fraction(0)
        for number, each in enumerate(self.p, start=1):
            total += each
            if total >= share:
                return number
        return self.m


@dataclass(frozen=True)
class RuleContext:
    """The context of rules: known distributions, and the models to prove."""

    distributions: Mapping[str, ValueFrequencies] = field(default_factory=dict)
    goals: Sequence[PrivacyModel] = ()

    def distribution_of(self, model: SensitiveModel) -> ValueFrequencies | None:
        """Return the distribution of a model's column as the model sees it, if it is known."""
        distribution = self.distributions.get(model.attribute)
        if distribution is not None and not distribution.complete and model.missing == "a value":
            return None
        return distribution

    def shows_values(self, model: SensitiveModel) -> bool:
        """Return whether every class shows a value, as the model sees it: else nothing follows for sizes."""
        distribution = self.distribution_of(model)
        return model.missing != "left out" or (distribution is not None and distribution.complete)

    def goals_of(self, kind: type[Any]) -> Iterator[Any]:
        """Return the goals of one kind."""
        return (each for each in self.goals if isinstance(each, kind))


class Conclusion(NamedTuple):
    """A model that holds wherever some others do."""

    premises: tuple[PrivacyModel, ...]
    model: PrivacyModel


Rule = Callable[[Sequence[PrivacyModel], RuleContext], Iterable[Conclusion]]
RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Register a rule. Its docstring is its proof."""
    RULES.append(function)
    return function


def at_most(bound: Fraction) -> float:
    """Return a double near a number, with a decimal text not above it: for parameters where more is stricter.

    >>> decimal_fraction(at_most(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    value = float(bound)
    while decimal_fraction(value) > bound:
        value = math.nextafter(value, -math.inf)
    return value
