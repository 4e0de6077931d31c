"""What `veil.utility` must compute, written from the definitions: lists of Python values, cell by cell."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

Value = str | None


class Attribute:
    """One quasi-identifier: a hierarchy table, and for each record its original value and what is shown of it.

    `shown` is None for a missing cell; `gone` tells which records are suppressed. Values are numbers if `numeric`.
    """

    def __init__(
        self, table: list[list[Value]], values: list[Any], shown: list[Value], gone: list[bool], numeric=False
    ):
        rows = [tuple(row) for row in table]
        listed = [row[0] for row in rows]
        height = len(rows[0]) - 1
        if None in values and None not in listed:
            top = {row[-1] for row in rows}
            rows.append((None,) * height + ((top.pop() if len(top) == 1 else None),) if height else (None,))
        if height == 0 or len({row[-1] for row in rows}) > 1:
            rows = [(*row, "*") for row in rows]
        self.rows, self.height, self.size = rows, len(rows[0]) - 1, len(rows)
        self.values, self.shown, self.gone, self.numeric = values, shown, gone, numeric
        self.keys = [None if value is None else str(value) for value in values]
        self.path = {row[0]: row for row in rows}
        self.records = range(len(values))

    @property
    def untouched(self) -> bool:
        return all(self.shown[i] == self.keys[i] and not self.gone[i] for i in self.records)

    def says_nothing(self, i: int) -> bool:
        return self.gone[i] or (
            self.shown[i] in (None, "*", self.rows[0][-1]) and self.shown[i] != self.keys[i]
        )

    def levels(self, i: int) -> list[int]:
        """Levels on which the cell's text is a label: of its own value, or else of any."""
        if self.says_nothing(i):
            return [self.height]
        if self.untouched:
            return [0]
        text, path = self.shown[i], self.path[self.keys[i]]
        if text in path:
            return [level for level, label in enumerate(path) if label == text]
        return [level for level in range(self.height + 1) if text in {row[level] for row in self.rows}]

    def covered(self, i: int) -> list[Value]:
        """Domain values that the cell may stand for; a text that nobody knows stands for one."""
        if self.says_nothing(i):
            return [row[0] for row in self.rows]
        levels = self.levels(i)
        if not levels:
            return [None]
        label = self.keys[i] if self.untouched else self.shown[i]
        return [row[0] for row in self.rows if row[levels[-1]] == label]

    def share(self, i: int) -> Fraction:
        return Fraction(len(self.covered(i)), self.size)

    def granularity(self) -> tuple[float, float, float]:
        mean = sum(self.share(i) for i in self.records) / len(self.records)
        return float(mean), 1 / self.size, 1.0

    def intensity(self) -> tuple[float, float, float]:
        total = sum(self.first_level(i) for i in self.records)
        return total / self.height / len(self.records), 0.0, 1.0

    def first_level(self, i: int) -> int:
        levels = self.levels(i)
        return levels[0] if levels else self.height

    def entropy(self) -> tuple[float, float, float]:
        rho = [self.first_level(i) for i in self.records]
        lost, before = 0.0, 0
        for level in sorted(set(rho)):
            some = [i for i in self.records if rho[i] >= level]
            fine = Counter(self.path[self.keys[i]][before] for i in some)
            coarse = Counter(self.path[self.keys[i]][level] for i in some)
            for i in some:
                path = self.path[self.keys[i]]
                lost -= math.log2(fine[path[before]] / coarse[path[level]])
            before = level
        frequencies = Counter(self.keys)
        return lost, 0.0, -sum(math.log2(frequencies[key] / len(self.keys)) for key in self.keys)

    def number(self, i: int) -> float | None:
        if self.numeric:
            return self.values[i]
        return [row[0] for row in self.rows].index(self.keys[i])

    def extent(self) -> tuple[float, float]:
        if not self.numeric:
            return 0, self.size - 1
        seen = [value for value in self.values if value is not None]
        return (min(seen), max(seen)) if seen else (0, 0)

    def bounds(self, i: int) -> tuple[float, float]:
        text = self.shown[i]
        if not self.gone[i] and text == self.keys[i] and (self.numeric or self.untouched):
            return self.number(i), self.number(i)
        if self.numeric:
            root = text == self.rows[0][-1]
            if self.says_nothing(i) or root:
                return self.extent()
            labels = {label for row in self.rows for label in row[1:]}
            if text not in labels and is_number(text):
                return float(text), float(text)
            sharing = [
                self.values[j]
                for j in self.records
                if self.shown[j] == text and not self.gone[j] and not self.says_nothing(j)
                and self.values[j] is not None
            ]  # fmt: skip
            return (min(sharing), max(sharing)) if sharing else self.extent()
        if not self.levels(i):
            return self.extent()
        places = [place for place, row in enumerate(self.rows) if row[0] in self.covered(i)]
        return min(places), max(places)

    def known(self) -> list[int]:
        return [i for i in self.records if self.number(i) is not None]

    def squared_error(self) -> tuple[float, float, float]:
        error = most = 0.0
        for i in self.known():
            possible = farther(self.number(i), self.extent()) ** 2
            error += min(possible, farther(self.number(i), self.bounds(i)) ** 2)
            most += possible
        return error, 0.0, most

    def missings(self) -> float:
        root = self.rows[0][-1]
        total = 0
        for i in self.records:
            text = self.shown[i]
            unchanged = text == self.keys[i]
            total += self.says_nothing(i) or text in (None, "*") or (text == root and not unchanged)
        return total / len(self.records)


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def farther(value: float, ends: tuple[float, float]) -> float:
    return max(abs(value - ends[0]), abs(value - ends[1]))


