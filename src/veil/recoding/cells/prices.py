"""Prices of records: a lower bound of the cost of every recoding.

If for every label the `smallest` highest prices of records under it are at most its cost on average, then every
class pays at least what its records are worth, and all prices together are a lower bound (linear programming
duality). Prices rise together by small steps; after each, a label that they violate lowers those of its dearest
records by equal amounts. Prices only fall while labels are visited, so one round over all labels leaves none
violated. A label with slack is not visited until prices can have risen by so much.
"""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.compiled import kernel
from veil.recoding.cells.labels import CellLabels, DistinctRows, Offsets
from veil.recoding.problem import UNIT


@kernel
def settle(
    prices: Floats,
    starts: Offsets,
    rows: Codes,
    costs: Floats,
    order: Codes,
    records: Integers,
    smallest: int,
    wake: Floats,
    now: float,
    tolerance: float,
) -> int:
    """Lower prices until no label is violated; `wake` receives the height of prices at which one may be. Return visits."""
    top = np.empty(smallest, np.int32)
    worth = np.empty(smallest + 1, np.float64)
    weight = np.empty(smallest, np.int64)
    visits = 0
    for o in range(order.size):
        f = order[o]
        if wake[f] > now:
            continue
        visits += 1
        cost = costs[f]
        begin = starts[f]
        end = starts[f + 1]
        # Quick look: a label dearer than every price under it is not violated.
        highest = 0.0
        for e in range(begin, end):
            price = prices[rows[e]]
            if price > highest:
                highest = price
        if highest <= cost:
            wake[f] = now + (cost - highest)
            continue
        attempt = 0
        while True:
            # The dearest records, `smallest` of them, in falling order of price.
            size = 0
            total = 0
            for e in range(begin, end):
                i = rows[e]
                price = prices[i]
                if total >= smallest and price <= worth[size - 1]:
                    continue
                p = size
                if p == smallest:  # drop the last
                    p -= 1
                    total -= weight[p]
                    size -= 1
                while p > 0 and worth[p - 1] < price:
                    worth[p] = worth[p - 1]
                    top[p] = top[p - 1]
                    weight[p] = weight[p - 1]
                    p -= 1
                worth[p] = price
                top[p] = i
                weight[p] = min(records[i], smallest)
                total += weight[p]
                size += 1
                while total - weight[size - 1] >= smallest:
                    size -= 1
                    total -= weight[size]
            excess = -cost * smallest
            for p in range(size):
                part = weight[p] if p < size - 1 else weight[p] - (total - smallest)
                excess += part * worth[p]
            if excess <= 0.0:
                wake[f] = now - excess / smallest
                break
            if attempt >= 6:
                # Many records are equally dear: cap them all.
                for e in range(begin, end):
                    if prices[rows[e]] > cost:
                        prices[rows[e]] = cost
                wake[f] = now
                break
            # Lower them equally (a record that is only partly among them by less).
            norm = 0.0
            for p in range(size):
                if worth[p] > 0.0:
                    part = weight[p] if p < size - 1 else weight[p] - (total - smallest)
                    norm += part * part / float(records[top[p]])
            step = (excess + tolerance) / norm
            for p in range(size):
                part = weight[p] if p < size - 1 else weight[p] - (total - smallest)
                i = top[p]
                prices[i] = max(0.0, prices[i] - step * part / float(records[i]))
            attempt += 1
    return visits


@kernel
def rise(prices: Floats, caps: Floats, step: float) -> None:
    """Raise all prices by a step, up to their caps."""
    for i in range(prices.size):
        prices[i] = min(prices[i] + step, caps[i])


