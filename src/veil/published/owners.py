"""Owners of published rows, counted by plain group-bys: nothing from the engine.

The owner of a row is not a column of the published table. Only the data holder and the verifier know it.
Where every record is a person, owners are records, which are counted in a faster way.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.views import View
from veil.tables.columns import count_codes, encode_values
from veil.tables.rows import Knows, Owners, Weights
from veil.tables.spelling import Person

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]


def owners_shown(table: pa.Table, column: str | None, treatment: str | None, knows: Knows) -> Owners:
    """Return the owners of rows that show pseudonyms; without pseudonyms, every record counts as a person."""
    if column is None or column not in table.column_names or treatment in (None, "remove", "mask"):
        return Owners(table.num_rows)
    return Owners.of(table, Person(column, "as written"), knows)


def classes_of_owners(classes: Codes, weights: Weights, owners: Owners) -> Codes:
    """Return the class of each row: as given, or by the signature of its owner where attackers know all rows.

    Owners have the same signature if they have rows of the same classes, each equally often.

    >>> owners = Owners.coded(np.array([0, 0, 1, 2, 2]), "all rows")
    >>> classes_of_owners(np.array([4, 4, 4, 4, 4]), Weights(5), owners).tolist()
    [0, 0, 1, 0, 0]
    """
    if owners.codes is None or not owners.know_all_rows:
        return classes
    owner, number, times = _count_pairs(owners.codes, classes, weights)
    there, first = np.unique(owner, return_index=True)
    pairs = np.stack([number, times], axis=1).ravel()
    lists = pa.LargeListArray.from_arrays(2 * np.append(first, owner.size), pa.array(pairs))
    _, signatures = encode_values(pa.chunked_array([lists]))
    return signatures[np.searchsorted(there, owners.codes)]


def count_owners(codes: Codes | Integers, weights: Weights, owners: Owners, size: int = 0) -> Integers:
    """Count the different owners of rows with each code; `size` is the least number of codes.

    >>> count_owners(np.array([0, 0, 1]), Weights(3), Owners.coded(np.array([0, 0, 1]))).tolist()
    [1, 1]
    """
    if owners.codes is None:
        return weights.count_by(codes, size)
    return count_codes(_count_pairs(owners.codes, codes, None)[1], size, None)


def count_values(
    classes: Codes, codes: Codes, weights: Weights, owners: Owners, view: View
) -> tuple[Integers, Integers, Integers]:
    """Count the owners who have each value in each class, taking of several values those of the view.

    Return class, code and count of each value that occurs, by class.
    """
    width = int(codes.max(initial=0)) + 1
    if owners.codes is None:
        pairs, count = weights.count_distinct(classes.astype(np.int64) * width + codes)
        return pairs // width, pairs % width, count
    class_of, owner, code = values_of_owners(classes, codes, owners)
    pairs = class_of * width + code
    present, count = np.unique(pairs, return_counts=True)
    if view in ("sure", "fewest"):
        owner_in_class = owner * (int(classes.max(initial=-1)) + 2) + class_of
        _, first, times = np.unique(owner_in_class, return_index=True, return_counts=True)
        alone, sure = np.unique(pairs[first[times == 1]], return_counts=True)
        count = np.full(present.size, int(view == "fewest"))
        count[np.searchsorted(present, alone)] = sure
        present, count = present[count > 0], count[count > 0]
    number, code = np.divmod(present, width)
    if view == "worst":
        count = worst_counts(number, count, count_owners(classes, weights, owners))
        number, code, count = number[count > 0], code[count > 0], count[count > 0]
    return number, code, count.astype(np.int64)


def values_of_owners(classes: Codes, codes: Codes, owners: Owners) -> tuple[Integers, Integers, Integers]:
    """Return each value of an owner in a class once: class, owner, and code of the value."""
    assert owners.codes is not None
    width = int(codes.max(initial=0)) + 1
    owner, pairs, _ = _count_pairs(owners.codes, classes.astype(np.int64) * width + codes, None)
    return pairs // width, owner, pairs % width


def _count_pairs(
    first: Codes, second: Codes | Integers, weights: Weights | None
) -> tuple[Integers, Integers, Integers]:
    """Return the different pairs of numbers, in order, and the records of each."""
    width = int(second.max(initial=0)) + 1
    mixed = first.astype(np.int64) * width + second
    pairs, places = np.unique(mixed, return_inverse=True)
    times = np.zeros(pairs.size, np.int64)
    np.add.at(times, places, 1 if weights is None else weights.array)
    return pairs // width, pairs % width, times


def worst_counts(classes: Integers, counts: Integers, sizes: Integers) -> Integers:
    """Return the least even counts of any view, given the owners of each value; entries are ordered by class.

    In each class, the value that most owners show gets all of them, the next one as many as are left, etc.

    >>> worst_counts(np.array([0, 0, 0]), np.array([1, 3, 2]), np.array([4])).tolist()
    [0, 3, 1]
    """
    order = np.lexsort((-counts, classes))
    sums = np.cumsum(counts[order])
    first = np.flatnonzero(np.diff(classes[order], prepend=-1))
    before = np.repeat(sums[first] - counts[order][first], np.diff(first, append=order.size))
    room = sizes[classes[order]] - (sums - before - counts[order])
    result = np.empty_like(counts)
    result[order] = np.clip(room, 0, counts[order])
    return result