def quality(value: float, least: float, most: float) -> float:
    return 1.0 if most <= least else 1 - min(1, max(0, (value - least) / (most - least)))


def gone(attributes: list[tuple[list[Any], list[Value]]]) -> list[bool]:
    """Which records are suppressed, given the original and the shown values of each attribute."""
    found = []
    for i in range(len(attributes[0][0])):
        blank = all(shown[i] in (None, "*") for _, shown in attributes)
        changed = any(
            shown[i] != (None if values[i] is None else str(values[i])) for values, shown in attributes
        )
        found.append(blank and changed)
    return found


def sizes(rows: list[Any]) -> list[int]:
    return list(Counter(rows).values())


def discernibility(attributes: list[Attribute]) -> tuple[float, float, float]:
    n, suppressed = len(attributes[0].values), sum(attributes[0].gone)
    before = sizes([tuple(a.keys[i] for a in attributes) for i in range(n)])
    after = sizes([tuple(a.shown[i] for a in attributes) for i in range(n) if not attributes[0].gone[i]])
    return sum(s * s for s in after) + suppressed * n, sum(s * s for s in before), n * n


def class_size(attributes: list[Attribute]) -> tuple[float, float, float]:
    n = len(attributes[0].values)
    before = sizes([tuple(a.keys[i] for a in attributes) for i in range(n)])
    after = sizes([tuple(a.shown[i] for a in attributes) for i in range(n) if not attributes[0].gone[i]])
    return sum(after) / len(after) if after else n, n / len(before), n


def ambiguity(attributes: list[Attribute]) -> tuple[float, float, float]:
    n = len(attributes[0].values)
    total = sum(math.prod(len(a.covered(i)) for a in attributes) for i in range(n))
    return total, n, n * math.prod(a.size for a in attributes)


def deviation(numbers: list[float]) -> float:
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))


def record_error(attributes: list[Attribute]) -> tuple[float, float, float]:
    n = len(attributes[0].values)
    error, most = [0.0] * n, [0.0] * n
    for a in attributes:
        known = a.known()
        if not known or len({a.number(i) for i in known}) == 1:
            continue
        scale = deviation([a.number(i) for i in known])
        every = [*a.extent(), *(end for i in known for end in a.bounds(i))]
        for i in known:
            error[i] += (farther(a.number(i), a.bounds(i)) / scale) ** 2
            most[i] += (farther(a.number(i), (min(every), max(every))) / scale) ** 2
    return sum(map(math.sqrt, error)) / n, 0.0, sum(map(math.sqrt, most)) / n


def sse_sst(attributes: list[Attribute]) -> float:
    error = spread = 0.0
    for a in attributes:
        known = a.known()
        mean = sum(a.number(i) for i in known) / len(known) if known else 0
        for i in known:
            middle = sum(a.bounds(i)) / 2
            error += (a.number(i) - middle) ** 2
            spread += (middle - mean) ** 2
    if error == 0:
        return 1.0
    return max(0.0, 1 - error / spread) if spread else 0.0
