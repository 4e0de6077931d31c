"""Rules about the number of values in a class, and the share of the largest.

If cells without a value are left out, a class consists of its records with a value, and one without any
fulfils all of these models: premise and conclusion treat such cells alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from veil.base.exact import decimal_fraction, float_at_least, sign_of_logs
from veil.models import (
    AlphaKAnonymity,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    PrivacyModel,
    RecursiveCLDiversity,
)
from veil.models.implication.rules import Conclusion, RuleContext, at_most, rule

Facts = Sequence[PrivacyModel]


@rule
def distinct_gives_k_anonymity(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Distinct l-diversity ⇒ l-anonymity: l values need l records. Not of classes that show no value."""
    for each in facts:
        if isinstance(each, DistinctLDiversity) and context.shows_values(each):
            yield Conclusion((each,), KAnonymity(each.l))


@rule
def entropy_gives_distinct(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Entropy l-diversity ⇒ distinct ⌈l⌉-diversity: d values have at most the entropy ln d, and d is whole."""
    for each in facts:
        if isinstance(each, EntropyLDiversity):
            l = math.ceil(decimal_fraction(each.l))
            yield Conclusion((each,), DistinctLDiversity(each.attribute, l, missing=each.missing))


@rule
def recursive_gives_distinct(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Recursive (c, l)-diversity ⇒ distinct l-diversity.

    0 < r_1 < c (r_l + … + r_m), so that the sum on the right is not empty of records: there is an l-th value.
    """
    for each in facts:
        if isinstance(each, RecursiveCLDiversity):
            yield Conclusion((each,), DistinctLDiversity(each.attribute, each.l, missing=each.missing))


@rule
def recursive_bounds_the_largest_share(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Recursive (c, l)-diversity with l ≥ 2 ⇒ no value has more than c/(1 + c) of a class.

    r_l + … + r_m ≤ n − r_1, so that r_1 < c (n − r_1), which is r_1/n < c/(1 + c).
    """
    for each in facts:
        if isinstance(each, RecursiveCLDiversity) and each.l >= 2:
            c = decimal_fraction(each.c)
            alpha = float_at_least(c / (1 + c))
            if alpha < 1:
                yield Conclusion((each,), AlphaKAnonymity(each.attribute, alpha, 1, missing=each.missing))


@rule
def alpha_gives_k_anonymity(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """(α, k)-anonymity ⇒ k-anonymity, by definition."""
    for each in facts:
        if isinstance(each, AlphaKAnonymity) and each.k > 1:
            yield Conclusion((each,), KAnonymity(each.k))


@rule
def largest_share_gives_entropy(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """(α, k)-anonymity where all values count ⇒ entropy 1/α-diversity.

    With q_max ≤ α: H = Σ q ln(1/q) ≥ Σ q ln(1/q_max) = −ln q_max ≥ ln(1/α).
    """
    for each in facts:
        if isinstance(each, AlphaKAnonymity) and each.values is None:
            l = at_most(1 / decimal_fraction(each.alpha))
            yield Conclusion((each,), EntropyLDiversity(each.attribute, l, missing=each.missing))


@rule
def entropy_gives_recursive(facts: Facts, context: RuleContext) -> Iterator[Conclusion]:
    """Entropy l-diversity with l > 1 ⇒ recursive (c, 2)-diversity for every c > x/(1 − x).

    Here x ≥ 1/m solves h(x) + (1 − x) ln(m − 1) = ln l, with the binary entropy h and m values in the table.
    If the most frequent value has the share q ≥ 1/m, the entropy is at most h(q) + (1 − q) ln(m − 1), as the
    rest is spread over m − 1 values at best; that bound decreases in q from 1/m on. So an entropy of at least
    ln l means q ≤ x, and r_1/(n − r_1) = q/(1 − q) ≤ x/(1 − x) < c. Data-dependent: m is that of the input.
    """
    for each in facts:
        if isinstance(each, EntropyLDiversity) and each.estimator == "shannon" and each.l > 1:
            distribution = context.distribution_of(each)
            if distribution is not None and distribution.m >= decimal_fraction(each.l):
                x = _above_root(distribution.m, decimal_fraction(each.l))
                if x is not None:
                    c = float_at_least(x / (1 - x))
                    yield Conclusion(
                        (each,), RecursiveCLDiversity(each.attribute, c, 2, missing=each.missing)
                    )


def _above_root(m: int, l: Fraction) -> Fraction | None:
    """Return a rational number that is proven to be above x: the bound is below ln l there."""
    low, high = 1 / m, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _bound(middle, m) < math.log(l) else (middle, high)
    for margin in (1e-12, 1e-9, 1e-6):
        x = Fraction(high) + Fraction(margin)
        if x >= 1:
            return None
        rest = 1 - x
        terms = [(-x, x), (-rest, rest), (Fraction(-1), l)]
        if m > 2:
            terms.append((rest, Fraction(m - 1)))
        if sign_of_logs(terms) == -1:
            return x
    return None


def _bound(x: float, m: int) -> float:
    if x >= 1:
        return 0.0
    return -x * math.log(x) - (1 - x) * math.log(1 - x) + (1 - x) * math.log(m - 1)
