"""Many values placed at once: their order, and exactly which cell of a grid each lies in.

Whether a value lies in an interval depends on no more than the cell that it lies in, on a grid that has all ends of
intervals among its lines. So a number of any length becomes the whole number below it on that grid, read off its digits,
and nothing is left to rounding.
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
"""64-bit integers, or Python's where those are too short."""

SAFE = 2**60  # twice this still fits into 64 bits
_DIGITS = 18
"""Digits of a number that 64 bits hold, whatever they are."""

_AMBIGUOUS = r"^-?[1-9][0-9]{0,2}\.[0-9]{3}$"  # thousands, perhaps: `positions` refuses it
_PLAIN = r"^-?[0-9]{1,1000}(\.[0-9]{1,1000})?$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{3}|\.[0-9]{6})?)?)?$"
_YEAR_ONE = -EPOCH_DAY * DAY_LENGTH["us"]


@dataclass(frozen=True)
class Places:
    """Values in the order of their places on an axis; where two have the same place, in that of their texts."""

    axis: Axis
    sorted: InOrder
    cells: Callable[[int], Integers]
    """The largest whole number that is not above each place times a scale; of the values as they came."""

    def floors(self, scale: int) -> Integers:
        """Do as `cells`, in the order of places."""
        return self.cells(scale)[self.sorted.order]


def places(values: pa.Array, column: str) -> Places:
    """Place values, none of them missing."""
    texts = canonical_array(values, column=column)
    found = _whole(values, texts) or _decimal(values, texts) or _moments(values, texts)
    return _exactly(values, column, texts) if found is None else found


def moments(texts: pa.Array) -> npt.NDArray[np.int64] | None:
    """Microseconds from 1970 to each of some dates or times in ISO 8601; None if a text is anything else.

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
    """Integers, dates and times: so many ticks, of which a unit of the axis has a whole number."""
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
    """Place what lies so many ticks after a whole number, `per` of which make one."""
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
    """Numbers as digits with at most one point between them; None if one is something else, or too long."""
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
        made, sure = _estimated(values, scale)
        if not sure.all():
            made[~sure] = _floors(plain.filter(pa.array(~sure)), decimals) // (10**decimals // scale)
        return made

    axis = Axis("number", is_text(kind) and most == 0)
    if not is_text(kind):
        return Places(axis, in_order(texts, sorted_by_type(values)), cells)
    kept = min(most, _DIGITS - before)
    keys = _floors(plain, kept)
    if kept < most and np.unique(keys).size < keys.size:
        return None  # what is left of their digits decides
    return Places(axis, by_key(keys, texts), cells)


def _without_exponents(texts: pa.Array) -> pa.Array:
    which = pc.match_substring(texts, "e")
    if not pc.any(which, min_count=0).as_py():
        return texts
    plain = [format(Decimal(text), "f") for text in texts.filter(which).to_pylist()]
    return pc.replace_with_mask(texts, which, pa.array(plain, texts.type))


def _estimated(values: pa.Array, scale: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The whole numbers below doubles times a scale, and of which of them that is certain in spite of rounding.

    A double is off from the number that its digits spell by 2**-53 of it at most, and its product by as much again. If the
    whole number is the same for eight times as much to both sides, it is the one of the digits.
    """
    if values.type != pa.float64():
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    product = values.to_numpy(zero_copy_only=False) * float(scale)
    margin = np.abs(product) * 2.0**-49
    low, high = np.floor(product - margin), np.floor(product + margin)
    sure = (low == high) & (np.abs(product) < 2.0**52) & (scale < 2**52)
    return np.where(sure, low, 0).astype(np.int64), sure


def _floors(plain: pa.Array, decimals: int) -> npt.NDArray[np.int64]:
    """Read digits up to some place behind the point, and go down to the whole number there."""
    pointed = pc.binary_join_element_wise(
        plain, pc.if_else(pc.match_substring(plain, "."), "", ".").cast(plain.type), "0" * decimals, ""
    )
    cut = pc.replace_substring_regex(pointed, rf"\.([0-9]{{{decimals}}})[0-9]*$", r"\1")
    made: npt.NDArray[np.int64] = cut.cast(pa.int64()).to_numpy(zero_copy_only=False)
    negative = pc.starts_with(plain, "-")
    if pc.any(negative, min_count=0).as_py():  # of which a part that is cut off is one step down
        more = pc.match_substring_regex(pointed, rf"\.[0-9]{{{decimals}}}[0-9]*[1-9]")
        made = made - np.asarray(pc.and_(negative, more)).astype(np.int64)
    return made


def _moments(values: pa.Array, texts: pa.Array) -> Places | None:
    """Dates and times that are text."""
    ticks = moments(texts) if is_text(values.type) and len(texts) else None
    if ticks is None:
        return None
    whole = not bool((ticks % DAY_LENGTH["us"]).any())
    axis = Axis("date" if whole else "timestamp", whole)
    return _of_ticks(axis, texts, pa.array(ticks), EPOCH_DAY, DAY_LENGTH["us"])


def _exactly(values: pa.Array, column: str, texts: pa.Array) -> Places:
    """Place values one by one."""
    axis, numerators, denominator = positions(values, column)
    spelled = texts.to_pylist()
    order = sorted(range(len(spelled)), key=lambda at: (numerators[at], spelled[at]))

    def cells(scale: int) -> Integers:
        return np.array([number * scale // denominator for number in numerators], object)

    return Places(axis, in_order(texts, np.array(order, np.intp)), cells)
