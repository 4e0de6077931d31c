"""Rules about class frequencies compared with those of the table: t-closeness, β-likeness, δ-disclosure.

q is the frequency of a value in a class and p in the table; p_1 is the largest, p_min the smallest. If blank
cells are left out, both are those of records with a value; a class without any fulfils all of these models.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from veil.base.exact import ball, decimal_fraction, float_at_least, is_less, sign_of_logs
from veil.models import (
    BetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    PrivacyModel,
    TCloseness,
)
from veil.models.implication.rules import Conclusion, RuleContext, at_most, rule
from veil.models.sensitive import SensitiveModel

Facts = Sequence[PrivacyModel]


def _distinct(premise: SensitiveModel, l: int) -> Conclusion:
    return Conclusion((premise,), DistinctLDiversity(premise.attribute, l, missing=premise.missing))


def _entropy(premise: SensitiveModel, l: Fraction) -> Conclusion:
    return Conclusion((premise,), EntropyLDiversity(premise.attribute, at_most(l), missing=premise.missing))


def _equal(premise: SensitiveModel, t: Fraction) -> TCloseness:
    return TCloseness(premise.attribute, min(1.0, float_at_least(t)), missing=premise.missing)


@rule
def equal_distance_gives_the_others(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """t-closeness with the equal distance ⇒ with the ordered and with the hierarchical distance.

    Moving mass costs at most 1 in either, which is what it costs in the equal distance.
    """
    for each in facts:
        if isinstance(each, TCloseness) and each.distance == "equal":
            for goal in context.goals_of(TCloseness):
                alike = (goal.attribute, goal.missing) == (each.attribute, each.missing)
                if goal.distance != "equal" and alike:
                    yield Conclusion((each,), dataclasses.replace(goal, t=each.t))


@rule
def ordered_distance_gives_the_equal_one(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """t-closeness with the ordered distance ⇒ (m − 1)t with the equal one: no two values are closer than 1/(m − 1).

    Data-dependent: m is the number of values of the input.
    """
    for each in facts:
        if isinstance(each, TCloseness) and each.distance == "ordered":
            distribution = context.distribution_of(each)
            t = decimal_fraction(each.t)
            if distribution is not None and (distribution.m - 1) * t < 1:
                yield Conclusion((each,), _equal(each, (distribution.m - 1) * t))


@rule
def hierarchical_distance_gives_the_equal_one(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """t-closeness with the hierarchical distance ⇒ H·t with the equal one: no two values are closer than 1/H.

    H is the height of the hierarchy, which has a single root.
    """
    for each in facts:
        if isinstance(each, TCloseness) and each.distance == "hierarchical":
            distribution = context.distribution_of(each)
            t = decimal_fraction(each.t)
            if distribution is not None and distribution.height is not None and distribution.height * t < 1:
                yield Conclusion((each,), _equal(each, distribution.height * t))


@rule
def closeness_gives_diversity(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Equal t-closeness ⇒ distinct j-diversity for the least j with p_1 + … + p_j ≥ 1 − t; ⇒ entropy 1/(p_1 + t).

    Values that a class lacks make up at most t of the table, so those it has make up at least 1 − t, which
    takes j. And q ≤ p_1 + t for all values, so that the entropy is at least −ln(p_1 + t). Data-dependent.
    """
    for each in facts:
        if isinstance(each, TCloseness) and each.distance == "equal":
            distribution = context.distribution_of(each)
            if distribution is not None:
                t = decimal_fraction(each.t)
                yield _distinct(each, distribution.values_for(1 - t))
                if distribution.p[0] + t < 1:
                    yield _entropy(each, 1 / (distribution.p[0] + t))


