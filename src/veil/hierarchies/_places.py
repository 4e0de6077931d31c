"""The order of many values, and their exact cells on a grid.

Whether a value lies in an interval depends only on its cell on a grid whose lines include all ends of
intervals. So a number of any length becomes its floor on that grid, computed from its digits without
rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veil.hierarchies._axis import DAY_LENGTH, EPOCH_DAY, Axis, positions
from veil.hierarchies._common import InOrder, by_key, in_order, sorted_by_type
from veil.tables.columns import is_text
from veil.tables.text import canonical_array

Integers = npt.NDArray[Any]
"""64-bit integers, or Python's if those are too short."""

SAFE = 2**60  # twice this still fits into 64 bits
_DIGITS = 18
"""Digits of a number that always fits into 64 bits."""

_AMBIGUOUS = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$"  # thousands, perhaps: `positions` refuses it
_PLAIN = r"^-?[0-9]{1,1000}(\.[0-9]{1,1000})?$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{3}|\.[0-9]{6})?)?)?$"
_YEAR_ONE = -EPOCH_DAY * DAY_LENGTH["us"]


@dataclass(frozen=True)
class Places:
    """Values sorted by their positions on an axis, and those at one position by their texts."""

    axis: Axis
    sorted: InOrder
    cells: Callable[[int], Integers]
    """The floor of each position times a scale, in the original order of the values."""

    def floors(self, scale: int) -> Integers:
        """Return `cells` in the order of positions."""
        return self.cells(scale)[self.sorted.order]


def places(values: pa.Array, column: str) -> Places:
    """Return the positions of values without missing ones."""
    texts = canonical_array(values, column=column)
    result = _whole(values, texts) or _decimal(values, texts) or _moments(values, texts)
    return _exactly(values, column, texts) if result is None else result


def moments(texts: pa.Array) -> npt.NDArray[np.int64] | None:
    """Return microseconds from 1970 to dates or times in ISO 8601; None if a text is anything else.

    >>> moments(pa.array(["1970-01-01T00:00:01", "1970-01-02"])), moments(pa.array(["1970-01-01", "1.1.1970"]))
    (array([    1000000, 86400000000]), None)
    """
    if not pc.all(pc.match_substring_regex(texts, _ISO), min_count=0).as_py():
        return None
    try:
        ticks = texts.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # such as 30 February
        return None
    return ticks if ticks.min(initial=0) >= _YEAR_ONE else None


def _whole(values: pa.Array, texts: pa.Array) -> Places | None:
    """Place integers, dates and times, which are counts of ticks; None for other types."""
    kind = values.type
    if pa.types.is_integer(kind):
        if pa.types.is_uint64(kind) and len(values) and pc.max(values).as_py() >= SAFE:
            return None
        return _of_ticks(Axis("number", True), texts, values, 0, 1)
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32())
        return _of_ticks(Axis("date", True), texts, days, EPOCH_DAY, 1)
    if pa.types.is_timestamp(kind):
        local = values if kind.tz is None else pc.local_timestamp(values)
        return _of_ticks(Axis("timestamp", False), texts, local, EPOCH_DAY, DAY_LENGTH[kind.unit])
    return None


def _of_ticks(axis: Axis, texts: pa.Array, ticks: pa.Array, start: int, per: int) -> Places:
    """Place values that are ticks after `start`, with `per` ticks in a unit of the axis."""
    counted: npt.NDArray[np.int64] = ticks.cast(pa.int64()).to_numpy(zero_copy_only=False)
    largest = max(abs(int(counted.min(initial=0))), abs(int(counted.max(initial=0))))

    def cells(scale: int) -> Integers:
        common = math.gcd(scale, per)
        times, parts = scale // common, per // common
        fits = largest * times < SAFE and abs(start) * scale < SAFE
        exact: Integers = counted if fits else counted.astype(object)
        return exact * times // parts + start * scale

    return Places(axis, by_key(counted, texts), cells)


