"""Groups for m-invariance: a person keeps the set of values of their group, release after release.

Divide, balance, assign and split, as in Xiao and Tao (2007). Records are given in an order in which
neighbours are alike.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from veil.errors import NoSolutionError

Signature = frozenset[str]


class SignatureGroup(NamedTuple):
    """Records that are published together, and counterfeit values that complete their signature."""

    members: tuple[int, ...]
    counterfeits: tuple[str, ...]
    signature: Signature


def invariant_groups(
    values: Sequence[str], signatures: Mapping[int, Signature], m: int
) -> list[SignatureGroup]:
    """Group records with at least m values, all different, so that people keep their signatures.

    Parameters
    ----------
    values
        The sensitive value of each record, in an order in which neighbours are alike.
    signatures
        The signature of each record that has one from an earlier release.

    >>> [group.members for group in invariant_groups(["flu", "gout", "flu", "cold"], {}, 2)]
    [(0, 1), (2, 3)]
    >>> invariant_groups(["flu"], {0: frozenset({"flu", "gout"})}, 2)
    [SignatureGroup(members=(0,), counterfeits=('gout',), signature=frozenset({...}))]
    """
    new: dict[str, deque[int]] = {}
    buckets: dict[Signature, dict[str, list[int]]] = {}
    for record, value in enumerate(values):
        signature = signatures.get(record)
        if signature is None:
            new.setdefault(value, deque()).append(record)
        else:
            buckets.setdefault(signature, {}).setdefault(value, []).append(record)
    _check_new(new, m)
    groups: list[SignatureGroup] = []
    for signature, bucket in buckets.items():
        groups += _balanced(signature, bucket, new, m)
    return groups + _fresh(new, m)


def _check_new(new: Mapping[str, deque[int]], m: int) -> None:
    total = sum(map(len, new.values()))
    for value, records in new.items():
        if len(records) * m > total:
            raise NoSolutionError(
                f"{len(records)} of {total} new records have the value {value!r}, more than 1/{m}: their groups could not "
                f"have {m} different values each. Leave some for a later release, or choose a smaller m"
            )


def _balanced(
    signature: Signature, bucket: dict[str, list[int]], new: dict[str, deque[int]], m: int
) -> list[SignatureGroup]:
    """Complete a signature so that each of its values occurs as often as the most frequent one."""
    size = max(map(len, bucket.values()))
    ordered = sorted(signature, key=lambda value: (-len(new.get(value, ())), value))
    for value in ordered:
        members = bucket.setdefault(value, [])
        while len(members) < size and _can_spare(value, new, m):
            members.append(new[value].popleft())
    groups = []
    columns = {value: sorted(bucket[value]) for value in signature}
    for at in range(size):
        together = tuple(sorted(column[at] for column in columns.values() if at < len(column)))
        missing = tuple(sorted(value for value, column in columns.items() if at >= len(column)))
        groups.append(SignatureGroup(together, missing, signature))
    return groups


def _can_spare(value: str, new: Mapping[str, deque[int]], m: int) -> bool:
    """Whether the remaining new records can still be grouped without one that has this value."""
    if not new.get(value):
        return False
    left = sum(map(len, new.values())) - 1
    return all(m * (len(records) - (other == value)) <= left for other, records in new.items())


def _fresh(new: dict[str, deque[int]], m: int) -> list[SignatureGroup]:
    """Group new records, m different values at a time, the first remaining record with those next to it.

    No value has more than n/m of the n remaining records; this stays so. Values with more than n/m − 1 have
    to go into the next group. With n = qm + s, s < m, these are the values with q records, as no other
    integer is above n/m − 1 and not above n/m. There are at most m + s/q of them, so a group of g ≤ m + s
    values leaves n − g ≥ m (q − 1) records, and no value more than q − 1 times.
    """
    groups = []
    while left := sum(map(len, new.values())):
        values = [value for value, records in new.items() if m * len(records) > left - m]
        # Fill up with the values whose next record comes first.
        rest = sorted(
            (records[0], value) for value, records in new.items() if records and value not in values
        )
        values += [value for _, value in rest[: max(0, m - len(values))]]
        groups.append(
            SignatureGroup(tuple(sorted(new[value].popleft() for value in values)), (), frozenset(values))
        )
    return groups


def count_values(group: SignatureGroup, values: Sequence[str]) -> Counter[str]:
    """Count the values of a group, with its counterfeits."""
    return Counter([*(values[each] for each in group.members), *group.counterfeits])
