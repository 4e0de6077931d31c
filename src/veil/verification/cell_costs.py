"""What cells cost by the quality model of a plan, by code of its own for the check of a bound.

Every cost is rounded down to whole `UNIT`s, and what the input itself costs is rounded up, so that a bound on sums of
costs holds for the true ones. Logarithms come from whole numbers that are squared, with more digits than are needed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.hierarchies import Hierarchy
from veil.outcome.lower_bound import UNIT, measure_of
from veil.plan.plan import Plan

_BITS, _GUARD = 128, 20
"""Binary digits of a logarithm, and further ones of the numbers that are squared."""

_ERROR = Fraction(1, 2**80)
"""More than the relative error of a cost that comes from logarithms, for tables of up to a trillion records."""


class LabelCosts(NamedTuple):
    """The cost of each label by column and level, and what the input costs in total."""

    by_label: list[list[Integers]]
    base: int


def cell_costs(
    plan: Plan, hierarchies: Mapping[str, Hierarchy], codes: Sequence[Codes], counts: Integers
) -> LabelCosts:
    """Return the costs of labels by a plan, given the codes of each column and the records of each row."""
    weights = column_weights(plan, list(hierarchies))
    measure = measure_of(plan.quality)
    if measure in ("NonUniformEntropy", "NormalizedNonUniformEntropy"):
        is_normalized = measure == "NormalizedNonUniformEntropy"
        return _entropy(list(hierarchies.values()), list(weights.values()), codes, counts, is_normalized)
    cost = _level if measure == "Precision" else _values
    return LabelCosts(
        [
            [
                np.array([int(share * weights[name] * UNIT) for share in cost(hierarchy, level)], np.int64)
                for level in range(hierarchy.height + 1)
            ]
            for name, hierarchy in hierarchies.items()
        ],
        0,
    )


def column_weights(plan: Plan, names: Sequence[str]) -> dict[str, Fraction]:
    """Return the weights of columns, which add up to 1; equal ones if all are 0."""
    weights = getattr(plan.quality, "weights", {})
    shares = {name: Fraction(weights.get(name, 0.5)) for name in names}
    total = sum(shares.values())
    return {name: share / total if total else Fraction(1, len(names)) for name, share in shares.items()}


def _level(hierarchy: Hierarchy, level: int) -> list[Fraction]:
    """Return the level as a share of all levels above the lowest, for each of its labels."""
    share = Fraction(level, hierarchy.height) if hierarchy.height else Fraction(0)
    return [share] * len(hierarchy.labels[level])


def _values(hierarchy: Hierarchy, level: int) -> list[Fraction]:
    """Return the other values that each label of a level stands for, of all others there are.

    A share is the quotient of a number of values and the size of the domain, if there is such a number.
    """
    size, result = Fraction(hierarchy.domain_size), []
    for share in hierarchy.shares[level].tolist():
        values = Fraction(round(Fraction(share) * size))
        if size and float(values / size) != share:
            values = Fraction(share) * size
        others = min(max(values - 1, Fraction(0)), size - 1)
        result.append(others / (size - 1) if size > 1 else Fraction(0))
    return result


def _entropy(
    hierarchies: Sequence[Hierarchy],
    weights: Sequence[Fraction],
    codes: Sequence[Codes],
    counts: Integers,
    is_normalized: bool,
) -> LabelCosts:
    """Return log(records under a label) / log(all records) by the weight of its column.

    If entropy is normalized, the weight is divided by the entropy of the column, and 0 without any.
    """
    records = int(counts.sum())
    under: list[list[list[int]]] = []
    for hierarchy, column in zip(hierarchies, codes, strict=True):
        by_level, labels = [], column
        for level in range(hierarchy.height + 1):
            labels = hierarchy.maps[level - 1][labels] if level else labels
            numbers = np.zeros(len(hierarchy.labels[level]), np.int64)
            np.add.at(numbers, labels, counts)
            by_level.append(numbers.tolist())
        under.append(by_level)
    if records <= 1:
        return LabelCosts([[np.zeros(len(each), np.int64) for each in by_level] for by_level in under], 0)
    whole, own = log2(records), [sum(count * log2(count) for count in by_level[0]) for by_level in under]
    if is_normalized:
        entropies = [records * whole - each for each in own]
        constant = [records in by_level[0] for by_level in under]
        weights = [
            Fraction(0) if same else weight / entropy
            for weight, entropy, same in zip(weights, entropies, constant, strict=True)
        ]
        total = sum(weights)
        weights = [weight / total if total else Fraction(1, len(weights)) for weight in weights]
    scales = [weight * UNIT / whole for weight in weights]
    by_label = [
        [
            np.array([int(log2(count) * scale * (1 - _ERROR)) for count in numbers], np.int64)
            for numbers in by_level
        ]
        for by_level, scale in zip(under, scales, strict=True)
    ]
    base = sum(each * scale for each, scale in zip(own, scales, strict=True))
    return LabelCosts(by_label, math.ceil(base * (1 + _ERROR)))


@functools.lru_cache(1 << 16)
def log2(count: int) -> Fraction:
    """Return the binary logarithm of a count, less than 2 to the power of -127 below the true one; 0 for none.

    The number is squared again and again; each time that it reaches 2 is a digit.

    >>> log2(8), round(float(log2(10)), 12)
    (Fraction(3, 1), 3.321928094887)
    """
    if count < 2:
        return Fraction(0)
    whole = count.bit_length() - 1
    one = 1 << _BITS + _GUARD
    number, digits = (count * one) >> whole, 0
    for _ in range(_BITS):
        number = (number * number) >> _BITS + _GUARD
        digits *= 2
        if number >= 2 * one:
            number, digits = number >> 1, digits + 1
    return whole + Fraction(digits, 1 << _BITS)
