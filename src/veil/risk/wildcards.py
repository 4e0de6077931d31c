"""Wildcard matching: a suppressed cell may have any value, so it matches every value.

Two records match if on each quasi-identifier their values are equal or one of them is suppressed. An attacker
cannot rule out any record that matches a person, so the risk of a record is 1 / (records that match it).
Matching is no equivalence, and there are no classes to count; but records with the same visible columns and
values match the same ones. Records of two patterns of visible columns match if they agree in the columns that
both show: a hash table groups them by those, and each gets the sum of the other pattern in its group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.models.average_risk import smallest_safe_size
from veil.plan.plan import ASK
from veil.published.matching import pack_rows, patterns
from veil.risk.attackers import check_threshold
from veil.risk.grouping import Grouped, group_records, published_of

Words = NDArray[np.uint64]

_FEW = 16
"""Number of comparisons of a row that are cheaper than to insert it into a hash table."""


@dataclass(frozen=True)
class WildcardRisk:
    """Risks if suppressed cells match everything; suppressed records do not count.

    `at_risk` is the share of records that match fewer records than the smallest class size the threshold
    allows; as elsewhere, a threshold within one percent below 1/k counts as 1/k.
    """

    highest: float
    lowest: float
    average: float
    at_risk: float
    records: int
    threshold: float


def wildcard_risk(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None = None,
    threshold: float = 0.2,
    *,
    marker: str | None = "*",
    person: str | None = ASK,
) -> WildcardRisk:
    """Compute the risks of a table whose suppressed cells match everything.

    A cell is suppressed if it shows the marker or, in columns that cannot hold the marker, if it is missing.
    `person` is as for `analyze`.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["20", "20", "*", "30"], "sex": ["f", "*", "f", "m"]})
    >>> wildcard_risk(table, ["age", "sex"]).average.__round__(3)  # three that match each other, and one alone
    0.5
    """
    grouped = group_records(published_of(source, quasi_identifiers, marker=marker, person=person))
    return wildcard_risk_of(grouped, matches(grouped), threshold)


def wildcard_risk_of(grouped: Grouped, matched: NDArray[np.int64], threshold: float) -> WildcardRisk:
    """Compute the risks from the number of records that match each class."""
    check_threshold(threshold)
    records = grouped.records
    if records == 0:
        return WildcardRisk(0.0, 0.0, 0.0, 0.0, 0, threshold)
    smallest = smallest_safe_size(threshold)
    exposed = np.ones(matched.size, np.bool_) if smallest is None else matched < smallest
    different, where = np.unique(matched, return_inverse=True)
    together = np.bincount(where, weights=grouped.sizes)
    return WildcardRisk(
        highest=1.0 / int(different[0]),
        lowest=1.0 / int(different[-1]),
        average=float((together / different).sum()) / records,
        at_risk=int(grouped.sizes[exposed].sum()) / records,
        records=records,
        threshold=threshold,
    )


def matches(grouped: Grouped) -> NDArray[np.int64]:
    """Count the records that match each class, its own included.

    >>> import pyarrow as pa
    >>> from veil.published.table import Published
    >>> from veil.tables.rows import Rows
    >>> matches(group_records(Published(Rows.of(pa.table({"a": ["x", "*", "y"], "b": ["1", "1", "2"]})), ["a", "b"]))).tolist()
    [2, 2, 1]
    """
    return sum_matches(grouped)[0]


def sum_matches(
    grouped: Grouped, amounts: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Count the records that match each class, and add up their amounts; by default one for each record."""
    added = grouped.sizes.astype(np.float64) if amounts is None else amounts
    if not grouped.blank.any():
        return grouped.sizes, added
    words, bits, _ = pack_rows(grouped.codes, ~grouped.blank)
    kinds = patterns(np.where(grouped.blank, -1, 0).astype(np.int32))
    order = np.argsort(kinds, kind="stable")
    starts = np.flatnonzero(np.diff(kinds[order], prepend=-1, append=-1))
    columns = [grouped.sizes.astype(np.float64)[order]] + ([] if amounts is None else [added[order]])
    sums = np.empty((order.size, len(columns)))
    sums[order] = _match(words[order], bits[order[starts[:-1]]], starts, np.stack(columns, axis=1))
    return sums[:, 0].astype(np.int64), sums[:, -1]  # counts are exact below 2**53


@kernel
def _match(
    words: Words, visible: Words, starts: NDArray[np.int64], amounts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Add up the amounts of matching rows. Those of pattern p show `visible[p]` and begin at `starts[p]`."""
    sums = amounts.copy()  # rows of one pattern are different, so that each matches itself only
    rows, columns = amounts.shape
    bits = 1
    while (1 << bits) < 2 * rows:
        bits += 1
    slots = np.empty(1 << bits, np.int32)
    first = np.empty(rows, np.int32)
    left, right = np.empty((rows, columns)), np.empty((rows, columns))
    group = np.empty(rows, np.int32)
    mask = np.empty(words.shape[1], np.uint64)
    for p in range(starts.size - 1):
        for q in range(p + 1, starts.size - 1):
            for w in range(mask.size):
                mask[w] = visible[p, w] & visible[q, w]
            a, b, c, d = starts[p], starts[p + 1], starts[q], starts[q + 1]
            size = b - a + d - c
            # Compare few rows directly.
            if (b - a) * (d - c) < _FEW * size:
                for i in range(a, b):
                    for j in range(c, d):
                        same = True
                        for w in range(mask.size):
                            same &= ((words[i, w] ^ words[j, w]) & mask[w]) == 0
                        if same:
                            for m in range(columns):
                                sums[i, m] += amounts[j, m]
                                sums[j, m] += amounts[i, m]
                continue
            # Group the rows of both patterns by the bits that both show, and add up each side of a group.
            bits = 1
            while (1 << bits) < 2 * size:
                bits += 1
            last = np.int64((1 << bits) - 1)
            slots[: last + 1] = -1
            count = 0
            for n in range(size):
                i = a + n if n < b - a else c + n - (b - a)
                mixed = np.uint64(0)
                for w in range(mask.size):
                    mixed = (mixed ^ (words[i, w] & mask[w])) * np.uint64(0x9E3779B97F4A7C15)
                    mixed ^= mixed >> np.uint64(32)
                slot = np.int64((mixed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
                while True:
                    slot_group = np.int64(slots[slot])
                    if slot_group < 0:
                        slot_group = np.int64(count)
                        slots[slot] = count
                        first[count] = i
                        left[count] = 0.0
                        right[count] = 0.0
                        count += 1
                        break
                    same = True
                    for w in range(mask.size):
                        same &= ((words[i, w] ^ words[first[slot_group], w]) & mask[w]) == 0
                    if same:
                        break
                    slot = (slot + 1) & last
                group[n] = slot_group
                for m in range(columns):
                    if n < b - a:
                        left[slot_group, m] += amounts[i, m]
                    else:
                        right[slot_group, m] += amounts[i, m]
            # Add to each row the sum of the other side of its group.
            for n in range(size):
                for m in range(columns):
                    if n < b - a:
                        sums[a + n, m] += right[group[n], m]
                    else:
                        sums[c + n - (b - a), m] += left[group[n], m]
    return sums