@kernel
def settle_exactly(
    prices: Integers, starts: Offsets, rows: Codes, costs: Integers, records: Integers, smallest: int
) -> None:
    """Lower whole prices until no label is violated: as `settle`, without rounding."""
    top = np.empty(smallest, np.int32)
    worth = np.empty(smallest + 1, np.int64)
    weight = np.empty(smallest, np.int64)
    for f in range(costs.size):
        while True:
            size = 0
            total = np.int64(0)
            highest = np.int64(0)
            for e in range(starts[f], starts[f + 1]):
                highest = max(highest, prices[rows[e]])
            if highest <= costs[f]:
                break
            for e in range(starts[f], starts[f + 1]):
                i = rows[e]
                price = prices[i]
                if total >= smallest and price <= worth[size - 1]:
                    continue
                p = size
                if p == smallest:
                    p -= 1
                    total -= weight[p]
                    size -= 1
                while p > 0 and worth[p - 1] < price:
                    worth[p] = worth[p - 1]
                    top[p] = top[p - 1]
                    weight[p] = weight[p - 1]
                    p -= 1
                worth[p] = price
                top[p] = i
                weight[p] = min(records[i], smallest)
                total += weight[p]
                size += 1
                while total - weight[size - 1] >= smallest:
                    size -= 1
                    total -= weight[size]
            if total < smallest:
                break
            excess = -costs[f] * smallest
            for p in range(size):
                part = weight[p] if p < size - 1 else weight[p] - (total - smallest)
                excess += part * worth[p]
            if excess <= 0:
                break
            # Each of the dearest falls by its share of the excess, rounded up.
            step = excess // smallest + 1
            for p in range(size):
                prices[top[p]] = max(np.int64(0), prices[top[p]] - step)


def highest_total(values: Integers, counts: Integers, smallest: int) -> int:
    """Return the largest total of values over at least so many records; 0 if it is negative or there are too few.

    >>> highest_total(np.array([5, 1, -2, -9]), np.array([1, 1, 2, 9]), 3)
    4
    >>> highest_total(np.array([5]), np.array([2]), 3)
    0
    """
    result = taken = 0
    for v in np.argsort(-values, kind="stable"):
        part = int(counts[v]) if values[v] > 0 else max(0, min(int(counts[v]), smallest - taken))
        result += part * int(values[v])
        taken += part
    return max(0, result) if taken >= smallest else 0


class Ascent:
    """Prices that rise step by step, and the best bound so far."""

    def __init__(
        self, labels: CellLabels, rows: DistinctRows, prices: Floats, caps: Integers, smallest: int
    ) -> None:
        self.labels, self.rows, self.smallest = labels, rows, smallest
        self.whole_caps, self.caps = caps, caps / UNIT
        self.costs = labels.costs / UNIT
        self.order = np.arange(len(labels.costs), dtype=np.int32)
        self.wake = np.zeros(len(labels.costs))
        self.weights = rows.records.astype(np.float64)
        self.now = 0.0
        self.prices = np.minimum(prices, self.caps)
        self.best, self.total = self.prices.copy(), -1.0
        self.rounds = self.last = 0

    def run(self, step: float, rounds: int) -> float:
        """Make some steps; return the relative gain of the best bound."""
        before = self.total
        for _ in range(rounds):
            rise(self.prices, self.caps, step)
            self.now += step
            settle(
                self.prices, self.labels.starts, self.labels.rows, self.costs, self.order, self.rows.records,
                self.smallest, self.wake, self.now, 1e-13,
            )  # fmt: skip
            total = float(self.prices @ self.weights)
            if total > self.total:
                self.total = total
                self.best[:] = self.prices
        return (self.total - before) / max(self.total, 1e-9)

    def clipped(self) -> Mask:
        """Rows whose price is at its cap, so that more labels might allow more."""
        return (self.best >= self.caps - 1e-9) & (self.caps > 0)

    def whole(self) -> Integers:
        """Return the best prices in whole units; no label is violated."""
        prices: Integers = np.minimum(np.floor(self.best * UNIT).astype(np.int64), self.whole_caps)
        settle_exactly(
            prices, self.labels.starts, self.labels.rows, self.labels.costs, self.rows.records, self.smallest
        )
        return prices


@kernel
def exact_slacks(
    prices: Floats,
    starts: Offsets,
    rows: Codes,
    costs: Floats,
    records: Integers,
    smallest: int,
    slacks: Floats,
) -> None:
    """Compute the cost of `smallest` records of each label less their highest prices."""
    worth = np.empty(smallest + 1, np.float64)
    for f in range(costs.size):
        size = 0
        for e in range(starts[f], starts[f + 1]):
            i = rows[e]
            price = prices[i]
            for _ in range(min(records[i], smallest)):
                if size == smallest and price <= worth[size - 1]:
                    break
                p = size if size < smallest else size - 1
                while p > 0 and worth[p - 1] < price:
                    worth[p] = worth[p - 1]
                    p -= 1
                worth[p] = price
                if size < smallest:
                    size += 1
        slacks[f] = costs[f] * smallest - worth[:size].sum()