@rule
def closeness_gives_likeness(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Equal t-closeness ⇒ basic β-likeness with β = t/p_min: q − p ≤ t for every value. Data-dependent."""
    for each in facts:
        if isinstance(each, TCloseness) and each.distance == "equal":
            distribution = context.distribution_of(each)
            if distribution is not None:
                beta = float_at_least(decimal_fraction(each.t) / distribution.p[-1])
                yield Conclusion((each,), BetaLikeness(each.attribute, beta, missing=each.missing))


@rule
def closeness_gives_disclosure(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Equal t-closeness with t < p_min ⇒ δ-disclosure privacy for every δ > −log2(1 − t/p_min).

    |q − p| ≤ t, so that q/p ≥ 1 − t/p_min; and q/p ≤ 1 + t/p_min ≤ 1/(1 − t/p_min). Data-dependent.
    """
    for each in facts:
        if isinstance(each, TCloseness) and each.distance == "equal":
            distribution = context.distribution_of(each)
            if distribution is None:
                continue
            # A smaller t gives no less than a larger one; for a tiny t, exact logarithms would take too long.
            left = 1 - max(decimal_fraction(each.t) / distribution.p[-1], _LEAST)
            if left > 0:
                delta = _bits_above(left)
                yield Conclusion((each,), DeltaDisclosure(each.attribute, delta, missing=each.missing))


_LEAST = Fraction(1, 10**9)


def _bits_above(left: Fraction) -> float:
    """Return a double above −log2(left), decided without rounding, and close to it also for `left` near 1."""
    delta, step = -math.log1p(-float(1 - left)) / math.log(2), 2.0**-52
    while sign_of_logs([(-decimal_fraction(delta), 2), (-1, left)]) != -1:
        delta, step = max(delta * (1 + step), math.nextafter(delta, math.inf)), 2 * step
    return delta


@rule
def enhanced_likeness_gives_basic(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Enhanced β-likeness ⇒ basic β-likeness: min(β, −ln p) ≤ β."""
    for each in facts:
        if isinstance(each, BetaLikeness) and each.enhanced:
            yield Conclusion((each,), dataclasses.replace(each, enhanced=False))


@rule
def enhanced_likeness_gives_two_values(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Enhanced β-likeness ⇒ distinct 2-diversity, if the table has at least two values.

    q ≤ p (1 − ln p) < 1 for p < 1, so no value has a class for itself. Data-dependent: there are two values.
    """
    for each in facts:
        if isinstance(each, BetaLikeness) and each.enhanced:
            distribution = context.distribution_of(each)
            if distribution is not None and distribution.m >= 2:
                yield _distinct(each, 2)


@rule
def basic_likeness_gives_enhanced(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Basic β-likeness with β ≤ −ln p_1 ⇒ enhanced β-likeness: −ln p is smallest at p_1. Data-dependent."""
    for each in facts:
        if isinstance(each, BetaLikeness) and not each.enhanced:
            distribution = context.distribution_of(each)
            if distribution is not None and sign_of_logs([(1, distribution.p[0])], each.beta) in (-1, 0):
                yield Conclusion((each,), dataclasses.replace(each, enhanced=True))


@rule
def likeness_gives_closeness(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Basic β-likeness ⇒ equal t-closeness with t = β/(1 + β).

    With A = {q > p} the distance is q(A) − p(A) ≤ min(β p(A), 1 − p(A)), and the smaller of the two is
    largest where they are equal, at p(A) = 1/(1 + β).
    """
    for each in facts:
        if isinstance(each, BetaLikeness) and not each.enhanced:
            beta = decimal_fraction(each.beta)
            yield Conclusion((each,), _equal(each, beta / (1 + beta)))


@rule
def likeness_gives_diversity(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Basic β-likeness ⇒ distinct j for the least j with (1 + β)(p_1 + … + p_j) ≥ 1; ⇒ entropy 1/((1 + β) p_1).

    q ≤ (1 + β) p, and the frequencies of the values that a class has add up to 1. No q is above (1 + β) p_1.
    Data-dependent.
    """
    for each in facts:
        if isinstance(each, BetaLikeness) and not each.enhanced:
            distribution = context.distribution_of(each)
            if distribution is not None:
                more = 1 + decimal_fraction(each.beta)
                yield _distinct(each, distribution.values_for(1 / more))
                if more * distribution.p[0] < 1:
                    yield _entropy(each, 1 / (more * distribution.p[0]))


@rule
def disclosure_gives_likeness(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """δ-disclosure privacy ⇒ basic β-likeness with β = 2^δ − 1: q/p < 2^δ, also of values that a class lacks.

    By the rule for β-likeness, t = 1 − 2^−δ follows.
    """
    for each in facts:
        if isinstance(each, DeltaDisclosure) and decimal_fraction(each.delta) < _LARGE:
            beta = float_at_least(_power(each.delta) - 1)
            yield Conclusion((each,), BetaLikeness(each.attribute, beta, missing=each.missing))


@rule
def disclosure_of_all_values_gives_closeness(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """δ-disclosure privacy of all m values (the textbook form) ⇒ equal t = (2^δ − 1)/(2^δ + 1).

    Veil's δ-disclosure ignores values that a class lacks; with distinct m-diversity no class lacks any. Then
    p/b < q < p b for all values, with b = 2^δ. With A = {q > p}: D = q(A) − p(A) ≤ (b − 1) p(A), and
    D = p(A') − q(A') ≤ (1 − 1/b)(1 − p(A)). The smaller bound is largest if both are equal: p(A) = 1/(b + 1).
    """
    for each, distinct in _textbook(facts, context):
        power = _power(each.delta)
        yield Conclusion((each, distinct), _equal(each, (power - 1) / (power + 1)))


@rule
def disclosure_of_all_values_gives_sizes(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """δ-disclosure privacy of all m values (the textbook form) ⇒ k-anonymity with k = ⌊1/(p_min 2^δ)⌋ + 1.

    The rarest value occurs in every class, and its frequency there, which is at least 1/n, is below p_min
    2^δ. Data-dependent, and only for classes that show a value.
    """
    for each, distinct in _textbook(facts, context):
        distribution = context.distribution_of(each)
        if distribution is None or not context.shows_values(each):
            continue
        k = math.floor(1 / (distribution.p[-1] * _power(each.delta))) + 1
        yield Conclusion((each, distinct), KAnonymity(k))


def _textbook(facts: Facts, context: RuleContext) -> Iterator[tuple[DeltaDisclosure, DistinctLDiversity]]:
    for each in facts:
        if isinstance(each, DeltaDisclosure) and decimal_fraction(each.delta) < _LARGE:
            distribution = context.distribution_of(each)
            for other in facts:
                if (
                    distribution is not None
                    and isinstance(other, DistinctLDiversity)
                    and (other.attribute, other.missing) == (each.attribute, each.missing)
                    and other.l >= distribution.m
                ):
                    yield each, other


_LARGE = 64
"""From so many bits on, δ-disclosure privacy restricts no table."""


def _power(delta: float) -> Fraction:
    """Return a rational number that is not below 2^δ; 2^δ itself where δ is whole."""
    exponent = decimal_fraction(delta)
    if exponent.denominator == 1:
        return Fraction(2 ** int(exponent))
    value = Fraction(2.0 ** float(exponent))
    while not is_less(lambda bits: (ball(exponent) * ball(2).log()).exp(), value):
        value *= Fraction(2**50 + 1, 2**50)
    return value
