"""Kernels: sets of items as they are published, and the combinations in them that too few records hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel

Integers = NDArray[np.int64]


@kernel
def publish(
    starts: Integers, items: Integers, recoding: Integers, order: Integers, made: Integers, lengths: Integers
) -> None:
    """Write what each set becomes, without repetition and in an order of the nodes, to where the set stands in `items`."""
    for r in range(starts.size - 1):
        begin = starts[r]
        number = 0
        for p in range(begin, starts[r + 1]):
            node = recoding[items[p]]
            if node < 0:
                continue
            place = number
            while place > 0 and order[made[begin + place - 1]] > order[node]:
                place -= 1
            if place > 0 and made[begin + place - 1] == node:
                continue
            for q in range(number, place, -1):
                made[begin + q] = made[begin + q - 1]
            made[begin + place] = node
            number += 1
        lengths[r] = number


@kernel
def count_holders(
    starts: Integers, items: Integers, records: Integers, parent: Integers, held: Integers
) -> None:
    """Count the records that have an item of each node."""
    seen = np.full(parent.size, -1, np.int64)
    for r in range(records.size):
        for p in range(starts[r], starts[r + 1]):
            node = items[p]
            while node >= 0 and seen[node] != r:
                seen[node] = r
                held[node] += records[r]
                node = parent[node]


@kernel
def _first(chosen: Integers, size: int) -> None:
    for i in range(size):
        chosen[i] = i


@kernel
def _next(chosen: Integers, size: int, length: int) -> bool:
    """Move on to the next choice of `size` of `length` places; tell whether there is one."""
    i = size - 1
    while i >= 0 and chosen[i] == length - size + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, size):
        chosen[j] = chosen[j - 1] + 1
    return True


@kernel
def _slot(keys: Integers, key: int) -> np.int64:
    """Return where a key stands, or would stand, in an open hash table."""
    mask = keys.size - 1
    place = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    slot = np.int64(place & np.uint64(mask))
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def count_rare(
    starts: Integers,
    made: Integers,
    lengths: Integers,
    records: Integers,
    parts: Integers,
    first_rank: Integers,
    firsts: int,
    rank: Integers,
    width: int,
    space: int,
    marked: NDArray[np.bool_],
    size: int,
    k: int,
    most: int,
) -> tuple[Integers, Integers, int]:
    """Return combinations of `size` nodes that some but fewer than k records of a part hold, and for each a set that does.

    Looked at are combinations with a marked node; marked nodes are the first ones of each set. A combination is numbered
    by its part, the rank of its first node among the `firsts` marked ones, and those of the others among all. Where `space` tells how many numbers there are, the number is a place in a
    table; if that is 0, a hash table finds the place. No more than `most` are listed; the number of all is returned, too.

    All nodes but the last are chosen one way after the other, and the last is any that stands behind them.
    """
    dense = space > 0
    counts = np.zeros(space if dense else 1 << 12, np.int32)
    keys = np.full(1 if dense else counts.size, -1, np.int64)
    used = 0
    rare = 0
    before = size - 1
    chosen = np.empty(max(1, before), np.int64)
    found = np.empty((0, size), np.int64)
    held = np.empty(0, np.int64)
    number = 0
    for turn in range(2):  # count, then look which are rare
        if turn == 1:
            if rare == 0 or most == 0:
                break
            found = np.empty((min(rare, most), size), np.int64)
            held = np.empty(min(rare, most), np.int64)
        for r in range(records.size):
            length = lengths[r]
            if length < size:
                continue
            begin = starts[r]
            _first(chosen, before)
            while before == 0 or marked[made[begin + chosen[0]]]:
                prefix = parts[r] * firsts
                behind = 0
                if before:
                    prefix += first_rank[made[begin + chosen[0]]]
                    for j in range(1, before):
                        prefix = prefix * width + rank[made[begin + chosen[j]]]
                    prefix *= width
                    behind = chosen[before - 1] + 1
                for last in range(behind, length):
                    node = made[begin + last]
                    if before:
                        key = prefix + rank[node]
                    elif marked[node]:
                        key = prefix + first_rank[node]
                    else:
                        break
                    slot = key if dense else _slot(keys, key)
                    count = counts[slot]
                    if turn == 0:
                        if count == 0:
                            rare += 1
                            if not dense:
                                keys[slot] = key
                                used += 1
                        if count < k:
                            count = min(k, count + records[r])
                            counts[slot] = count
                            if count == k:
                                rare -= 1
                        if not dense and 2 * used > keys.size:
                            keys, counts = _larger(keys, counts)
                    elif count < k:
                        counts[slot] = k  # each once
                        if number < most:
                            held[number] = r
                            for j in range(before):
                                found[number, j] = made[begin + chosen[j]]
                            found[number, before] = node
                            number += 1
                # One place is left for the last.
                if before == 0 or not _next(chosen, before, length - 1):
                    break
    return found, held, rare


@kernel
def _larger(keys: Integers, counts: NDArray[np.int32]) -> tuple[Integers, NDArray[np.int32]]:
    """Return a hash table of twice the size."""
    new_keys = np.full(2 * keys.size, -1, np.int64)
    new_counts = np.zeros(new_keys.size, np.int32)
    for s in range(keys.size):
        if keys[s] >= 0:
            slot = _slot(new_keys, keys[s])
            new_keys[slot] = keys[s]
            new_counts[slot] = counts[s]
    return new_keys, new_counts
