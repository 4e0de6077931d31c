"""The canonical text of a typed value, as in hierarchies, labels and reports.

Two different values of one column never share a spelling, so that a text identifies its value. So the zero
after the point of a decimal stays, and the rare float ``-0.0`` is spelled ``-0``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError, PlanError
from veil.tables.canonical import widened


def sorted_places(
    values: pa.Array, order: Sequence[str] | None = None, column: str | None = None
) -> NDArray[np.int64]:
    """Return the positions of the values in sorted order; missing ones are last.

    The order is that of their type, or a list of all texts. If it lacks one, a `PlanError` names `column`.

    >>> sorted_places(pa.array(["low", "mid", None, "high"])).tolist()
    [3, 0, 1, 2]
    >>> sorted_places(pa.array(["low", "mid", None, "high"]), ["low", "mid", "high"]).tolist()
    [0, 1, 3, 2]
    """
    if order is None:
        return np.array(pc.array_sort_indices(widened(values), null_placement="at_end"), dtype=np.int64)
    place = {text: number for number, text in enumerate(order)}
    texts = canonical_text(values, column=column)
    strange = [text for text in texts if text is not None and text not in place]
    if strange:
        raise PlanError(
            f"the order of the values of column {column!r} lacks {min(strange)!r}, which occurs in it. Add it to `order`"
        )
    rank = [len(place) if text is None else place[text] for text in texts]
    return np.argsort(rank, kind="stable").astype(np.int64)


def python_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values as Python objects; if a date or time is outside of the years 1 to 9999, all as text."""
    try:
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError):
        return canonical_text(array)
    return values


def canonical_text(array: pa.Array | pa.ChunkedArray, *, column: str | None = None) -> list[str | None]:
    """Spell every value of an array as text; a missing value stays ``None``.

    Integers are plain digits; floats their shortest exact spelling, without ``.0``; booleans ``true`` and
    ``false``; dates and timestamps ISO 8601 (with the offset, where there is a time zone); decimals plain
    digits with all their places; strings themselves. Dictionary-encoded values are spelled like their
    categories. Any other type raises an `InputError`, which names `column` if it is given.

    >>> import pyarrow as pa
    >>> canonical_text(pa.array([42, None]))
    ['42', None]
    >>> canonical_text(pa.array([4.0, 4.5]))
    ['4', '4.5']
    """
    texts: list[str | None] = canonical_array(array, column=column).to_pylist()
    return texts


def canonical_array(
    array: pa.Array | pa.ChunkedArray, *, column: str | None = None
) -> pa.Array | pa.ChunkedArray:
    """Spell many values as `canonical_text` does, as an Arrow array with the chunks of the values."""
    if isinstance(array, pa.ChunkedArray):
        chunks = array.chunks or [pa.nulls(0, array.type)]
        return pa.chunked_array([_spell_array(chunk, column) for chunk in chunks])
    return _spell_array(array, column)


def _spell_array(array: pa.Array, column: str | None) -> pa.Array:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _spell_array(array.dictionary, column).take(array.indices)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array
    if (
        pa.types.is_null(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_date(kind)
        or pa.types.is_string_view(kind)
    ):
        return array.cast(pa.string())
    if pa.types.is_floating(kind):
        return _float_text(array)
    if pa.types.is_decimal(kind):
        texts = array.cast(pa.string())
        return _one_by_one(array, texts, pc.match_substring(texts, "E"), lambda value: format(value, "f"))
    if pa.types.is_timestamp(kind):
        return _timestamp_text(array)
    where = f"column {column!r}" if column is not None else "a column"
    raise InputError(
        f"{where} holds values of type {kind}, which have no text form: turn it into text, numbers, dates "
        "or booleans first, or drop it"
    )


def _one_by_one(array: pa.Array, texts: pa.Array, which: pa.Array, spell: Callable[[Any], str]) -> pa.Array:
    """Return the texts, with those of `which` spelled by Python."""
    which = pc.fill_null(which, False)
    if not pc.any(which, min_count=0).as_py():
        return texts
    own = pa.array([spell(value) for value in array.filter(which).to_pylist()], pa.string())
    return pc.replace_with_mask(texts, which, own)


def _float_text(array: pa.Array) -> pa.Array:
    if array.type != pa.float64():
        # The shortest spelling at the column's own precision (0.1, not 0.10000000149011612).
        array = array.cast(pa.string()).cast(pa.float64())
    texts = array.cast(pa.string())
    if pc.any(pc.ends_with(texts, ".0"), min_count=0).as_py():
        texts = pc.replace_substring_regex(texts, r"\.0$", "")
    # Arrow's spelling, which needs no loop over values, wherever Python's has the same digits.
    return _one_by_one(array, texts, _is_odd(array), lambda value: repr(value).removesuffix(".0"))


def _is_odd(array: pa.Array) -> pa.Array:
    """Return a mask of numbers that may be written with an exponent, and of -0.0."""
    numbers = array.to_numpy(zero_copy_only=False)
    sizes = np.abs(numbers)
    plain = ((sizes >= 1e-3) & (sizes < 1e9)) | ((sizes == 0) & ~np.signbit(numbers))
    return pc.and_(pa.array(~plain), pc.is_valid(array))


def _timestamp_text(array: pa.Array) -> pa.Array:
    unit, zone = array.type.unit, array.type.tz
    whole = array.cast(pa.timestamp("s", zone), safe=False)
    if unit != "s" and whole.cast(array.type).equals(array):
        array, unit = whole, "s"  # needs no search for zeros
    texts, offset = pc.cast(array, pa.string()), None
    if zone is not None:
        texts = pc.replace_substring_regex(texts, "Z$", "+0000")
        hours, minutes = (pc.utf8_slice_codeunits(texts, *each) for each in ((-5, -2), (-2, None)))
        offset = pc.binary_join_element_wise(hours, minutes, ":")
        texts = pc.utf8_slice_codeunits(texts, 0, -5)
    texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    if unit != "s":
        # Arrow writes fractions of seconds in groups of three digits, which may all be zero.
        texts = pc.replace_substring_regex(texts, r"\.?(?:000)+$", "")
    return texts if offset is None else pc.binary_join_element_wise(texts, offset, "")
