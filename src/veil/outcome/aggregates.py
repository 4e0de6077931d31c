"""Aggregates: one value in place of all values of a group.

Missing values are ignored; a group without other values has a missing aggregate. An aggregate is computed
once per group and never lies outside the range of the group's values, despite rounding.
"""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError
from veil.published.owners import count_owners
from veil.tables.arrow import has_ordered_categories
from veil.tables.canonical import widened
from veil.tables.columns import Floats, Groups, encode_values, is_quantity, whole_numbers
from veil.tables.rows import Owners, Weights
from veil.tables.text import canonical_text, sorted_places

Integers = NDArray[np.int64]
_LARGEST = float(np.finfo(np.float64).max)
Aggregate = Literal["centroid", "mean", "geometric mean", "median", "mode", "interval", "set"]


def aggregate_groups(
    column: pa.ChunkedArray,
    groups: Groups,
    how: Aggregate,
    name: str,
    *,
    keep_type: bool = False,
) -> pa.Array:
    """Return the aggregate of each group.

    "centroid" is the mean of numbers, dates and times, and the mode of everything else. A geometric mean is
    exp(mean(ln(v + 1))) - 1, so that 0 has one. The median of an even number of values lies halfway between
    both in the middle; categories with an order have one only if both agree, else the aggregate is missing.
    Of equally frequent values, the mode is the least. An interval is the text "[least, most]" and a set the
    text "{a, b}", in the order of the values: nothing follows from the order of rows.

    Means and medians of numbers are floats, unless `keep_type` asks to round them, a half up, to what the
    column holds: whole numbers, or decimals of as many places. Those of dates and times are always rounded.

    >>> ages = pa.chunked_array([[20, 23, 40, 41]])
    >>> aggregate_groups(ages, np.array([0, 0, 1, 1]), "mean", "age").to_pylist()
    [21.5, 40.5]
    >>> aggregate_groups(ages, np.array([0, 0, 1, 1]), "interval", "age").to_pylist()
    ['[20, 23]', '[40, 41]']
    """
    if pa.types.is_dictionary(column.type):
        return _categorical(column, groups, how, name, keep_type)
    quantity = is_quantity(column.type)
    if how == "centroid":
        how = "mean" if quantity else "mode"
    if how in ("mode", "set"):
        return _most_frequent(column, groups, name) if how == "mode" else _sets(column, groups, name)
    if how == "interval":
        return _intervals(column, groups, name)
    if quantity and not (how == "geometric mean" and pa.types.is_temporal(column.type)):
        return _compute_aggregate(column, groups, how, name, keep_type)
    if how == "median":
        return _middle_category(column, groups, name)
    raise InputError(
        f"column {name!r} holds values of type {column.type}, which have no {how}. Choose "
        + ("the mean or the median" if quantity else "the mode or the set")
    )


def aggregate_people(
    column: pa.ChunkedArray,
    groups: Groups,
    owners: Owners,
    how: Aggregate,
    name: str,
    *,
    keep_type: bool = False,
    least: int = 2,
) -> pa.Array:
    """Return the aggregate of each group with values of at least `least` people; missing in all others.

    The mean of one person's values would publish a value of that person, however many rows they are in.

    >>> ages = pa.chunked_array([[20, 22, 40, 42]])
    >>> owners = Owners.coded(np.array([0, 1, 2, 2], np.int32))
    >>> aggregate_people(ages, np.array([0, 0, 1, 1]), owners, "mean", "age").to_pylist()
    [21.0, None]
    """
    valid_mask = np.array(pc.is_valid(column), dtype=np.bool_)
    aggregates = aggregate_groups(column, groups, how, name, keep_type=keep_type)
    holders = groups[valid_mask]
    people = count_owners(holders, Weights(holders.size), owners.take(valid_mask), len(aggregates))
    return aggregates.take(pa.array(np.arange(len(aggregates)), mask=people < least))


# --- numbers, dates and times ---------------------------------------------------------------------


