"""What cells cost by quality models that add up over cells, in whole `UNIT`s of a suppressed record.

Loss and precision charge a cell the share of its hierarchy, by values or by levels, times the weight of its column.
Entropy charges the bits that a label leaves open: those of its records in the input, less those that the value has
by itself. The latter cannot be lost, so that they are a constant of the table, the `base` of all costs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Context
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from veil.base.arrays import Codes, Integers
from veil.hierarchies import Hierarchy
from veil.plan.recoding import with_factor
from veil.quality import NonUniformEntropy, NormalizedNonUniformEntropy, Precision, QualityModel

UNIT = 2**32
"""The cost of a record without any information: of a suppressed one, for example."""

_LOGARITHMS = Context(prec=50)
_MARGIN = Fraction(1, 2**60)
"""More than the error of a cost that comes from logarithms."""


class CellCosts(NamedTuple):
    """The cost of each label by column and level, rounded down, and what the input itself costs, rounded up."""

    costs: tuple[tuple[Integers, ...], ...]
    base: int


def costs_by(
    quality: QualityModel,
    names: Sequence[str],
    hierarchies: Sequence[Hierarchy],
    codes: Sequence[Codes],
    counts: Integers,
) -> CellCosts:
    """Return the costs of cells by a quality model; those of loss if it judges classes."""
    weights = column_weights(quality, names)
    if isinstance(quality, NonUniformEntropy | NormalizedNonUniformEntropy):
        return _entropy_costs(quality, hierarchies, weights, codes, counts)
    costs = precision_costs if isinstance(quality, Precision) else loss_costs
    return CellCosts(tuple(map(costs, hierarchies, weights)), 0)


def of_cells(quality: QualityModel) -> QualityModel:
    """Return the quality model that scores nodes as costs of cells do: a mean, in which suppression has its full weight.

    (By entropy, records that a node suppresses cost a little less: it also says on which level they were.)
    """
    model: Any = with_factor(quality, 0.5)
    mean: QualityModel = replace(model, aggregate="arithmetic_mean")
    return mean


def column_weights(quality: QualityModel, names: Sequence[str]) -> list[Fraction]:
    """Return the weights of columns, which add up to 1; equal ones if all are 0."""
    given = getattr(quality, "weights", {})
    return _shares([Fraction(given.get(name, 0.5)) for name in names])


def _shares(weights: Sequence[Fraction]) -> list[Fraction]:
    total = sum(weights)
    return [weight / total if total else Fraction(1, len(weights)) for weight in weights]


def loss_costs(hierarchy: Hierarchy, weight: Fraction) -> tuple[Integers, ...]:
    """Return the shares of other values of the domain that labels stand for, times the weight of the column.

    >>> from veil.hierarchies import Hierarchy
    >>> [costs.tolist() for costs in loss_costs(Hierarchy.from_rows([["f", "*"], ["m", "*"]]), Fraction(1))]
    [[0, 0], [4294967296]]
    """
    size = Fraction(hierarchy.domain_size)
    if size <= 1:
        return tuple(np.zeros(len(shares), np.int64) for shares in hierarchy.shares)
    lowest = 1 / size
    return tuple(
        np.array(
            [
                int(
                    min(max((_exact(share, size) - lowest) / (1 - lowest), Fraction(0)), Fraction(1))
                    * weight
                    * UNIT
                )
                for share in shares.tolist()
            ],
            np.int64,
        )
        for shares in hierarchy.shares
    )


def _exact(share: float, size: Fraction) -> Fraction:
    """Return a share as the count of values that it stands for, if there is one; shares are quotients in floats."""
    exact = Fraction(round(share * size)) / size
    return exact if float(exact) == share else Fraction(share)


def precision_costs(hierarchy: Hierarchy, weight: Fraction) -> tuple[Integers, ...]:
    """Return the levels of labels as shares of the height, times the weight of the column.

    >>> [costs.tolist() for costs in precision_costs(Hierarchy.from_rows([["1", "1*", "*"]]), Fraction(1, 2))]
    [[0], [1073741824], [2147483648]]
    """
    height = max(1, hierarchy.height)
    return tuple(
        np.full(len(labels), int(Fraction(level, height) * weight * UNIT), np.int64)
        for level, labels in enumerate(hierarchy.labels)
    )


def _entropy_costs(
    quality: QualityModel,
    hierarchies: Sequence[Hierarchy],
    weights: Sequence[Fraction],
    codes: Sequence[Codes],
    counts: Integers,
) -> CellCosts:
    """Return log(records under a label) / log(all records), times the weight of the column.

    By normalized entropy, a column weighs less the more entropy it has.
    """
    occurrences = [
        [_records_of(hierarchy, level, column, counts) for level in range(hierarchy.height + 1)]
        for hierarchy, column in zip(hierarchies, codes, strict=True)
    ]
    records = int(counts.sum())
    whole = records * _log(records)
    values = [sum(count * _log(count) for count in by_level[0].tolist()) for by_level in occurrences]
    if isinstance(quality, NormalizedNonUniformEntropy):
        weights = _shares(
            [
                weight / (whole - own) if own < whole else Fraction(0)
                for weight, own in zip(weights, values, strict=True)
            ]
        )
    scale = UNIT / _log(records) if records > 1 else Fraction(0)
    costs = tuple(
        tuple(_rounded(by_label, weight * scale) for by_label in by_level)
        for by_level, weight in zip(occurrences, weights, strict=True)
    )
    base = sum(own * weight * scale for own, weight in zip(values, weights, strict=True))
    return CellCosts(costs, math.ceil(base + _MARGIN) if base else 0)


def _records_of(hierarchy: Hierarchy, level: int, codes: Codes, counts: Integers) -> Integers:
    """Return the number of records under each label of a level."""
    result = np.zeros(len(hierarchy.labels[level]), np.int64)
    np.add.at(result, hierarchy.label_map(level)[codes], counts)
    return result


def _rounded(records: Integers, scale: Fraction) -> Integers:
    costs = [max(0, math.floor(_log(count) * scale - _MARGIN)) for count in records.tolist()]
    return np.array(costs, np.int64)


@functools.lru_cache(1 << 16)
def _log(count: int) -> Fraction:
    """Return the natural logarithm of a count, correctly rounded to 50 digits; 0 for none."""
    return Fraction(_LOGARITHMS.ln(count)) if count > 1 else Fraction(0)
