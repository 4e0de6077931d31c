"""Compiled kernels: everything that loops over rows or classes.

They are Python functions compiled by Numba that release the interpreter lock, so that disjoint parts of a
search run on threads. All visit classes in order of first appearance in the table and keep that order, so
that sums of floats never depend on the path by which a class table was derived.

A packed key has one machine word in each entry of the tuple `keys`, and a class one number in each entry of
the tuple `measures`. Numba compiles the source once for each tuple length, so the usual case (one word, one
measure) pays nothing for the general one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers, Marks
from veil.base.compiled import kernel, light_kernel

Words = tuple[NDArray[np.uint64], ...]
Measures = tuple[Integers, ...]
Entries = tuple[Integers, Codes, Integers]


@kernel
def pack(codes: Codes, shift: int, word: NDArray[np.uint64]) -> None:
    """Write one attribute's codes into its bit field of every packed key."""
    for i in range(codes.size):
        word[i] |= np.uint64(codes[i]) << np.uint64(shift)


@kernel
def unpack(word: NDArray[np.uint64], shift: int, mask: int, codes: Codes) -> None:
    """Read one attribute's codes from its bit field of every packed key."""
    for i in range(word.size):
        codes[i] = np.int32((word[i] >> np.uint64(shift)) & np.uint64(mask))


@kernel
def group(
    keys: Words,
    measures: Measures,
    source: Integers,
    target: Integers,
    layout: Integers,
    offsets: Integers,
    changes: NDArray[np.uint64],
    cardinalities: Integers,
    slots: Codes,
    out_keys: Words,
    out_measures: Measures,
    groups: Codes,
) -> int:
    """Generalize packed keys from the levels `source` to `target` and merge those that become equal.

    Return the number of groups. `layout` has a row (word, shift, mask) for each attribute, ordered by word;
    `changes[offsets[j, from, to] + code]` holds the bits that generalizing attribute j flips in its word.
    `slots` is room for an open-addressing table; `groups` receives the group of every key unless it is empty.
    """
    attributes = layout.shape[0]
    words = len(keys)
    tail = words - 1
    # Collect the attributes whose level changes, word by word, and the size of the generalized domain.
    shifts = np.empty(attributes, np.int64)
    masks = np.empty(attributes, np.int64)
    flips = np.empty(attributes, np.int64)
    stops = np.empty(words, np.int64)
    moving = 0
    domain = 1.0
    for j in range(attributes):
        domain *= cardinalities[j, target[j]]
        if source[j] != target[j]:
            shifts[moving] = layout[j, 1]
            masks[moving] = layout[j, 2]
            flips[moving] = offsets[j, source[j], target[j]]
            moving += 1
        for w in range(layout[j, 0], words):
            stops[w] = moving
    # Empty a hash table with at least twice as many slots as there can be groups.
    rows = keys[0].size
    bits = 1
    while (1 << bits) < 2.0 * rows and (1 << bits) < 2.0 * domain:
        bits += 1
    last = np.int64((1 << bits) - 1)
    down = np.uint64(64 - bits)
    slots[: last + 1] = -1
    remember = groups.size > 0
    count = 0
    for i in range(rows):
        # Generalize the key word by word, and hash it.
        mixed = np.uint64(0)
        value = np.uint64(0)
        f = 0
        for w in range(words):
            old = value = keys[w][i]
            while f < stops[w]:
                code = np.int64((old >> np.uint64(shifts[f])) & np.uint64(masks[f]))
                value ^= changes[flips[f] + code]
                f += 1
            if w < tail:  # The candidate's leading words are stored one past the last group.
                out_keys[w][count] = value
                mixed = (mixed ^ value) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(32)
        slot = np.int64(((mixed ^ value) * np.uint64(0x9E3779B97F4A7C15)) >> down)
        # Find the group of the key, or open one, and add the measures.
        while True:
            slot_group = np.int64(slots[slot])
            if slot_group < 0:
                slot_group = np.int64(count)
                slots[slot] = slot_group
                out_keys[tail][slot_group] = value
                for q in range(len(measures)):
                    out_measures[q][slot_group] = measures[q][i]
                count += 1
                break
            same = out_keys[tail][slot_group] == value
            for w in range(tail):
                same &= out_keys[w][slot_group] == out_keys[w][count]
            if same:
                for q in range(len(measures)):
                    out_measures[q][slot_group] += measures[q][i]
                break
            slot = (slot + 1) & last
        if remember:
            groups[i] = slot_group
    return count


FEW = 8
"""Mean number of entries of a value below which a loop over entries is faster than one over values."""


@kernel
def merge_histogram(groups: Codes, sizes: Integers, smallest: int, histogram: Entries, out: Entries) -> None:
    """Add up the histograms of classes that became one group, for groups of at least `smallest` records.

    Histograms are stored value by value: value v occurs `counts[e]` times in class `classes[e]` for the
    entries e from `starts[v]` to `starts[v + 1]`. Groups therefore see their values in ascending order, and
    nothing needs sorting. `out` has room for one entry more, which takes the counts of smaller groups.
    """
    starts, classes, counts = histogram
    newest = np.empty(sizes.size, np.int32)  # entry of each group
    for g in range(sizes.size):
        newest[g] = -1 if sizes[g] >= smallest else out[1].size - 1
    if classes.size < FEW * starts.size:
        _merge_entries(groups, starts, classes, counts, newest, out)
        return
    filled = 0
    out[0][0] = 0
    for value in range(starts.size - 1):
        first = filled
        for e in range(starts[value], starts[value + 1]):
            if counts[e]:
                filled = _add_entry(groups[np.uint32(classes[e])], counts[e], first, filled, newest, out)
        out[0][value + 1] = filled