def _compute_aggregate(
    column: pa.ChunkedArray, groups: Groups, how: str, name: str, keep_type: bool
) -> pa.Array:
    kind = column.type
    if keep_type and pa.types.is_decimal(kind):
        return _aggregate_decimals(column, groups, how, name)
    whole = pa.types.is_temporal(kind) or (keep_type and pa.types.is_integer(kind))
    if whole and kind == pa.uint64():
        values, valid_mask = _values_and_mask(column, np.dtype(np.uint64))
        values = values.astype(object if int(values.max(initial=0)) >= 2**63 else np.int64)
    elif whole:
        numbers = whole_numbers(column) if pa.types.is_temporal(kind) else column.cast(pa.int64(), safe=False)
        values, valid_mask = _values_and_mask(numbers, np.dtype(np.int64))
    else:
        values, valid_mask = _values_and_mask(column.cast(pa.float64(), safe=False), np.dtype(np.float64))
    if not whole and np.isinf(values[valid_mask]).any():
        raise InputError(
            f"column {name!r} holds infinite numbers, which have no {how}. Replace them first, or choose "
            "the mode or the set"
        )
    ordered = _Sorted(values[valid_mask], groups[valid_mask], int(groups.max(initial=-1)) + 1)
    if how == "geometric mean":
        _require_logarithms(column, values, valid_mask, name)
        numbers = np.expm1(ordered.means(np.log1p(ordered.values.astype(np.float64))))
        results: NDArray[Any] = _rounded(numbers, values.dtype) if whole else numbers
    elif whole:
        results = ordered.whole_median() if how == "median" else ordered.whole_mean()
    else:
        results = ordered.median() if how == "median" else ordered.means(ordered.values)
    results = np.clip(results, *ordered.extremes())
    array = pa.array(results, pa.uint64() if results.dtype == object else None, mask=ordered.sizes == 0)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    return array.cast(kind) if whole or keep_type else array


def _aggregate_decimals(column: pa.ChunkedArray, groups: Groups, how: str, name: str) -> pa.Array:
    """Aggregate decimals as whole numbers of their last place."""
    kind = column.type
    unit = Fraction(10) ** -kind.scale
    different, codes = encode_values(column)
    units = [0 if each is None else int(Fraction(each) / unit) for each in different.to_pylist()]
    fits = all(abs(each) < 2**63 for each in units)
    values = np.array(units, np.int64 if fits else object)[codes]
    valid_mask = np.array(pc.is_valid(different), dtype=np.bool_)[codes]
    ordered = _Sorted(values[valid_mask], groups[valid_mask], int(groups.max(initial=-1)) + 1)
    if how == "geometric mean":
        numbers = values.astype(np.float64) * float(unit)
        _require_logarithms(column, numbers, valid_mask, name)
        means = np.expm1(ordered.means(np.log1p(ordered.values.astype(np.float64) * float(unit))))
        results: NDArray[Any] = _rounded(means / float(unit), values.dtype)
    else:
        results = ordered.whole_median() if how == "median" else ordered.whole_mean()
    results = np.clip(results, *ordered.extremes())
    exact = Context(prec=80)
    decimals = [
        Decimal(int(each)).scaleb(-kind.scale, exact) if size else None
        for each, size in zip(results, ordered.sizes, strict=True)
    ]
    return pa.array(decimals, kind)


def _rounded(numbers: Floats, kind: np.dtype[Any]) -> NDArray[Any]:
    """Round to whole numbers of any size, a half up."""
    return np.array([math.floor(each + 0.5) for each in numbers], kind)


