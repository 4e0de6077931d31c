"""Kernels: sets of items as they are published, and combinations in them that too few records hold."""

from __future__ import annotations

import numpy as np

from veil.base.arrays import Codes, Integers, Mask
from veil.base.compiled import kernel


@kernel
def publish(
    starts: Integers, items: Integers, recoding: Integers, order: Integers, nodes: Integers, lengths: Integers
) -> None:
    """Write the recoded nodes of each set, distinct and ordered, to the places of the set in `items`."""
    for r in range(starts.size - 1):
        begin = starts[r]
        number = 0
        for p in range(begin, starts[r + 1]):
            node = recoding[items[p]]
            if node < 0:
                continue
            place = number
            while place > 0 and order[nodes[begin + place - 1]] > order[node]:
                place -= 1
            if place > 0 and nodes[begin + place - 1] == node:
                continue
            for q in range(number, place, -1):
                nodes[begin + q] = nodes[begin + q - 1]
            nodes[begin + place] = node
            number += 1
        lengths[r] = number


@kernel
def count_holders(
    starts: Integers, items: Integers, records: Integers, parent: Integers, holder_counts: Integers
) -> None:
    """Count the records that have an item of each node."""
    newest = np.full(parent.size, -1, np.int64)
    for r in range(records.size):
        for p in range(starts[r], starts[r + 1]):
            node = items[p]
            while node >= 0 and newest[node] != r:
                newest[node] = r
                holder_counts[node] += records[r]
                node = parent[node]


@kernel
def _first(places: Integers, size: int) -> None:
    for i in range(size):
        places[i] = i


@kernel
def _next(places: Integers, size: int, length: int) -> bool:
    """Move on to the next choice of `size` of `length` places; return whether there is one."""
    i = size - 1
    while i >= 0 and places[i] == length - size + i:
        i -= 1
    if i < 0:
        return False
    places[i] += 1
    for j in range(i + 1, size):
        places[j] = places[j - 1] + 1
    return True


@kernel
def _slot(keys: Integers, key: int) -> np.int64:
    """Return the slot of a key in an open hash table, or a free one."""
    mask = keys.size - 1
    place = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    slot = np.int64(place & np.uint64(mask))
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def count_rare(
    starts: Integers,
    nodes: Integers,
    lengths: Integers,
    records: Integers,
    parts: Integers,
    first_rank: Integers,
    firsts: int,
    rank: Integers,
    width: int,
    space: int,
    marked: Mask,
    size: int,
    k: int,
    most: int,
) -> tuple[Integers, Integers, int]:
    """Return combinations of `size` nodes that 1 to k - 1 records of a part hold, and for each a set that
    does.

    Only combinations with a marked node count; marked nodes come first in each set. A combination is numbered
    by its part, the rank of its first node among the `firsts` marked ones, and those of the others among all:
    an index of an array of size `space`, or, if that is 0, a key of a hash table. At most `most` are listed;
    all are counted. All nodes but the last are enumerated, and the last is any after them.
    """
    dense = space > 0
    counts = np.zeros(space if dense else 1 << 12, np.int32)
    keys = np.full(1 if dense else counts.size, -1, np.int64)
    used = 0
    rare = 0
    before = size - 1
    places = np.empty(max(1, before), np.int64)
    rare_nodes = np.empty((0, size), np.int64)
    rare_sets = np.empty(0, np.int64)
    number = 0
    for turn in range(2):  # count, then list the rare ones
        if turn == 1:
            if rare == 0 or most == 0:
                break
            rare_nodes = np.empty((min(rare, most), size), np.int64)
            rare_sets = np.empty(min(rare, most), np.int64)
        for r in range(records.size):
            length = lengths[r]
            if length < size:
                continue
            begin = starts[r]
            _first(places, before)
            while before == 0 or marked[nodes[begin + places[0]]]:
                # The number of the combination without its last node.
                prefix = parts[r] * firsts
                behind = 0
                if before:
                    prefix += first_rank[nodes[begin + places[0]]]
                    for j in range(1, before):
                        prefix = prefix * width + rank[nodes[begin + places[j]]]
                    prefix *= width
                    behind = places[before - 1] + 1
                # Count or list the combination with each last node.
                for last in range(behind, length):
                    node = nodes[begin + last]
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
                            rare_sets[number] = r
                            for j in range(before):
                                rare_nodes[number, j] = nodes[begin + places[j]]
                            rare_nodes[number, before] = node
                            number += 1
                # One place is left for the last.
                if before == 0 or not _next(places, before, length - 1):
                    break
    return rare_nodes, rare_sets, rare


@kernel
def _larger(keys: Integers, counts: Codes) -> tuple[Integers, Codes]:
    """Return a hash table of twice the size."""
    new_keys = np.full(2 * keys.size, -1, np.int64)
    new_counts = np.zeros(new_keys.size, np.int32)
    for s in range(keys.size):
        if keys[s] >= 0:
            slot = _slot(new_keys, keys[s])
            new_keys[slot] = keys[s]
            new_counts[slot] = counts[s]
    return new_keys, new_counts