@kernel
def _merge_entries(
    groups: Codes, starts: Integers, classes: Codes, counts: Integers, newest: Codes, out: Entries
) -> None:
    """Add up a histogram without branching on the value of an entry, which no processor could predict."""
    # Mark the first entry of each value.
    begins = np.zeros(classes.size + 1, np.uint8)
    for value in range(starts.size - 1):
        begins[starts[value]] = 1
    # Add up entry by entry; a value begins where the entries so far end.
    out_starts = out[0]
    filled = first = 0
    place = -1
    for e in range(classes.size):
        first = filled if begins[e] else first
        place += begins[e]
        out_starts[place] = first
        if counts[e]:
            filled = _add_entry(groups[np.uint32(classes[e])], counts[e], first, filled, newest, out)
    place += 1
    out_starts[place] = filled
    # Values without entries, which the loop skipped, begin where the next value does.
    for value in range(starts.size - 1, -1, -1):
        if value < starts.size - 1 and starts[value] < starts[value + 1]:
            place -= 1
        if place == value:
            return
        out_starts[value] = out_starts[place]


@kernel
def _add_entry(group: int, count: int, first: int, filled: int, newest: Codes, out: Entries) -> int:
    """Count records of a group with the value whose entries begin at `first`. Return the number of entries.

    There is no branch on whether the group already has an entry, for the same reason.
    """
    _, out_classes, out_counts = out
    g = np.uint32(group)
    before = newest[g]
    is_new = before < first
    at = np.uint32(filled if is_new else before)
    counted = out_counts[at]
    out_counts[at] = count + (0 if is_new else counted)
    out_classes[at] = group
    newest[g] = at
    return filled + int(is_new)


@light_kernel
def tally(counts: Integers, rejected: Marks, out: Integers) -> None:
    """Compute the sums that quality models and bounds read from the classes of one node.

    `out` receives: classes, kept classes, suppressed records, the sum of squared sizes, and the same over
    kept classes. Classes without relevant records are ignored.
    """
    classes = kept_classes = suppressed = squares = kept_squares = 0
    for i in range(counts.size):
        size = counts[i]
        if size == 0:
            continue
        classes += 1
        squares += size * size
        if rejected[i]:
            suppressed += size
        else:
            kept_classes += 1
            kept_squares += size * size
    out[0] = classes
    out[1] = kept_classes
    out[2] = suppressed
    out[3] = squares
    out[4] = kept_squares


@light_kernel
def below(counts: Integers, smallest: int, rejected: Marks, out: Integers) -> None:
    """Reject the classes with fewer records than `smallest`, accept all others, and `tally` them."""
    for i in range(counts.size):
        rejected[i] = counts[i] < smallest
    tally(counts, rejected, out)


@light_kernel
def kept_records(counts: Integers, rejected: Marks, out: Integers) -> None:
    """Count the records of each class that are kept, if classes are rejected whole."""
    for i in range(counts.size):
        out[i] = 0 if rejected[i] else counts[i]


@light_kernel
def total(numbers: Integers) -> int:
    """Return the sum."""
    return int(numbers.sum())


@kernel
def value_counts(
    keys: Words,
    counts: Integers,
    marks: Marks,
    mark: int,
    layout: Integers,
    levels: Integers,
    starts: Integers,
    out: Integers,
) -> None:
    """Count the records of the classes with a mark by generalized value of each attribute.

    The counts of attribute j begin at `starts[j, levels[j]]`; the rest of `out` is not touched.
    """
    attributes = layout.shape[0]
    for j in range(attributes):
        out[starts[j, levels[j]] : starts[j, levels[j] + 1]] = 0
    for i in range(counts.size):
        if marks[i] == mark:
            for j in range(attributes):
                word = keys[layout[j, 0]][i]
                code = np.int64((word >> np.uint64(layout[j, 1])) & np.uint64(layout[j, 2]))
                out[starts[j, levels[j]] + code] += counts[i]


@light_kernel
def subtract_from(totals: Integers, levels: Integers, starts: Integers, out: Integers) -> None:
    """Turn the counts of `value_counts` into those of all other records."""
    for j in range(levels.size):
        for u in range(starts[j, levels[j]], starts[j, levels[j] + 1]):
            out[u] = totals[u] - out[u]


@kernel
def room(
    counts: Integers, groups: Codes, group_count: int, smallest: int, sums: Integers, parts: Integers
) -> int:
    """Bound the number of classes of at least `smallest` records at any node between two others.

    `counts` are the class sizes of the lower node, `groups` the class of the upper node that each is part of.
    A large enough class in between either contains one of the lower node that already is, or consists of two
    or more smaller ones in the same class of the upper node.
    """
    # Count the large classes, and add up the small ones by the group that they are part of.
    sums[:group_count] = 0
    parts[:group_count] = 0
    total = 0
    for i in range(counts.size):
        if counts[i] >= smallest:
            total += 1
        elif counts[i] > 0:
            sums[groups[i]] += counts[i]
            parts[groups[i]] += 1
    # Small ones make a large class in pairs at least, and with enough records.
    for g in range(group_count):
        total += min(sums[g] // smallest, parts[g] // 2)
    return total