def _decimal(values: pa.Array, texts: pa.Array) -> Places | None:
    """Place numbers that are digits with at most one point; None if a value is anything else, or too long."""
    kind = values.type
    if is_text(kind):
        numbers = pc.all(pc.match_substring_regex(texts, _PLAIN), min_count=0).as_py()
        doubtful = pc.any(pc.match_substring_regex(texts, _AMBIGUOUS), min_count=0).as_py()
        plain = texts if numbers and not doubtful else None
    elif pa.types.is_floating(kind):
        plain = _without_exponents(texts) if pc.all(pc.is_finite(values), min_count=0).as_py() else None
    else:
        plain = texts if pa.types.is_decimal(kind) else None
    if plain is None:
        return None
    point = pc.find_substring(plain, ".").to_numpy(zero_copy_only=False)
    lengths = pc.binary_length(plain).to_numpy(zero_copy_only=False)
    most = int(np.where(point < 0, 0, lengths - point - 1).max(initial=0))
    before = int(np.where(point < 0, lengths, point).max(initial=0))
    if before > _DIGITS:
        return None

    def cells(scale: int) -> Integers:
        decimals = next((number for number in range(_DIGITS - before + 1) if not 10**number % scale), None)
        if decimals is None:
            _, numerators, denominator = positions(values, "")
            return np.array([number * scale // denominator for number in numerators], object)
        floors, sure = _estimated(values, scale)
        if not sure.all():
            floors[~sure] = _floors(plain.filter(pa.array(~sure)), decimals) // (10**decimals // scale)
        return floors

    axis = Axis("number", is_text(kind) and most == 0)
    if not is_text(kind):
        return Places(axis, in_order(texts, sorted_by_type(values)), cells)
    places = min(most, _DIGITS - before)
    keys = _floors(plain, places)
    if places < most and np.unique(keys).size < keys.size:
        return None  # the remaining digits decide the order
    return Places(axis, by_key(keys, texts), cells)


def _without_exponents(texts: pa.Array) -> pa.Array:
    which = pc.match_substring(texts, "e")
    if not pc.any(which, min_count=0).as_py():
        return texts
    plain = [format(Decimal(text), "f") for text in texts.filter(which).to_pylist()]
    return pc.replace_with_mask(texts, which, pa.array(plain, texts.type))


def _estimated(values: pa.Array, scale: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the floors of doubles times a scale, and a mask of those that are certain despite rounding.

    The relative error of a double against its decimal digits is at most 2**-53, and the product adds as much.
    If the floor is the same within eight times that error to both sides, it is the floor of the digits.
    """
    if values.type != pa.float64():
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    product = values.to_numpy(zero_copy_only=False) * float(scale)
    margin = np.abs(product) * 2.0**-49
    low, high = np.floor(product - margin), np.floor(product + margin)
    sure = (low == high) & (np.abs(product) < 2.0**52) & (scale < 2**52)
    return np.where(sure, low, 0).astype(np.int64), sure


def _floors(plain: pa.Array, decimals: int) -> npt.NDArray[np.int64]:
    """Return the floors of numbers times 10**decimals, from their digits."""
    pointed = pc.binary_join_element_wise(
        plain, pc.if_else(pc.match_substring(plain, "."), "", ".").cast(plain.type), "0" * decimals, ""
    )
    cut = pc.replace_substring_regex(pointed, rf"\.([0-9]{{{decimals}}})[0-9]*$", r"\1")
    floors: npt.NDArray[np.int64] = cut.cast(pa.int64()).to_numpy(zero_copy_only=False)
    negative = pc.starts_with(plain, "-")
    if pc.any(negative, min_count=0).as_py():  # truncation rounds them up
        more = pc.match_substring_regex(pointed, rf"\.[0-9]{{{decimals}}}[0-9]*[1-9]")
        floors = floors - np.asarray(pc.and_(negative, more)).astype(np.int64)
    return floors


def _moments(values: pa.Array, texts: pa.Array) -> Places | None:
    """Place dates and times that are text in ISO 8601; None for other values."""
    ticks = moments(texts) if is_text(values.type) and len(texts) else None
    if ticks is None:
        return None
    whole = not bool((ticks % DAY_LENGTH["us"]).any())
    axis = Axis("date" if whole else "timestamp", whole)
    return _of_ticks(axis, texts, pa.array(ticks), EPOCH_DAY, DAY_LENGTH["us"])


def _exactly(values: pa.Array, column: str, texts: pa.Array) -> Places:
    """Place values one by one, in exact arithmetic."""
    axis, numerators, denominator = positions(values, column)
    text_list = texts.to_pylist()
    order = sorted(range(len(text_list)), key=lambda at: (numerators[at], text_list[at]))

    def cells(scale: int) -> Integers:
        return np.array([number * scale // denominator for number in numerators], object)

    return Places(axis, in_order(texts, np.array(order, np.intp)), cells)
