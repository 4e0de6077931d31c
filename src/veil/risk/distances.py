"""Distances between released rows and an attacker's knowledge, as `veil.risk.linkage` defines them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.hierarchies import Hierarchy
from veil.tables.columns import as_numbers, column_of, encode_values, groups, is_measured
from veil.tables.text import canonical_text

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Near = list[dict[str | None, float]]
"""For each value its distance to the labels that are nearer than 1."""

SLACK = 1e-12
"""Relative difference of distances that count as ties, as rounding can explain it."""


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """One of the tables: the group of equal rows of each row, and one row of each group."""

    group: Integers
    rows: pa.Table
    counts: Integers

    @staticmethod
    def of(table: pa.Table, names: tuple[str, ...]) -> DistanceTable:
        group = groups(table, names, "linkage")
        first = np.empty(int(group.max(initial=-1)) + 1, np.int64)
        first[group[::-1]] = np.arange(group.size)[::-1]
        return DistanceTable(group, table.take(pa.array(first)), np.bincount(group).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Distances:
    """Squared distances between different rows of the input and of the output, in one direction."""

    arrays: tuple[Any, ...]
    forward: bool

    def nearest(self, targets: Integers, counts: Integers) -> tuple[Floats, Floats]:
        """Return the least distance of each target to any candidate, and the number of candidates at it."""
        least, ties = _nearest(targets, counts, self.forward, self.arrays)
        return least, ties

    def between(self, targets: Integers, candidates: Integers) -> Floats:
        """Return the distance between targets and candidates, pair by pair."""
        old, new = (targets, candidates) if self.forward else (candidates, targets)
        distances: Floats = _between(old, new, self.arrays)
        return distances


def cells_of(
    old: DistanceTable,
    new: DistanceTable,
    own: tuple[Integers, Integers],
    names: tuple[str, ...],
    hierarchies: Mapping[str, Hierarchy],
    marker: str | None,
) -> tuple[Any, ...]:
    """Return the cells of both tables as numbers and codes, and the near labels of each value code."""
    numbers: list[tuple[Floats, Floats]] = []
    codes: list[tuple[Integers, Integers]] = []
    labels, distances = [np.empty(0, np.int64)], [np.empty(0)]
    places = []
    for name in names:
        value_column, label_column = (column_of(side.rows, name, "linkage") for side in (old, new))
        if is_measured(value_column.type) and is_measured(label_column.type) and name not in hierarchies:
            numbers.append((as_numbers(value_column), as_numbers(label_column)))
            continue
        (value_texts, value_codes), (label_texts, label_codes) = (
            _texts(value_column, name),
            _texts(label_column, name),
        )
        if name in hierarchies:
            near = _near_by_hierarchy(value_texts, label_texts, hierarchies[name], marker)
        else:
            pairs = set(zip(value_codes[own[0]].tolist(), label_codes[own[1]].tolist(), strict=True))
            near = _near_by_use(value_texts, label_texts, pairs, marker)
        codes.append((value_codes, label_codes))
        width = max(map(len, near), default=0)
        places.append((sum(map(len, labels)), width))
        numbered = {text: code for code, text in enumerate(label_texts)}
        table = np.full((len(near), width), -1, np.int64), np.ones((len(near), width))
        for row, each in enumerate(near):
            table[0][row, : len(each)] = [numbered[text] for text in each]
            table[1][row, : len(each)] = list(each.values())
        labels.append(table[0].ravel())
        distances.append(table[1].ravel())
    return (
        _stack_columns([each for each, _ in numbers], old.counts.size),
        _stack_columns([each for _, each in numbers], new.counts.size),
        np.array([inverse_square_range(each) for each, _ in numbers]),
        _stack_columns([each for each, _ in codes], old.counts.size).astype(np.int64),
        _stack_columns([each for _, each in codes], new.counts.size).astype(np.int64),
        np.array(places, np.int64).reshape(-1, 2),
        np.concatenate(labels),
        np.concatenate(distances),
    )


def _texts(column: pa.ChunkedArray, name: str) -> tuple[list[str | None], Integers]:
    values, codes = encode_values(column)
    return canonical_text(values, column=name), codes.astype(np.int64)


def _stack_columns(columns: list[Any], rows: int) -> Floats:
    return np.ascontiguousarray(np.array(columns, np.float64).reshape(len(columns), rows).T)


def inverse_square_range(values: Floats) -> float:
    """Return the weight of squared differences of numbers: 1 / range², or 0 if all are equal."""
    finite = values[np.isfinite(values)]
    width = np.ptp(finite) if finite.size else np.float64(0)
    with np.errstate(over="ignore"):  # whose weight is then 0
        return float(1.0 / width**2) if width > 0 else 0.0


def _near_by_use(
    values: list[str | None], labels: list[str | None], used: set[tuple[int, int]], marker: str | None
) -> Near:
    """Let a label cover the values that were generalized to it; `used` are pairs of value and label codes."""
    domain, code_of = len(values), {text: code for code, text in enumerate(values)}
    covered: defaultdict[int, set[int]] = defaultdict(set)
    for value, label in used:
        covered[label].add(value)
    near: Near = [{} for _ in values]
    for code, text in enumerate(labels):
        if text in code_of:
            near[code_of[text]][text] = 0.0
            continue
        below = range(domain) if text is None or text == marker else covered[code]
        for value in below:
            near[value][text] = (len(below) - 1) / domain
    return near


def _near_by_hierarchy(
    values: list[str | None], labels: list[str | None], hierarchy: Hierarchy, marker: str | None
) -> Near:
    """Let a label cover the values below it in a hierarchy, on the highest of its levels."""
    complete = hierarchy.with_missing() if None in values else hierarchy
    leaves = {text: code for code, text in enumerate(complete.labels[0])}
    label_set = set(labels)
    near: Near = []
    for value in values:
        distances: dict[str | None, float] = {value: 0.0} if value in label_set else {}
        leaf = leaves.get(value)
        for level in range(1, complete.height + 1) if leaf is not None else ():
            code = int(complete.label_map(level)[leaf])
            label = complete.labels[level][code]
            if label in label_set:
                distances[label] = (int(complete.rows[level][code]) - 1) / complete.size
        for label in label_set & {None, marker} - distances.keys():
            distances[label] = (complete.size - 1) / complete.size
        near.append(distances)
    return near


@kernel
def distance_of(i: int, j: int, arrays: Any, limit: float) -> float:
    """Return the distance of row i of the input and row j of the output, or a partial sum above the limit."""
    old_numbers, new_numbers, weights, old_codes, new_codes, places, labels, distances = arrays
    total = 0.0
    for c in range(places.shape[0]):
        start = places[c, 0] + old_codes[i, c] * places[c, 1]
        step = 1.0
        for at in range(start, start + places[c, 1]):
            if labels[at] == new_codes[j, c]:
                step = distances[at]
                break
        total += step
        if total > limit:
            return total
    for c in range(weights.size):
        difference = old_numbers[i, c] - new_numbers[j, c]
        if difference == difference:
            total += difference * difference * weights[c]
        elif old_numbers[i, c] == old_numbers[i, c] or new_numbers[j, c] == new_numbers[j, c]:
            total += 1.0  # one of them is missing
    return total


@kernel
def _nearest(targets: Integers, counts: Integers, forward: bool, arrays: Any) -> tuple[Floats, Floats]:
    least, ties = np.full(targets.size, np.inf), np.zeros(targets.size)
    for a in range(targets.size):
        for b in range(counts.size):
            limit = least[a] * (1 + SLACK)
            if forward:
                distance = distance_of(targets[a], b, arrays, limit)
            else:
                distance = distance_of(b, targets[a], arrays, limit)
            if distance < least[a] * (1 - SLACK):
                least[a], ties[a] = distance, 0.0
            if distance <= least[a] * (1 + SLACK):
                ties[a] += counts[b]
    return least, ties


@kernel
def _between(old: Integers, new: Integers, arrays: Any) -> Floats:
    distances = np.empty(old.size)
    for a in range(old.size):
        distances[a] = distance_of(old[a], new[a], arrays, np.inf)
    return distances
