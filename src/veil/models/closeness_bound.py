"""How many records of rejected classes are lost for good, whichever way their class is split.

Consider the nodes between a more specific node and this one. The classes of the more specific one are parts of
those of this one, and what a node in between keeps of a class C is (a) a union of acceptable classes, which is
acceptable itself, as distances are convex, and (b) a union of parts.

A distance is the greatest of several linear functions of a class's counts f. The one that is greatest for C
gives a potential to every value and has a cost, both the same for all classes: the sum over the values of
f*N*potential, less size*cost, is the distance of C (times K and its size), and at most the distance of any other
class. So a union of parts is acceptable only if the gains of its parts, f*N*potential - size*(cost + t*K), add
up to no more than 0. The gains of all parts of a rejected C add up to its excess, which is more: parts that
are worth it must go, and the fewest records go if those with the greatest gain for a record go first.

Without parts, with every record by itself, this is the bound excess / (greatest potential - cost - t*K).
"""

from __future__ import annotations

import numpy as np

from veil.classes.kernels import kernel
from veil.models.closeness_kernels import Indices, Integers

STEPS = 16
"""Parts are not sorted by their gain, only into so many equal ranges."""

PAD = 1e-12
"""What gains are raised by, as a share of the largest number they are made of: far more than doubles are off."""


@kernel
def count_lost(
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
    scale: int,
    allowance: float,
    smallest: int,
) -> int:
    """Count the records that no node in between can keep of the classes that have a slot.

    Part j belongs to class `owners[j]`; `allowance` is t*K, and nothing fewer than `smallest` is acceptable.
    """
    none = state.shape[0]  # a slot that collects what belongs to other classes
    current = np.zeros(none + 1, np.int64)
    top = np.full(none, -(2**62), np.int64)
    part_slots = np.empty(part_sizes.size, np.int32)
    for part in range(part_sizes.size):
        slot = slots[np.uint32(owners[part])]
        part_slots[part] = slot if slot >= 0 else none
    weighed = np.zeros(part_sizes.size, np.int64)
    for value in range(starts.size - 1):
        for e in range(starts[value], starts[value + 1]):
            slot = slots[np.uint32(classes[e])]
            if slot >= 0:
                current[np.uint32(slot)] = potentials[e]
                top[np.uint32(slot)] = max(top[np.uint32(slot)], potentials[e])
        for e in range(part_starts[value], part_starts[value + 1]):
            j = np.uint32(part_classes[e])
            weighed[j] += part_counts[e] * current[np.uint32(part_slots[j])]
    pad = PAD * (scale + records)
    largest = np.empty(none)
    for s in range(none):
        largest[s] = float(records) * top[s] - state[s, 2] - allowance + pad
    waiting = np.zeros((none, STEPS), np.int64)
    worth = np.zeros((none, STEPS))
    for part in range(part_sizes.size):
        s = part_slots[part]
        if s < none and part_sizes[part] > 0:
            gain = float(records) * weighed[part] / part_sizes[part] - state[s, 2] - allowance + pad
            if gain > 0:
                step = min(int(gain / largest[s] * STEPS + 1e-9), STEPS - 1)
                waiting[s, step] += part_sizes[part]
                worth[s, step] += gain * part_sizes[part]
    lost = 0
    for i in range(sizes.size):
        s = slots[i]
        if s < 0:
            continue
        left = state[s, 1] - (allowance + pad) * sizes[i]
        gone = 0.0
        for step in range(STEPS - 1, -1, -1):
            if worth[s, step] >= left:
                gone += max(0.0, left) / (largest[s] * (step + 1) / STEPS)
                break
            gone += waiting[s, step]
            left -= worth[s, step]
        must = max(1, int(np.ceil(gone - 1e-6)))
        lost += sizes[i] if sizes[i] - must < smallest else must
    return lost
