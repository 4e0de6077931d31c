"""Aggregates: the one value that stands for all values of a group.

Missing values are left out; a group without any other has a missing aggregate. An aggregate is computed once for a
group and never lies outside of what the group holds, whatever rounding does.
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
from veil.tables.arrow import has_ordered_categories
from veil.tables.canonical import widened
from veil.tables.columns import Floats, Groups, encode_values, is_quantity, whole_numbers
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
    least: int = 1,
    people: NDArray[np.int32] | None = None,
) -> pa.Array:
    """Return the aggregate of each group.

    Of fewer than `least` known values there is none: the mean of one value is that value, and whose it is does not change
    that it would be published. Where `people` tells whose row each row is, these are values of so many people.

    "centroid" is the mean of numbers, dates and times, and the mode of everything else. A geometric mean is
    exp(mean(ln(v + 1))) - 1, so that 0 has one. The median of an even number of values lies halfway between both
    in the middle; categories with an order have one only if both agree, else the aggregate is missing. Of equally
    frequent values, the mode is the least one. An interval is the text "[least, most]" and a set the text "{a, b}",
    in the order of the values: nothing follows from the order of rows.

    Means and medians of numbers are floats, unless `keep_type` asks to round them, a half up, to what the column
    holds: whole numbers, or decimals of as many places. Those of dates and times are always rounded.

    >>> ages = pa.chunked_array([[20, 23, 40, 41]])
    >>> aggregate_groups(ages, np.array([0, 0, 1, 1]), "mean", "age").to_pylist()
    [21.5, 40.5]
    >>> aggregate_groups(ages, np.array([0, 0, 1, 1]), "interval", "age").to_pylist()
    ['[20, 23]', '[40, 41]']
    """
    if least > 1:
        known_rows = np.array(pc.is_valid(column), dtype=np.bool_)
        holders = groups[known_rows]
        if people is not None:
            holders = np.unique(np.stack([holders, people[known_rows]]), axis=1)[0]
        known = np.bincount(holders, minlength=int(groups.max(initial=-1)) + 1)
        found = aggregate_groups(column, groups, how, name, keep_type=keep_type)
        return found.take(pa.array(np.arange(len(found)), mask=known < least))
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


# --- numbers, dates and times ---------------------------------------------------------------------


def _compute_aggregate(
    column: pa.ChunkedArray, groups: Groups, how: str, name: str, keep_type: bool
) -> pa.Array:
    kind = column.type
    if keep_type and pa.types.is_decimal(kind):
        return _aggregate_decimals(column, groups, how, name)
    whole = pa.types.is_temporal(kind) or (keep_type and pa.types.is_integer(kind))
    if whole and kind == pa.uint64():
        values, known = _known_values(column, np.dtype(np.uint64))
        values = values.astype(object if int(values.max(initial=0)) >= 2**63 else np.int64)
    elif whole:
        numbers = whole_numbers(column) if pa.types.is_temporal(kind) else column.cast(pa.int64(), safe=False)
        values, known = _known_values(numbers, np.dtype(np.int64))
    else:
        values, known = _known_values(column.cast(pa.float64(), safe=False), np.dtype(np.float64))
    if not whole and np.isinf(values[known]).any():
        raise InputError(
            f"column {name!r} holds infinite numbers, which have no {how}. Replace them first, or choose "
            "the mode or the set"
        )
    found = _Sorted(values[known], groups[known], int(groups.max(initial=-1)) + 1)
    if how == "geometric mean":
        _require_logarithms(column, values, known, name)
        numbers = np.expm1(found.means(np.log1p(found.values.astype(np.float64))))
        results: NDArray[Any] = _rounded(numbers, values.dtype) if whole else numbers
    elif whole:
        results = found.whole_median() if how == "median" else found.whole_mean()
    else:
        results = found.median() if how == "median" else found.means(found.values)
    results = np.clip(results, *found.extremes())
    made = pa.array(results, pa.uint64() if results.dtype == object else None, mask=found.sizes == 0)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        made = made.cast(pa.int32())
    return made.cast(kind) if whole or keep_type else made


def _aggregate_decimals(column: pa.ChunkedArray, groups: Groups, how: str, name: str) -> pa.Array:
    """Aggregate decimals as whole numbers of their last place."""
    kind = column.type
    unit = Fraction(10) ** -kind.scale
    different, codes = encode_values(column)
    counted = [0 if each is None else int(Fraction(each) / unit) for each in different.to_pylist()]
    fits = all(abs(each) < 2**63 for each in counted)
    values = np.array(counted, np.int64 if fits else object)[codes]
    known = np.array(pc.is_valid(different), dtype=np.bool_)[codes]
    found = _Sorted(values[known], groups[known], int(groups.max(initial=-1)) + 1)
    if how == "geometric mean":
        numbers = values.astype(np.float64) * float(unit)
        _require_logarithms(column, numbers, known, name)
        means = np.expm1(found.means(np.log1p(found.values.astype(np.float64) * float(unit)))) / float(unit)
        results: NDArray[Any] = _rounded(means, values.dtype)
    else:
        results = found.whole_median() if how == "median" else found.whole_mean()
    results = np.clip(results, *found.extremes())
    exact = Context(prec=80)
    shown = [
        Decimal(int(each)).scaleb(-kind.scale, exact) if size else None
        for each, size in zip(results, found.sizes, strict=True)
    ]
    return pa.array(shown, kind)


def _rounded(numbers: Floats, kind: np.dtype[Any]) -> NDArray[Any]:
    """Whole numbers, a half up, however large they are."""
    return np.array([math.floor(each + 0.5) for each in numbers], kind)


def _known_values(column: pa.ChunkedArray, kind: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    known = np.array(pc.is_valid(column), dtype=np.bool_)
    return np.array(pc.fill_null(column, 0), dtype=kind), known


class _Sorted:
    """Values sorted within groups, and where the values of each group are."""

    def __init__(self, values: NDArray[Any], groups: Groups, count: int) -> None:
        order = np.lexsort((values if values.dtype != object else _places(values), groups))
        self.values, self.groups = values[order], groups[order]
        self.sizes = np.bincount(groups, minlength=count)
        self.ends = np.cumsum(self.sizes)
        self.starts = self.ends - self.sizes

    def extremes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The least and the greatest value of each group, 0 where there is none."""
        return self._at(self.starts), self._at(self.ends - 1)

    def means(self, values: Floats) -> Floats:
        sizes = np.maximum(self.sizes, 1)
        if (
            values.size and float(np.abs(values).max()) > _LARGEST / values.size
        ):  # sums could be too large for a float
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
        # Half of both and of what halving both left over, a half up, without ever leaving 64 bits.
        return np.asarray(low // 2 + high // 2 + (low % 2 + high % 2 + 1) // 2, self.values.dtype)

    def _middle(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._at(self.starts + (self.sizes - 1) // 2), self._at(self.starts + self.sizes // 2)

    def _at(self, places: Integers) -> NDArray[Any]:
        padded = np.append(self.values, np.zeros(1, self.values.dtype))
        return np.asarray(padded[np.where(self.sizes > 0, places, -1)])


def _places(values: NDArray[Any]) -> Integers:
    """The place of each of some whole numbers, too large for 64 bits, among the different ones."""
    place = {value: at for at, value in enumerate(sorted(set(values)))}
    return np.array([place[value] for value in values], np.int64)


def _require_logarithms(column: pa.ChunkedArray, values: Any, known: NDArray[np.bool_], name: str) -> None:
    low = np.flatnonzero(known & (values <= -1))
    if low.size:
        raise InputError(
            f"column {name!r} holds {column[int(low[0])]} in row {low[0] + 1}, and the geometric mean needs values "
            "above -1. Choose the mean or the median"
        )


# --- categories -----------------------------------------------------------------------------------


def _categorical(
    column: pa.ChunkedArray, groups: Groups, how: Aggregate, name: str, keep_type: bool
) -> pa.Array:
    """Aggregate dictionary-encoded values, with an order of their own if they have one, and encode the result."""
    kind = column.type
    if kind.ordered and how == "median":
        made = _middle_category(column, groups, name)
    elif kind.ordered and how in ("mode", "centroid"):
        made = _most_frequent(column, groups, name)
    elif kind.ordered and how == "interval":
        return _intervals(column, groups, name)
    else:
        made = aggregate_groups(column.cast(kind.value_type), groups, how, name, keep_type=keep_type)
    if how in ("interval", "set") or made.type != kind.value_type:
        return made
    chunks = column.unify_dictionaries().chunks  # none, if all records are suppressed
    values = chunks[0].dictionary if chunks else pa.array([], kind.value_type)
    if is_quantity(kind.value_type) and how != "mode":  # a mean need not be among them
        values = pc.unique(made.drop_null())
    return pa.DictionaryArray.from_arrays(
        pc.index_in(made, values).cast(kind.index_type), values, ordered=kind.ordered
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
    known = places >= 0
    found = _Sorted(places[known], groups[known], int(groups.max(initial=-1)) + 1)
    low, high = found._middle()
    return values.take(pa.array(low, mask=(found.sizes == 0) | (low != high)))


def _intervals(column: pa.ChunkedArray, groups: Groups, name: str) -> pa.Array:
    values, places = ordered_places(column, name)
    known = places >= 0
    found = _Sorted(places[known], groups[known], int(groups.max(initial=-1)) + 1)
    texts = np.array([*canonical_text(values, column=name), ""], object)
    low, high = found.extremes()
    labels = [f"[{least}, {most}]" for least, most in zip(texts[low], texts[high], strict=True)]
    return pa.array(labels, pa.string(), mask=found.sizes == 0)


def _sets(column: pa.ChunkedArray, groups: Groups, name: str) -> pa.Array:
    values, group, code, _ = _histogram(column, groups)
    # In an order that follows from the values: that of the rows would tell who has which.
    ordered = np.lexsort((_ranks(values, name)[code], group))
    texts = np.array(canonical_text(values, column=name), object)[code[ordered]]
    bounds = np.searchsorted(group, np.arange(int(groups.max(initial=-1)) + 2))
    labels = ["{" + ", ".join(texts[start:end]) + "}" for start, end in itertools.pairwise(bounds)]
    return pa.array(labels, pa.string(), mask=np.diff(bounds) == 0)


def _ranks(values: pa.Array, name: str) -> Integers:
    """The place of each value in the order of their type, or of their texts if that has none."""
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_float16(kind):
        values = _sortable(values)
    elif not (is_quantity(kind) or pa.types.is_string(kind)):
        values = pa.array(canonical_text(values, column=name), pa.string())
    return np.argsort(sorted_places(values))


def _sortable(values: pa.Array) -> pa.Array:
    """The values in a type that Arrow sorts, in the same order."""
    return values.cast(pa.int8()) if pa.types.is_boolean(values.type) else widened(values)


def _histogram(column: pa.ChunkedArray, groups: Groups) -> tuple[pa.Array, Integers, Integers, Integers]:
    """Group, code and count of each value in each group, in the order of groups and codes; values by code."""
    values, codes = encode_values(column)
    known = np.array(pc.is_valid(values), dtype=np.bool_)[codes]
    pairs, counts = np.unique(groups[known] * len(values) + codes[known], return_counts=True)
    group, code = np.divmod(pairs, max(1, len(values)))
    return values, group, code, counts


def _first(values: pa.Array, group: Integers, code: Integers, count: int) -> pa.Array:
    at = np.searchsorted(group, np.arange(count))
    empty = np.bincount(group, minlength=count) == 0
    return values.take(pa.array(np.append(code, 0)[np.where(empty, -1, at)], mask=empty))


def ordered_places(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, Integers]:
    """Different values in their order, and the place of each row's value there; -1 where it is missing."""
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
