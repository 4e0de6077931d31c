"""Ruin and recreate: dissolve the classes of a neighbourhood, and make others of their records by the prices of these.

A price says what a record is worth at least (`prices`): labels with little slack at those prices are the ones that a
cheap recoding uses. They are opened in the order of their slack, with some noise, for the records that they cost no
more than these are worth. What comes out is accepted like any move of the search, or undone (Schrimpf et al. 2000).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Floats, Mask
from veil.base.compiled import kernel
from veil.recoding.cells.search import Field, LabelState, Offsets, cheapest, move

SLACK = 0.3
"""Labels with more slack than this, in costs of a suppressed record, are not opened."""

TOLERANCES = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3, 1.0)
"""By how much the records of a label may be worth less than it costs, in the passes over all records."""

COARSE = (0.0, 0.05, 0.2, 1.0)
"""The same in a neighbourhood."""


class Guide(NamedTuple):
    """Prices of rows, the slack of labels at them, and the labels with little slack above each row."""

    prices: Floats
    slack: Floats
    starts: Offsets
    labels: Codes


class Ruin(NamedTuple):
    """Room for dissolved items, their former labels, marks of items, and a number for each label (-1)."""

    items: Codes
    origins: Codes
    inside: Mask
    numbers: Codes


@kernel
def uniform(random: NDArray[np.uint64]) -> float:
    """Return a random number between 0 and 1 (xorshift64)."""
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return (float((x >> np.uint64(16)) % np.uint64(1 << 30)) + 0.5) / (1 << 30)


@kernel
def detach(field: Field, state: LabelState, item: int) -> None:
    """Take an item out of its label."""
    label = state.label[item]
    after = state.after[item]
    before = state.before[item]
    if before >= 0:
        state.after[before] = after
    else:
        state.head[label] = after
    if after >= 0:
        state.before[after] = before
    state.size[label] -= field.weights[item]
    state.label[item] = -1


@kernel
def recreate(
    field: Field,
    state: LabelState,
    guide: Guide,
    items: Codes,
    numbers: Codes,
    random: NDArray[np.uint64],
    noise: float,
    tolerances: Floats,
    smallest: int,
) -> None:
    """Open labels for items without one, in the order of slack and noise; some may be left without a label."""
    # The labels above the items, and the items under each.
    labels = np.empty(64, np.int32)
    found = 0
    pairs = 0
    for item in items:
        row = field.item_row[item]
        for e in range(guide.starts[row], guide.starts[row + 1]):
            label = guide.labels[e]
            if numbers[label] < 0:
                if found == labels.size:
                    larger = np.empty(2 * found, np.int32)
                    larger[:found] = labels
                    labels = larger
                numbers[label] = found
                labels[found] = label
                found += 1
            pairs += 1
    starts = np.zeros(found + 1, np.int64)
    for item in items:
        row = field.item_row[item]
        for e in range(guide.starts[row], guide.starts[row + 1]):
            starts[numbers[guide.labels[e]] + 1] += 1
    for t in range(found):
        starts[t + 1] += starts[t]
    place = starts[:-1].copy()
    under = np.empty(pairs, np.int32)
    for item in items:
        row = field.item_row[item]
        for e in range(guide.starts[row], guide.starts[row + 1]):
            t = numbers[guide.labels[e]]
            under[place[t]] = item
            place[t] += 1
    keys = np.empty(found, np.float64)
    for t in range(found):
        keys[t] = guide.slack[labels[t]] + noise * uniform(random)
        numbers[labels[t]] = -1
    order = np.argsort(keys)
    top = np.empty(smallest, np.int32)
    for tolerance in tolerances:
        for t in order:
            label = labels[t]
            cost = field.costs[label]
            need = smallest - state.size[label]
            # The items that are worth their cost, and the best of the others if too few are.
            taken = np.int64(0)
            worth = 0.0
            filled = 0
            for e in range(starts[t], starts[t + 1]):
                item = under[e]
                if state.label[item] >= 0:
                    continue
                price = guide.prices[field.item_row[item]]
                if price >= cost:
                    taken += field.weights[item]
                    worth += (price - cost) * field.weights[item]
                elif filled < need or (
                    filled > 0 and guide.prices[field.item_row[top[filled - 1]]] < price and need > 0
                ):
                    p = filled if filled < need else filled - 1
                    while p > 0 and guide.prices[field.item_row[top[p - 1]]] < price:
                        top[p] = top[p - 1]
                        p -= 1
                    top[p] = item
                    filled += filled < need
            used = 0
            while taken < need and used < filled:
                item = top[used]
                worth += (guide.prices[field.item_row[item]] - cost) * field.weights[item]
                taken += field.weights[item]
                used += 1
            if taken == 0 or taken < need or worth < -tolerance:
                continue
            for e in range(starts[t], starts[t + 1]):
                item = under[e]
                if state.label[item] < 0 and guide.prices[field.item_row[item]] >= cost:
                    move(field, state, item, label)
            for p in range(used):
                move(field, state, top[p], label)


@kernel
def ruin(
    field: Field, state: LabelState, near: Ruin, label: int, most: int, smallest: int
) -> tuple[int, float]:
    """Dissolve the classes with an item under a label; return the number of items, and what they cost.

    Of large classes, and of those with records that stay, only items under the label that they can spare are taken.
    """
    last = field.costs.size - 1
    count = 0
    for e in range(field.starts[label], field.starts[label + 1]):
        row = field.rows[e]
        if field.home[row] >= 0:
            continue
        for item in range(field.item_starts[row], field.item_starts[row + 1]):
            source = state.label[item]
            if near.inside[item] or count == most:
                continue
            if source == last or field.fixed[source] > 0 or state.size[source] > 8 * smallest:
                if source == last or state.size[source] - field.weights[item] >= smallest:
                    near.items[count] = item
                    near.origins[count] = source
                    near.inside[item] = True
                    count += 1
                    detach(field, state, item)
            elif count + state.size[source] <= most:
                member = state.head[source]
                while member >= 0:
                    after = state.after[member]
                    near.items[count] = member
                    near.origins[count] = source
                    near.inside[member] = True
                    count += 1
                    detach(field, state, member)
                    member = after
    cost = 0.0
    for m in range(count):
        near.inside[near.items[m]] = False
        cost += field.costs[near.origins[m]] * field.weights[near.items[m]]
    return count, cost


@kernel
def settle_items(field: Field, state: LabelState, items: Codes, smallest: int, allowed: int) -> bool:
    """Give items the cheapest open label, those without one first; return whether each has one."""
    for item in items:
        if state.label[item] < 0:
            target = cheapest(field, state, item, -1, -1, smallest, allowed)
            if target < 0:
                return False
            move(field, state, item, target)
    for item in items:
        source = state.label[item]
        if state.size[source] - field.weights[item] >= smallest:
            target = cheapest(field, state, item, source, -1, smallest, allowed)
            if target >= 0 and field.costs[target] < field.costs[source]:
                move(field, state, item, target)
    return True


@kernel
def ruin_and_recreate(
    field: Field,
    state: LabelState,
    guide: Guide,
    near: Ruin,
    pool: Codes,
    random: NDArray[np.uint64],
    tolerances: Floats,
    attempts: int,
    temperature: float,
    smallest: int,
    allowed: int,
) -> int:
    """Ruin and recreate around random items of a pool; return how often what came out was accepted."""
    accepted = 0
    for _ in range(attempts):
        row = field.item_row[pool[int(uniform(random) * pool.size)]]
        begin = field.row_starts[row]
        width = field.row_starts[row + 1] - begin
        if width == 0:
            continue
        label = field.row_labels[begin + int(uniform(random) * width)]
        most = int(near.items.size * (0.2 + 0.8 * uniform(random)))
        count, before = ruin(field, state, near, label, most, smallest)
        if count == 0:
            continue
        items = near.items[:count]
        noise = 0.3 * uniform(random)
        recreate(field, state, guide, items, near.numbers, random, noise, tolerances, smallest)
        better = settle_items(field, state, items, smallest, allowed)
        if better:
            cost = 0.0
            for item in items:
                cost += field.costs[state.label[item]] * field.weights[item]
            better = cost - before <= -temperature * np.log(uniform(random))
        if better:
            accepted += 1
            continue
        for m in range(count):
            move(field, state, items[m], near.origins[m])
    return accepted
