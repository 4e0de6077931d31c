"""How many records of a rejected class can be kept at most, whichever way the class is split.

What a more specific node keeps of a class C is a union of acceptable classes, which is acceptable itself, as
distances are convex.

A distance is the greatest of several linear functions of a class's counts f. The one that is greatest for C
gives a potential to every value and has a cost, both the same for all classes: the sum of f*N*potential over
the values, less size*cost, is the distance of C (times K and its size), and at most that of any other class.
So records of C can be kept together only if their gains, N*potential - cost - t*K each, add up to no more
than 0. The gains of all records of a rejected C add up to its excess, which is more. Records that are worth
it must go, and the fewest go if those with the greatest gain go first.

Among the nodes between some more specific one and this one, records that share a class there (a part of C)
stay together. Then whole parts must go, those with the greatest gain for a record first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.classes.kernels import kernel
from veil.models.closeness_kernels import Indices, Integers

STEPS = 16
"""Gains are not sorted, only put into so many equal ranges."""

PAD = 1e-12
"""What gains are raised by, as a share of the numbers they are made of: far more than doubles are off."""

Numbers = NDArray[np.float64]


@kernel
def keep_parts(
    starts: Integers,
    classes: Indices,
    sizes: Integers,
    slots: Indices,
    state: Integers,
    potentials: Indices,
    part_starts: Integers,
    part_classes: Indices,
    part_counts: Integers,
    part_sizes: Integers,
    owners: Indices,
    records: int,
    allowance: float,
    pad: float,
    smallest: int,
    left: Integers,
) -> None:
    """Lower `left` to what can be kept of each class that has a slot, by whole parts.

    Part j belongs to class `owners[j]`, `allowance` is t*K, and nothing smaller than `smallest` is
    acceptable.
    """
    free = state.shape[0]  # the slot of parts whose class has none
    current = np.zeros(free + 1, np.int64)
    part_slots = np.empty(part_sizes.size, np.int32)
    for part in range(part_sizes.size):
        slot = slots[np.uint32(owners[part])]
        part_slots[part] = slot if slot >= 0 else free
    weighed = np.zeros(part_sizes.size, np.int64)
    for value in range(starts.size - 1):
        for e in range(starts[value], starts[value + 1]):
            slot = slots[np.uint32(classes[e])]
            if slot >= 0:
                current[np.uint32(slot)] = potentials[e]
        for e in range(part_starts[value], part_starts[value + 1]):
            j = np.uint32(part_classes[e])
            weighed[j] += part_counts[e] * current[np.uint32(part_slots[j])]
    gains = np.zeros(part_sizes.size)
    for part in range(part_sizes.size):
        slot = part_slots[part]
        if slot < free and part_sizes[part] > 0:
            gain = float(records) * weighed[part] / part_sizes[part]
            gains[part] = gain - state[slot, 2] - allowance + pad
    _keep(part_slots, part_sizes, gains, sizes, slots, state, allowance + pad, smallest, left)


@kernel
def keep_records(
    classes: Indices,
    counts: Integers,
    sizes: Integers,
    slots: Indices,
    state: Integers,
    potentials: Indices,
    records: int,
    allowance: float,
    pad: float,
    smallest: int,
    left: Integers,
) -> None:
    """Lower `left` to what can be kept of each class that has a slot, if every record can go by itself."""
    entry_slots = np.empty(classes.size, np.int32)
    gains = np.zeros(classes.size)
    for e in range(classes.size):
        slot = slots[np.uint32(classes[e])]
        entry_slots[e] = slot if slot >= 0 else state.shape[0]
        if slot >= 0:
            gains[e] = float(records) * potentials[e] - state[slot, 2] - allowance + pad
    _keep(entry_slots, counts, gains, sizes, slots, state, allowance + pad, smallest, left)


@kernel
def _keep(
    piece_slots: Indices,
    piece_sizes: Integers,
    gains: Numbers,
    sizes: Integers,
    slots: Indices,
    state: Integers,
    allowance: float,
    smallest: int,
    left: Integers,
) -> None:
    """Let the pieces with the greatest gain for a record go, until the excess of their class is gone."""
    free = state.shape[0]
    largest = np.zeros(free + 1)
    for piece in range(gains.size):
        slot = np.uint32(piece_slots[piece])
        largest[slot] = max(largest[slot], gains[piece])
    waiting = np.zeros((free, STEPS), np.int64)
    worth = np.zeros((free, STEPS))
    for piece in range(gains.size):
        slot = np.uint32(piece_slots[piece])
        if slot < free and gains[piece] > 0:
            step = min(int(gains[piece] / largest[slot] * STEPS + 1e-9), STEPS - 1)
            waiting[slot, step] += piece_sizes[piece]
            worth[slot, step] += gains[piece] * piece_sizes[piece]
    for i in range(sizes.size):
        s = slots[i]
        if s < 0:
            continue
        excess = state[s, 1] - allowance * sizes[i]
        gone = 0.0
        for step in range(STEPS - 1, -1, -1):
            if worth[s, step] >= excess:
                gone += max(0.0, excess) / (largest[s] * (step + 1) / STEPS)
                break
            gone += waiting[s, step]
            excess -= worth[s, step]
        most = sizes[i] - max(1, int(np.ceil(gone - 1e-6)))
        left[i] = min(left[i], most if most >= smallest else 0)
