"""Slow twins of the partitions: plain Python, straight from the definitions, all distances compared.

A record is a pair: a tuple of numbers, and a tuple of codes. `weights` says what each code that differs adds to a
squared distance.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from veil.masking.microaggregation.records import Coordinates

Record = tuple[tuple[float, ...], tuple[int, ...]]


def square(one: Record, other: Record, weights: Sequence[float]) -> float:
    total = 0.0
    for x, y in zip(one[0], other[0], strict=True):
        total += (x - y) * (x - y)
    for a, b, weight in zip(one[1], other[1], weights, strict=True):
        total += weight if a != b else 0.0
    return total


def average(records: Sequence[Record]) -> Record:
    """Means of the numbers, most frequent codes; of equally frequent ones the smallest."""
    means = tuple(math.fsum(column) / len(records) for column in zip(*(r[0] for r in records), strict=True))
    modes = []
    for column in zip(*(r[1] for r in records), strict=True):
        counts = Counter(column)
        modes.append(min(counts, key=lambda code: (-counts[code], code)))
    return means, tuple(modes)


def nearest(
    records: Sequence[Record], left: list[int], to: int, count: int, weights: Sequence[float]
) -> list[int]:
    """The record itself and its nearest, as many as wanted; the lowest rows first among equals."""
    others = sorted(
        (row for row in left if row != to), key=lambda row: (square(records[row], records[to], weights), row)
    )
    return [to, *others[: count - 1]]


def farthest(records: Sequence[Record], left: list[int], point: Record, weights: Sequence[float]) -> int:
    return min(left, key=lambda row: (-square(records[row], point, weights), row))


def mdav(records: Sequence[Record], k: int, weights: Sequence[float]) -> list[int]:
    left, groups, made = list(range(len(records))), [-1] * len(records), 0

    def take(rows: list[int]) -> None:
        nonlocal made
        for row in rows:
            left.remove(row)
            groups[row] = made
        made += 1

    while len(left) >= 3 * k:
        first = farthest(records, left, average([records[row] for row in left]), weights)
        take(nearest(records, left, first, k, weights))
        second = farthest(records, left, records[first], weights)
        take(nearest(records, left, second, k, weights))
    if len(left) >= 2 * k:
        first = farthest(records, left, average([records[row] for row in left]), weights)
        take(nearest(records, left, first, k, weights))
    take(list(left))
    return groups


def v_mdav(records: Sequence[Record], k: int, gamma: float, weights: Sequence[float]) -> list[int]:
    left, groups, made = list(range(len(records))), [-1] * len(records), 0
    center = average(records)
    while len(left) >= k:
        members = nearest(records, left, farthest(records, left, center, weights), k, weights)
        left = [row for row in left if row not in members]
        while left and len(members) < 2 * k - 1:
            inside, joining = min(
                (square(records[row], records[member], weights), row) for row in left for member in members
            )
            others = [square(records[row], records[joining], weights) for row in left if row != joining]
            if gamma == 0 or not math.sqrt(inside) < gamma * math.sqrt(min(others, default=math.inf)):
                break
            members.append(joining)
            left.remove(joining)
        for row in members:
            groups[row] = made
        made += 1
    averages = [
        average([r for r, g in zip(records, groups, strict=True) if g == group]) for group in range(made)
    ]
    for row in left:
        groups[row] = min(
            range(made), key=lambda group: (square(averages[group], records[row], weights), group)
        )
    return groups


def k_ward(points: Sequence[tuple[float, ...]], k: int) -> set[frozenset[int]]:
    return _ward(points, list(range(len(points))), k)


def _ward(points: Sequence[tuple[float, ...]], rows: list[int], k: int) -> set[frozenset[int]]:
    if len(rows) < 2 * k:
        return {frozenset(rows)}

    def gap(a: int, b: int) -> float:
        return sum((x - y) * (x - y) for x, y in zip(points[a], points[b], strict=True))

    first, second = min(itertools.combinations(rows, 2), key=lambda pair: (-gap(*pair), pair))
    groups = []
    left = [row for row in rows if row not in (first, second)]
    for center in (first, second):
        near = sorted(left, key=lambda row: (gap(row, center), row))[: k - 1]
        groups.append([center, *near])
        left = [row for row in left if row not in near]
    groups += [[row] for row in left]
    while any(len(group) < k for group in groups):
        groups.sort(key=min)
        pairs = [
            (ward_cost([points[r] for r in a], [points[r] for r in b]), i, j)
            for (i, a), (j, b) in itertools.combinations(enumerate(groups), 2)
            if len(a) < k or len(b) < k
        ]
        _, i, j = min(pairs)
        groups[i] = groups[i] + groups[j]
        del groups[j]
    return set().union(*(_ward(points, sorted(group), k) for group in groups))


def ward_cost(one: Sequence[tuple[float, ...]], other: Sequence[tuple[float, ...]]) -> float:
    means = [
        [math.fsum(column) / len(group) for column in zip(*group, strict=True)] for group in (one, other)
    ]
    squares = sum((a - b) * (a - b) for a, b in zip(*means, strict=True))
    return len(one) * len(other) / (len(one) + len(other)) * squares


def squares_within(values: Sequence[Fraction], groups: Sequence[Any]) -> Fraction:
    """SSE of one column, exactly."""
    total = Fraction(0)
    for group in set(groups):
        mine = [value for value, g in zip(values, groups, strict=True) if g == group]
        mean = sum(mine, Fraction(0)) / len(mine)
        total += sum(((value - mean) ** 2 for value in mine), Fraction(0))
    return total


def partitions(rows: list[int], k: int) -> Iterator[list[list[int]]]:
    """All partitions of some rows, whichever they are, into groups of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [row for row in rest if row not in others]
            for further in partitions(left, k):
                yield [[first, *others], *further]


# --- random records --------------------------------------------------------------------------------


# Few different numbers, so that there are ties; many, so that there is rounding (but not in sums of twice the
# precision, which are then what `math.fsum` finds).
few = st.integers(-3, 3).map(float)

floats = st.integers(-(10**12), 10**12).map(lambda millionths: millionths / 10**6)


@st.composite
def some_records(draw, most=45):
    """Draw records with numbers and codes, and the same for the twins."""
    rows = draw(st.integers(1, most))
    numbers, codes = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    codes = codes or int(numbers == 0)
    weights = [draw(st.sampled_from([1.0, 0.25, 0.75])) for _ in range(codes)]
    number = draw(st.sampled_from([few, floats]))
    columns = [draw(st.lists(number, min_size=rows, max_size=rows)) for _ in range(numbers)]
    columns += [draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)) for _ in range(codes)]
    twin = [
        (
            tuple(column[row] for column in columns[:numbers]),
            tuple(column[row] for column in columns[numbers:]),
        )
        for row in range(rows)
    ]
    return Coordinates(np.array(columns, float).reshape(-1, rows), numbers, np.array(weights)), twin, weights


def line(*values: float) -> Coordinates:
    return Coordinates(np.array([values], float), 1, np.empty(0))


def as_sets(groups):
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in set(groups.tolist())}