def _values_and_mask(column: pa.ChunkedArray, kind: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    valid_mask = np.array(pc.is_valid(column), dtype=np.bool_)
    return np.array(pc.fill_null(column, 0), dtype=kind), valid_mask


class _Sorted:
    """Values sorted within groups, and where each group begins and ends."""

    def __init__(self, values: NDArray[Any], groups: Groups, count: int) -> None:
        order = np.lexsort((values if values.dtype != object else _places(values), groups))
        self.values, self.groups = values[order], groups[order]
        self.sizes = np.bincount(groups, minlength=count)
        self.ends = np.cumsum(self.sizes)
        self.starts = self.ends - self.sizes

    def extremes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the least and the greatest value of each group, 0 where there is none."""
        return self._at(self.starts), self._at(self.ends - 1)

    def means(self, values: Floats) -> Floats:
        sizes = np.maximum(self.sizes, 1)
        if values.size and float(np.abs(values).max()) > _LARGEST / values.size:  # sums may overflow
            return np.asarray(
                np.bincount(self.groups, values / sizes[self.groups], minlength=sizes.size), np.float64
            )
        sums = np.bincount(self.groups, values, minlength=sizes.size)
        return np.asarray(sums / sizes, np.float64)

    def median(self) -> Floats:
        low, high = self._middle()
        return np.asarray(low / 2 + high / 2, np.float64)

    def whole_mean(self) -> Integers:
        values = self.values
        if values.size and int(self.sizes.max()) * max(-int(values.min()), int(values.max())) >= 2**61:
            values = values.astype(object)
        sums = np.zeros(self.sizes.size, values.dtype)
        np.add.at(sums, self.groups, values)
        sizes = np.maximum(self.sizes, 1)
        return np.asarray((2 * sums + sizes) // (2 * sizes), self.values.dtype)

    def whole_median(self) -> Integers:
        low, high = self._middle()
        # Halve both and add what halving both left over, a half up, within 64 bits.
        return np.asarray(low // 2 + high // 2 + (low % 2 + high % 2 + 1) // 2, self.values.dtype)

    def _middle(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._at(self.starts + (self.sizes - 1) // 2), self._at(self.starts + self.sizes // 2)

    def _at(self, places: Integers) -> NDArray[Any]:
        padded = np.append(self.values, np.zeros(1, self.values.dtype))
        return np.asarray(padded[np.where(self.sizes > 0, places, -1)])


def _places(values: NDArray[Any]) -> Integers:
    """Return the rank of each whole number, too large for 64 bits, among the different ones."""
    place = {value: at for at, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], np.int64)


def _require_logarithms(column: pa.ChunkedArray, values: Any, valid: NDArray[np.bool_], name: str) -> None:
    low = np.flatnonzero(valid & (values <= -1))
    if low.size:
        raise InputError(
            f"column {name!r} holds {column[int(low[0])]} in row {low[0] + 1}, and the geometric mean needs values "
            "above -1. Choose the mean or the median"
        )


# --- categories -----------------------------------------------------------------------------------


def _categorical(
    column: pa.ChunkedArray, groups: Groups, how: Aggregate, name: str, keep_type: bool
) -> pa.Array:
    """Aggregate dictionary-encoded values, by their own order if they have one, and encode the aggregates."""
    kind = column.type
    if kind.ordered and how == "median":
        aggregates = _middle_category(column, groups, name)
    elif kind.ordered and how in ("mode", "centroid"):
        aggregates = _most_frequent(column, groups, name)
    elif kind.ordered and how == "interval":
        return _intervals(column, groups, name)
    else:
        aggregates = aggregate_groups(column.cast(kind.value_type), groups, how, name, keep_type=keep_type)
    if how in ("interval", "set") or aggregates.type != kind.value_type:
        return aggregates
    chunks = column.unify_dictionaries().chunks  # none, if all records are suppressed
    values = chunks[0].dictionary if chunks else pa.array([], kind.value_type)
    if is_quantity(kind.value_type) and how != "mode":  # a mean need not be among them
        values = pc.unique(aggregates.drop_null())
    return pa.DictionaryArray.from_arrays(
        pc.index_in(aggregates, values).cast(kind.index_type), values, ordered=kind.ordered
    )


def _most_frequent(column: pa.ChunkedArray, groups: Groups, name: str) -> pa.Array:
    values, group, code, count = _histogram(column, groups)
    if has_ordered_categories(column.type):
        ranks = np.array(pc.index_in(values, ordered_places(column, name)[0]).fill_null(-1))
    else:
        ranks = _ranks(values, name)
    order = np.lexsort((ranks[code], -count, group))
    return _first(values, group[order], code[order], int(groups.max(initial=-1)) + 1)


def _middle_category(column: pa.ChunkedArray, groups: Groups, name: str) -> pa.Array:
    values, places = ordered_places(column, name)
    valid_mask = places >= 0
    ordered = _Sorted(places[valid_mask], groups[valid_mask], int(groups.max(initial=-1)) + 1)
    low, high = ordered._middle()
    return values.take(pa.array(low, mask=(ordered.sizes == 0) | (low != high)))


def _intervals(column: pa.ChunkedArray, groups: Groups, name: str) -> pa.Array:
    values, places = ordered_places(column, name)
    valid_mask = places >= 0
    ordered = _Sorted(places[valid_mask], groups[valid_mask], int(groups.max(initial=-1)) + 1)
    texts = np.array([*canonical_text(values, column=name), ""], object)
    low, high = ordered.extremes()
    labels = [f"[{least}, {most}]" for least, most in zip(texts[low], texts[high], strict=True)]
    return pa.array(labels, pa.string(), mask=ordered.sizes == 0)


def _sets(column: pa.ChunkedArray, groups: Groups, name: str) -> pa.Array:
    values, group, code, _ = _histogram(column, groups)
    # Sorted by value: the order of the rows would reveal who has which.
    ordered = np.lexsort((_ranks(values, name)[code], group))
    texts = np.array(canonical_text(values, column=name), object)[code[ordered]]
    bounds = np.searchsorted(group, np.arange(int(groups.max(initial=-1)) + 2))
    labels = ["{" + ", ".join(texts[start:end]) + "}" for start, end in itertools.pairwise(bounds)]
    return pa.array(labels, pa.string(), mask=np.diff(bounds) == 0)


def _ranks(values: pa.Array, name: str) -> Integers:
    """Return the rank of each value in the order of its type, or of its text if the type has none."""
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_float16(kind):
        values = _sortable(values)
    elif not (is_quantity(kind) or pa.types.is_string(kind)):
        values = pa.array(canonical_text(values, column=name), pa.string())
    return np.argsort(sorted_places(values))


def _sortable(values: pa.Array) -> pa.Array:
    """Return the values in a type that Arrow sorts, in the same order."""
    return values.cast(pa.int8()) if pa.types.is_boolean(values.type) else widened(values)


def _histogram(column: pa.ChunkedArray, groups: Groups) -> tuple[pa.Array, Integers, Integers, Integers]:
    """Return the values, and group, code and count of each value in each group, ordered by group and code."""
    values, codes = encode_values(column)
    valid_mask = np.array(pc.is_valid(values), dtype=np.bool_)[codes]
    pairs, counts = np.unique(groups[valid_mask] * len(values) + codes[valid_mask], return_counts=True)
    group, code = np.divmod(pairs, max(1, len(values)))
    return values, group, code, counts


def _first(values: pa.Array, group: Integers, code: Integers, count: int) -> pa.Array:
    at = np.searchsorted(group, np.arange(count))
    empty = np.bincount(group, minlength=count) == 0
    return values.take(pa.array(np.append(code, 0)[np.where(empty, -1, at)], mask=empty))


def ordered_places(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, Integers]:
    """Return the different values in order, and the place of each row's value among them; -1 if missing."""
    kind = column.type
    if pa.types.is_dictionary(kind) and kind.ordered:
        plain = column.unify_dictionaries()
        indices = [pc.fill_null(chunk.indices.cast(pa.int64()), -1) for chunk in plain.chunks]
        values = plain.chunk(0).dictionary if plain.num_chunks else pa.array([], kind.value_type)
        return values, np.array(pa.chunked_array(indices, pa.int64()), dtype=np.int64)
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not (is_quantity(kind) or pa.types.is_boolean(kind)):
        raise InputError(
            f"column {name!r} holds values of type {kind}, which have no order, but an order is needed "
            "here. Make it an ordered category, or choose an aggregate that needs none, such as the mode "
            "or the set"
        )
    values, codes = encode_values(column)
    order = np.array(pc.array_sort_indices(_sortable(values)), dtype=np.int64)
    place = np.argsort(order)
    place[np.array(pc.is_null(values), dtype=np.bool_)] = -1
    return values.take(pa.array(order)), place[codes]
