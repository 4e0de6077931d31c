"""Rules about the sizes of classes in the release and in the population, and about the profit of attacks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from veil.base.exact import decimal_fraction, float_at_least
from veil.models import (
    AverageReidentificationRisk,
    DeltaPresence,
    KAnonymity,
    KMap,
    PrivacyModel,
    Profitability,
    SampleUniqueness,
    SubsetKAnonymity,
)
from veil.models.implication.rules import Conclusion, RuleContext, rule

Facts = Sequence[PrivacyModel]


def _subsets(facts: Facts, context: RuleContext) -> list[object]:
    """Return the research subsets of facts and goals: each is one population."""
    subsets: list[object] = []
    for each in (*facts, *context.goals):
        if each.subset is not None and each.subset not in subsets:
            subsets.append(each.subset)
    return subsets


def _map(k: int, subset: object) -> KMap:
    return KMap(k, subset=subset)  # type: ignore[arg-type]


@rule
def k_anonymity_gives_k_map(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """k-anonymity ⇒ k-map.

    Released records are part of the population and generalized alike: a class of n records has ≥ n people.
    """
    for each in facts:
        if isinstance(each, KAnonymity):
            for subset in _subsets(facts, context):
                yield Conclusion((each,), _map(each.k, subset))


@rule
def presence_gives_k_map(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """δ-presence ⇒ ⌈1/δmax⌉-map; together with k-anonymity ⌈k/δmax⌉-map.

    If n ≥ 1 of the N people of a class are released, n/N ≤ δmax, so that N ≥ n/δmax, with n ≥ k if known.
    """
    for each in facts:
        if not isinstance(each, DeltaPresence) or each.subset is None:
            continue
        most = decimal_fraction(each.maximum)
        yield Conclusion((each,), _map(math.ceil(1 / most), each.subset))
        for other in facts:
            if isinstance(other, KAnonymity):
                yield Conclusion((each, other), _map(math.ceil(other.k / most), each.subset))


@rule
def k_map_and_presence_give_k_anonymity(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """K-map and δ-presence with δmin > 0 ⇒ k-anonymity with k = ⌈δmin·K⌉.

    A class has N ≥ K people, of which n ≥ δmin·N are released.
    """
    for each in facts:
        if isinstance(each, DeltaPresence) and each.minimum > 0 and each.empty_classes == "forbid":
            for other in facts:
                if isinstance(other, KMap) and other.population is None and other.subset == each.subset:
                    k = math.ceil(decimal_fraction(each.minimum) * other.k)
                    yield Conclusion((other, each), KAnonymity(k))


@rule
def k_anonymity_gives_average_risk(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """k-anonymity ⇒ an average risk of 1/k.

    The average is the number of classes for each record, and N records have at most N/k classes. No record
    has a risk above 1/k, either.
    """
    for each in facts:
        if isinstance(each, KAnonymity):
            risk = float_at_least(Fraction(1, each.k))
            yield Conclusion((each,), AverageReidentificationRisk(risk))
            for goal in context.goals_of(AverageReidentificationRisk):
                if goal.highest is not None and decimal_fraction(goal.highest) >= Fraction(1, each.k):
                    yield Conclusion((each,), dataclasses.replace(goal, average=risk))


@rule
def k_anonymity_gives_sample_uniqueness(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """k-anonymity with k ≥ 2 ⇒ a sample uniqueness of 0: nobody is alone."""
    for each in facts:
        if isinstance(each, KAnonymity) and each.k >= 2:
            yield Conclusion((each,), SampleUniqueness(0.0))


@rule
def k_anonymity_gives_that_of_fewer_columns(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """k-anonymity ⇒ the same k for every subset of the quasi-identifiers.

    Records that agree in all quasi-identifiers agree in some: classes of fewer columns are unions of classes.
    """
    for each in facts:
        if isinstance(each, KAnonymity):
            for goal in context.goals_of(SubsetKAnonymity):
                yield Conclusion((each,), dataclasses.replace(goal, k=each.k))


@rule
def no_profitable_attack_gives_sizes(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Profitability without attacks, gain g and cost c ⇒ k-anonymity (prosecutor) or k-map (journalist), k = ⌊g/c⌋ + 1.

    An attack on a class of n people does not pay iff g/n < c, which is n > g/c, and n is whole.
    """
    for each in facts:
        if isinstance(each, Profitability) and _counts(each):
            k = each.unattacked_class_size()
            if each.attacker == "prosecutor" or each.subset is None:
                yield Conclusion((each,), KAnonymity(k))
            else:
                yield Conclusion((each,), _map(k, each.subset))


@rule
def sizes_give_no_profitable_attack(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """k-anonymity (prosecutor) or k-map (journalist) with k = ⌊g/c⌋ + 1 ⇒ Profitability without attacks.

    The converse: n ≥ k > g/c, so that g/n < c.
    """
    for goal in context.goals_of(Profitability):
        if not _counts(goal):
            continue
        k = goal.unattacked_class_size()
        for each in facts:
            in_release = isinstance(each, KAnonymity) and (
                goal.attacker == "prosecutor" or goal.subset is None
            )
            in_population = (
                isinstance(each, KMap)
                and each.population is None
                and goal.attacker == "journalist"
                and goal.subset is not None
                and each.subset == goal.subset
            )
            if (in_release or in_population) and getattr(each, "k", 0) >= k:
                yield Conclusion((each,), goal)


def _counts(model: Profitability) -> bool:
    return model.no_attack and (model.cost > 0 or model.adversary_gain == 0)
