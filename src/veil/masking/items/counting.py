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
    by the ranks of its nodes and its part. Where `space` tells how many numbers there are, the number is a place in a
    table; if that is 0, a hash table finds the place. No more than `most` are listed; the number of all is returned, too.
    """
    dense = space > 0
    counts = np.zeros(space if dense else 1 << 12, np.int32)
    keys = np.full(1 if dense else counts.size, -1, np.int64)
    used = 0
    rare = 0
    chosen = np.empty(size, np.int64)
    found = np.empty((0, size), np.int64)
    held = np.empty(0, np.int64)
    number = 0
    for turn in range(2):  # count, then look which are rare
        if turn == 1:
            if rare == 0:
                break
            found = np.empty((min(rare, most), size), np.int64)
            held = np.empty(min(rare, most), np.int64)
        for r in range(records.size):
            length = lengths[r]
            if length < size:
                continue
            begin = starts[r]
            _first(chosen, size)
            while marked[made[begin + chosen[0]]]:
                key = parts[r]
                for j in range(size):
                    key = key * width + rank[made[begin + chosen[j]]]
                slot = key if dense else _slot(keys, key)
                if turn == 0:
                    if counts[slot] == 0:
                        rare += 1
                        if not dense:
                            keys[slot] = key
                            used += 1
                    if counts[slot] < k:
                        counts[slot] = min(k, counts[slot] + records[r])
                        if counts[slot] == k:
                            rare -= 1
                    if not dense and 2 * used > keys.size:
                        keys, counts = _larger(keys, counts)
                elif counts[slot] < k:
                    counts[slot] = k  # each once
                    if number < most:
                        held[number] = r
                        for j in range(size):
                            found[number, j] = made[begin + chosen[j]]
                        number += 1
                if not _next(chosen, size, length):
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
