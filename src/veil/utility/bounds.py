"""What a release says for certain: bounds of counts and of means, beside estimates.

A record certainly lies in a range of values if its label covers only such values, and possibly if it covers
one of them. So a count of the input lies between the records that certainly match and those that possibly do.
The estimate takes all values below a label as equally likely, independently on each column (LeFevre, DeWitt
and Ramakrishnan 2006), and a suppressed record as likely to match as the released ones, column by column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.errors import InputError, ParameterError
from veil.tables.columns import as_numbers, is_number
from veil.utility.column import as_number, number_keys
from veil.utility.counts import Condition, values_inside
from veil.utility.labelled import LabelledTable
from veil.utility.labels import LabelledColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Bounds:
    """A figure of the input as far as a release shows it: it lies between `lower` and `upper`.

    `estimate` lies between them, too. It is NaN, and so are the bounds, if nothing is left to estimate from.
    """

    lower: float
    estimate: float
    upper: float

    def __str__(self) -> str:
        return f"{self.estimate:,.6g}, between {self.lower:,.6g} and {self.upper:,.6g}"


def count_bounds(
    release: Any,
    conditions: Mapping[str, Condition],
    *,
    hierarchies: Mapping[str, Any] | None = None,
    weights: str | None = None,
    people: bool = False,
    marker: str | None = "*",
) -> Bounds:
    """Count the records of the input that fulfil conditions on some columns, as far as a release shows it.

    Parameters
    ----------
    release
        A release; or a released table, with the `hierarchies` of its columns.
    conditions
        For each column its first and last value, as a tuple, or a list of values.
    hierarchies
        The hierarchies of the generalized columns of a table, as lists of the values of the input. In a table
        of which suppressed rows were dropped, bounds are those of the records that it shows.
    weights
        A column of sampling weights to add up. The upper bound is infinite if records are suppressed whose
        weight is not shown.
    people
        Count the people with a record that fulfils the conditions, if people may have several.
    marker
        Text of suppressed cells of a table.

    >>> import pyarrow as pa
    >>> from veil import hierarchies as h
    >>> after = pa.table({"age": ["20s", "23", "35", "*"], "sex": ["f", "f", "m", "*"]})
    >>> ages = h.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
    >>> sexes = h.table([["f", "*"], ["m", "*"]])
    >>> print(count_bounds(after, {"age": (22, 40), "sex": ["f"]}, hierarchies={"age": ages, "sex": sexes}))
    2.05556, between 1 and 3
    """
    table = LabelledTable.of(release, hierarchies, marker=marker)
    if not conditions:
        raise ParameterError("a count needs a condition: say which values of which column to count")
    table.require_labels(conditions)
    chances, certain, possible = _chances(table, conditions)
    if people:
        if weights is not None:
            raise ParameterError("people have no sampling weights: leave out `weights` or `people`")
        return _count_people(table, chances, certain, possible)
    if weights is None:
        times = table.rows.weights.array.astype(np.float64)
        most_dropped = float(table.dropped)
    else:
        times, most_dropped = _sampling_weights(table, weights)
    unknown = np.isnan(times)
    times = np.where(unknown, 0.0, times)
    lower, estimate, upper = (float(times @ each) for each in (certain, chances, possible))
    if most_dropped:
        visible = ~table.suppressed
        total = float(times[visible].sum())
        share = float((times * chances)[visible].sum()) / total if total else 0.0
        estimate += share * most_dropped if math.isfinite(most_dropped) else 0.0
        upper += most_dropped
    return Bounds(lower, estimate, math.inf if unknown.any() else upper)


def _chances(table: LabelledTable, conditions: Mapping[str, Condition]) -> tuple[Floats, Mask, Mask]:
    """Return for each row how likely it matches, whether it certainly does, and whether it possibly does."""
    columns = [table[name] for name in conditions]
    keys, possible_keys = np.zeros(table.suppressed.size, np.int64), 1
    for column in columns:
        keys = keys * len(column.labels) + column.codes
        possible_keys *= len(column.labels)
        if possible_keys > 2**31:
            _, keys, _ = number_keys(keys, possible_keys)
            possible_keys = int(keys.max(initial=0)) + 1
    _, place, count = number_keys(keys, max(1, possible_keys))
    member = np.empty(count.size, np.int64)
    member[place] = np.arange(place.size)
    chances = np.ones(member.size)
    certain, possible = np.ones((2, member.size), np.bool_)
    for column, condition in zip(columns, conditions.values(), strict=True):
        inside = values_inside(column.values, column.kind, column.name, condition)
        shares = column.shares(inside)
        codes = column.codes[member]
        certain &= (shares == 1.0)[codes]
        possible &= (shares > 0.0)[codes]
        shares[-1] = _marginal(table, column, shares)
        chances *= shares[codes]
    return chances[place], certain[place], possible[place]


def _marginal(table: LabelledTable, column: LabelledColumn, shares: Floats) -> float:
    """Return how likely a record of the release matches on one column; all values alike if there is none."""
    visible = column.codes < len(column.labels) - 1
    counts = table.rows.weights.take(visible).count_by(column.codes[visible], len(column.labels))
    records = int(counts.sum())
    return float(counts @ shares) / records if records else float(shares[-1])


def _count_people(table: LabelledTable, chances: Floats, certain: Mask, possible: Mask) -> Bounds:
    owners = table.rows.owners
    if table.outcome is None or owners.are_records:
        raise ParameterError(
            "every record is a person here, as far as is known: count without `people`; or say who is who by "
            "`person` when the table is anonymized"
        )
    outcome = table.outcome
    people = int(owners.array.max(initial=-1)) + 1
    before = outcome.before.owners.array
    people = max(people, int(before.max(initial=-1)) + 1)
    unmatched = np.ones(people)
    np.multiply.at(unmatched, owners.array, 1.0 - chances)
    sure, maybe = np.zeros((2, people), np.bool_)
    sure[owners.array[certain]] = True
    maybe[owners.array[possible]] = True
    if table.dropped:
        hidden = np.ones(before.size, np.bool_)
        hidden[outcome.origins] = False
        visible = chances[~table.suppressed]
        np.multiply.at(unmatched, before[hidden], 1.0 - (visible.mean() if visible.size else 0.0))
        maybe[before[hidden]] = True
    return Bounds(float(sure.sum()), float((1.0 - unmatched).sum()), float(maybe.sum()))


def _sampling_weights(table: LabelledTable, name: str) -> tuple[Floats, float]:
    """Return the weight of each row, NaN if it is not shown, and the largest weight of dropped records."""
    if name not in table.rows.table.column_names:
        raise ParameterError(f"`weights` names {name!r}, which is not a column of the release")
    column = table.rows.table[name]
    if not is_number(column.type):
        raise InputError(f"column {name!r} has no numbers to use as weights")
    weights = as_numbers(column)
    if (weights < 0).any():
        raise InputError(f"column {name!r} has negative numbers, which are no weights")
    weights = weights * table.rows.weights.array
    return np.where(np.isfinite(weights), weights, np.nan), math.inf if table.dropped else 0.0


def mean_bounds(
    release: Any,
    column: str,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    marker: str | None = "*",
) -> Bounds:
    """Return the mean of a column of numbers in the input, as far as a release shows it.

    A record counts at least the smallest and at most the largest number that its label covers; the estimate takes
    the mean of those numbers, and leaves out labels that cover everything. Records that may have no number
    count where that moves a bound outwards.

    Parameters are those of `count_bounds`.

    >>> import pyarrow as pa
    >>> from veil import hierarchies as h
    >>> after = pa.table({"age": ["20s", "23", "35"]})
    >>> ages = h.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
    >>> print(mean_bounds(after, "age", hierarchies={"age": ages}))
    26.6667, between 26.3333 and 27
    """
    table = LabelledTable.of(release, hierarchies, marker=marker)
    table.require_labels([column])
    labels = table[column]
    low, middle, high, optional = number_ranges(labels)
    counts = table.rows.weights.count_by(labels.codes, len(labels.labels)).astype(np.float64)
    counts[-1] += table.dropped
    there = (counts > 0) & ~np.isnan(low)
    known = there & (labels.sizes < len(labels.values))
    known = known if known.any() else there
    if not there.any():
        return Bounds(math.nan, math.nan, math.nan)
    return Bounds(
        _least_mean(low[there], counts[there], optional[there]),
        float(counts[known] @ middle[known] / counts[known].sum()),
        -_least_mean(-high[there], counts[there], optional[there]),
    )


def number_ranges(column: LabelledColumn) -> tuple[Floats, Floats, Floats, Mask]:
    """Return for each label the least, mean and greatest number that it covers, and if it may be none at all.

    Labels that cover no number have NaN.
    """
    numbers = np.array([as_number(value) for value in column.values])
    if np.isnan(numbers).all() or not _are_numbers(column.values, numbers):
        raise InputError(f"column {column.name!r} has no numbers in the input, of which there is no mean")
    label, value = column.pairs
    width = len(column.labels)
    bare = np.flatnonzero(np.bincount(label, minlength=width) == 0)  # they cover every value
    label = np.concatenate([label, np.repeat(bare, numbers.size)])
    number = numbers[np.concatenate([value, np.tile(np.arange(numbers.size), bare.size)])]
    optional = np.bincount(label[np.isnan(number)], minlength=width) > 0
    label, number = label[~np.isnan(number)], number[~np.isnan(number)]
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(low, label, number)
    np.maximum.at(high, label, number)
    size = np.bincount(label, minlength=width)
    total = np.bincount(label, weights=number, minlength=width)
    low[size == 0] = high[size == 0] = np.nan
    with np.errstate(invalid="ignore"):
        return low, total / size, high, optional


def _are_numbers(values: Sequence[str | None], numbers: Floats) -> bool:
    return all(value is None or not np.isnan(number) for value, number in zip(values, numbers, strict=True))


def _least_mean(least: Floats, counts: Floats, optional: Mask) -> float:
    """Return the least possible mean: optional numbers count as long as they lower it."""
    total, number = float(counts[~optional] @ least[~optional]), float(counts[~optional].sum())
    order = np.flatnonzero(optional)[np.argsort(least[optional], kind="stable")]
    totals = total + np.cumsum(counts[order] * least[order])
    numbers = number + np.cumsum(counts[order])
    means = totals / numbers if order.size else np.empty(0)
    # A single record of the least number may be the only one that has a number.
    first = [float(least[order[0]])] if order.size and number == 0 else []
    candidates: list[float] = [*means.tolist(), *first, *([total / number] if number else [])]
    return min(candidates, default=math.inf)
