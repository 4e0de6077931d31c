"""Local search for a recoding: open and close labels, and let temperature decide which losses to accept.

Items are records, or rows of several records that move together. Each item is in one label above it; label number
`labels` (one past the last) holds the suppressed ones. A label has no item or at least `smallest` records. Every
move either ends in such a state or is undone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Floats, Integers
from veil.base.compiled import kernel

Offsets = NDArray[np.int64]


class Field(NamedTuple):
    """Labels, the rows under each, the labels above each row from the cheapest on, and the items of each row.

    `costs` has one more entry, for suppression, and costs are shares of that of a suppressed record. `fixed` are the
    records that never leave a label, and `home` is the label of a row where such records are, -1 for the others: its
    items come to other labels only to fill them up, and all that are at home are alike.
    """

    costs: Floats
    starts: Offsets
    rows: Codes
    row_starts: Offsets
    row_labels: Codes
    item_starts: Offsets
    item_row: Codes
    weights: Integers
    fixed: Integers
    home: Codes


class LabelState(NamedTuple):
    """The label of each item, the records of each label, and the items of each label as a linked list."""

    label: Codes
    size: Integers
    head: Codes
    after: Codes
    before: Codes


class MoveScratch(NamedTuple):
    """Room for one move: what it moved from where, and marks of the labels that it touches."""

    items: Codes
    origins: Codes
    wanted: Integers
    touched: Codes
    fill: Codes
    losses: Floats


@kernel
def move(field: Field, state: LabelState, item: int, target: int) -> None:
    """Move an item to another label."""
    source = state.label[item]
    weight = field.weights[item]
    if source >= 0:
        after = state.after[item]
        before = state.before[item]
        if before >= 0:
            state.after[before] = after
        else:
            state.head[source] = after
        if after >= 0:
            state.before[after] = before
        state.size[source] -= weight
    first = state.head[target]
    state.after[item] = first
    state.before[item] = -1
    if first >= 0:
        state.before[first] = item
    state.head[target] = item
    state.label[item] = target
    state.size[target] += weight


@kernel
def cheapest(
    field: Field, state: LabelState, item: int, closing: int, opening: int, smallest: int, allowed: int
) -> int:
    """Return the cheapest open label above an item apart from the one that closes, or -1."""
    row = field.item_row[item]
    last = field.costs.size - 1
    for e in range(field.row_starts[row], field.row_starts[row + 1]):
        label = field.row_labels[e]
        if label != closing and (state.size[label] >= smallest or label == opening):
            if field.costs[label] > field.costs[last] and state.size[last] + field.weights[item] <= allowed:
                return last
            return int(label)
    if closing != last and state.size[last] + field.weights[item] <= allowed:
        return last
    return -1


@kernel
def undo(field: Field, state: LabelState, scratch: MoveScratch, count: int) -> None:
    """Undo the moves of a scratch, the last one first."""
    for m in range(count - 1, -1, -1):
        move(field, state, scratch.items[m], scratch.origins[m])


@kernel
def close_label(
    field: Field,
    state: LabelState,
    scratch: MoveScratch,
    label: int,
    opening: int,
    count: int,
    smallest: int,
    allowed: int,
) -> tuple[int, float]:
    """Move all items of a label to the cheapest other open ones; return the number of moves and the change of cost.

    The number is negative (-1 - moves so far) if an item has no other label.
    """
    delta = 0.0
    item = state.head[label]
    while item >= 0:
        after = state.after[item]
        target = cheapest(field, state, item, label, opening, smallest, allowed)
        if target < 0:
            return -1 - count, delta
        delta += field.weights[item] * (field.costs[target] - field.costs[label])
        scratch.items[count] = item
        scratch.origins[count] = label
        count += 1
        move(field, state, item, target)
        item = after
    return count, delta


@kernel
def open_label(
    field: Field, state: LabelState, scratch: MoveScratch, label: int, smallest: int, allowed: int
) -> tuple[int, float]:
    """Open a label, or pull more items into it; return as `close_label`.

    First every item that gains comes. A class that this leaves with too few records gives only what it can spare,
    or is closed if that is cheaper. Then, if too few came, classes with more records than they need give the items
    that lose least.
    """
    cost = field.costs[label]
    last = field.costs.size - 1
    count = 0
    delta = 0.0
    # How many records each class would give.
    touched = 0
    for e in range(field.starts[label], field.starts[label + 1]):
        row = field.rows[e]
        if field.home[row] >= 0:
            continue
        for item in range(field.item_starts[row], field.item_starts[row + 1]):
            source = state.label[item]
            if field.costs[source] > cost:
                if scratch.wanted[source] == 0:
                    scratch.touched[touched] = source
                    touched += 1
                scratch.wanted[source] += field.weights[item]
    if touched == 0:
        return -1, 0.0
    # How many it may give: all, or what it can spare.
    for t in range(touched):
        source = scratch.touched[t]
        spare = state.size[source] - smallest
        if source != last and scratch.wanted[source] > spare and scratch.wanted[source] < state.size[source]:
            gain = field.costs[source] - cost
            # The price of closing it: what the items that are not under the label would pay elsewhere.
            saved = (scratch.wanted[source] - spare) * gain
            item = state.head[source]
            row_end = False
            while item >= 0 and saved > 0.0:
                row = field.item_row[item]
                under = False
                target = -1
                for e in range(field.row_starts[row], field.row_starts[row + 1]):
                    other = field.row_labels[e]
                    if other == label and field.home[row] < 0:
                        under = True
                        break
                    if target < 0 and other != source and state.size[other] >= smallest:
                        target = other
                    if field.costs[other] > cost and target >= 0:
                        break
                if not under:
                    if target < 0:
                        row_end = True
                        break
                    saved -= field.weights[item] * (field.costs[target] - field.costs[source])
                item = state.after[item]
            if row_end or saved <= 0.0:
                scratch.wanted[source] = spare
    # They come.
    for e in range(field.starts[label], field.starts[label + 1]):
        row = field.rows[e]
        if field.home[row] >= 0:
            continue
        for item in range(field.item_starts[row], field.item_starts[row + 1]):
            source = state.label[item]
            if field.costs[source] > cost and scratch.wanted[source] >= field.weights[item]:
                scratch.wanted[source] -= field.weights[item]
                scratch.items[count] = item
                scratch.origins[count] = source
                count += 1
                delta += field.weights[item] * (cost - field.costs[source])
                move(field, state, item, label)
    for t in range(touched):
        scratch.wanted[scratch.touched[t]] = 0
    # Classes with too few records left are closed.
    for t in range(touched):
        source = scratch.touched[t]
        if source != last and 0 < state.size[source] < smallest:
            count, change = close_label(field, state, scratch, source, label, count, smallest, allowed)
            if count < 0:
                return count, 0.0
            delta += change
    # Fill up with the items that lose least, from classes with records to spare.
    need = smallest - state.size[label]
    if need > 0:
        room = min(2 * need + 8, scratch.fill.size)
        size = 0
        for e in range(field.starts[label], field.starts[label + 1]):
            row = field.rows[e]
            home = field.home[row]
            # The items of a row with a home are alike there: look at no more than are needed.
            item = state.head[home] if home >= 0 else field.item_starts[row]
            looks = need if home >= 0 else field.item_starts[row + 1] - item
            while looks > 0 and item >= 0:
                looks -= 1
                current = item
                item = state.after[item] if home >= 0 else item + 1
                source = state.label[current]
                if source == label or (
                    source != last and state.size[source] - field.weights[current] < smallest
                ):
                    continue
                loss = cost - field.costs[source]
                if size == room and loss >= scratch.losses[size - 1]:
                    if home >= 0:
                        break
                    continue
                p = size if size < room else size - 1
                while p > 0 and scratch.losses[p - 1] > loss:
                    scratch.losses[p] = scratch.losses[p - 1]
                    scratch.fill[p] = scratch.fill[p - 1]
                    p -= 1
                scratch.losses[p] = loss
                scratch.fill[p] = current
                if size < room:
                    size += 1
        for p in range(size):
            item = scratch.fill[p]
            source = state.label[item]
            if source != last and state.size[source] - field.weights[item] < smallest:
                continue
            scratch.items[count] = item
            scratch.origins[count] = source
            count += 1
            delta += field.weights[item] * (cost - field.costs[source])
            move(field, state, item, label)
            need -= field.weights[item]
            if need <= 0:
                break
        if need > 0:
            return -1 - count, 0.0
    return count, delta


@kernel
def anneal(
    field: Field,
    state: LabelState,
    scratch: MoveScratch,
    pool: Codes,
    random: NDArray[np.uint64],
    moves: int,
    temperature: float,
    smallest: int,
    allowed: int,
    tally: Integers,
) -> float:
    """Try moves around random items of a pool; return the change of cost."""
    total = 0.0
    x = random[0]
    last = field.costs.size - 1
    for _ in range(moves):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        item = pool[np.int64((x >> np.uint64(16)) % np.uint64(pool.size))]
        source = state.label[item]
        row = field.item_row[item]
        begin = field.row_starts[row]
        # Labels above the item that cost less than its own.
        low = begin
        high = field.row_starts[row + 1]
        while low < high:
            middle = (low + high) >> 1
            if field.costs[field.row_labels[middle]] < field.costs[source]:
                low = middle + 1
            else:
                high = middle
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        choice = np.int64((x >> np.uint64(16)) % np.uint64(1 << 20))
        threshold = -temperature * np.log((choice + 0.5) / (1 << 20))
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        place = np.int64((x >> np.uint64(16)) % np.uint64(1 << 30))
        if low > begin and (place & 15) != 0:
            label = field.row_labels[begin + (place >> 4) % (low - begin)]
            tally[0] += 1
            count, delta = open_label(field, state, scratch, label, smallest, allowed)
            kind = 0
        elif source != last and field.fixed[source] == 0:
            tally[1] += 1
            count, delta = close_label(field, state, scratch, source, -1, 0, smallest, allowed)
            kind = 1
        else:
            continue
        if count < 0:
            undo(field, state, scratch, -1 - count)
        elif delta > threshold:
            undo(field, state, scratch, count)
        else:
            total += delta
            tally[2 + kind] += 1
    random[0] = x
    return total


@kernel
def start_ascending(field: Field, state: LabelState, order: Codes, smallest: int) -> None:
    """Put items, all without a label, into the cheapest labels that enough of them are left for."""
    for o in range(order.size):
        label = order[o]
        weight = state.size[label]
        for e in range(field.starts[label], field.starts[label + 1]):
            row = field.rows[e]
            for item in range(field.item_starts[row], field.item_starts[row + 1]):
                if state.label[item] < 0:
                    weight += field.weights[item]
        if weight >= smallest:
            for e in range(field.starts[label], field.starts[label + 1]):
                row = field.rows[e]
                for item in range(field.item_starts[row], field.item_starts[row + 1]):
                    if state.label[item] < 0:
                        move(field, state, item, label)


@kernel
def place_rest(
    field: Field, state: LabelState, scratch: MoveScratch, tops: Codes, smallest: int, allowed: int
) -> int:
    """Give every item without a label one: the cheapest open label, suppression, or that of its maximum levels.

    Return the number of records that had to be suppressed beyond `allowed`.
    """
    last = field.costs.size - 1
    for item in range(state.label.size):
        if state.label[item] < 0:
            move(field, state, item, last)
    # Whatever a label costs is better than suppression beyond the limit.
    cost = field.costs[last]
    field.costs[last] = 2.0
    for item in range(state.label.size):
        if state.label[item] == last:
            target = cheapest(field, state, item, last, -1, smallest, allowed)
            if target >= 0:
                move(field, state, item, target)
    for item in range(state.label.size):
        # A record that no label takes stays, and leaves no room to another.
        top = tops[field.item_row[item]]
        if state.size[last] <= allowed or state.label[item] != last or top < 0:
            continue
        row = field.item_row[item]
        for e in range(field.row_starts[row], field.row_starts[row + 1]):
            label = field.row_labels[e]
            count, _ = open_label(field, state, scratch, label, smallest, allowed)
            if count >= 0:
                break
            undo(field, state, scratch, -1 - count)
        if state.label[item] == last:
            weight = np.int64(0)
            for e in range(field.starts[top], field.starts[top + 1]):
                row = field.rows[e]
                for other in range(field.item_starts[row], field.item_starts[row + 1]):
                    weight += field.weights[other]
            for e in range(field.starts[top], field.starts[top + 1] if weight >= smallest else 0):
                row = field.rows[e]
                for other in range(field.item_starts[row], field.item_starts[row + 1]):
                    if state.label[other] != top:
                        move(field, state, other, top)
    field.costs[last] = cost
    return max(0, int(state.size[last]) - allowed)


@kernel
def transpose(starts: Offsets, rows: Codes, row_count: int) -> tuple[Offsets, Codes]:
    """Return the labels above each row, in the order of the labels."""
    row_starts = np.zeros(row_count + 1, np.int64)
    for row in rows:
        row_starts[row + 1] += 1
    for i in range(row_count):
        row_starts[i + 1] += row_starts[i]
    place = row_starts[:-1].copy()
    labels = np.empty(rows.size, np.int32)
    for f in range(starts.size - 1):
        for e in range(starts[f], starts[f + 1]):
            labels[place[rows[e]]] = f
            place[rows[e]] += 1
    return row_starts, labels


@kernel
def place(field: Field, state: LabelState, labels: Codes) -> None:
    """Put each item into a label; -1 leaves it without one."""
    for item in range(labels.size):
        if labels[item] >= 0:
            move(field, state, item, labels[item])
