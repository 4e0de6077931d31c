"""The canonical text of a typed value: how a value is spelled in hierarchies, labels and reports.

Two different values of one column never share a spelling, so that a text identifies its value. That is
why the zero after the point of a decimal stays, and why the rare float ``-0.0`` is spelled ``-0``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError, PlanError
from veil.tables.forms import widened

# What Arrow renders beyond whole seconds, in groups of three digits that may all be zero.
_ZERO_GROUPS = re.compile(r"\.?(?:000)+$")
_OFFSET = re.compile(r"([+-]\d\d)(\d\d)$")


def sorted_places(
    values: pa.Array, order: Sequence[str] | None = None, column: str | None = None
) -> NDArray[np.int64]:
    """Return where the values stand that are first, second, and so on; missing ones are last.

    They are in the order of their type, or in one that spells all of them. If it does not, a `PlanError` names `column`.

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


def canonical_text(array: pa.Array | pa.ChunkedArray, *, column: str | None = None) -> list[str | None]:
    """Spell every value of an array as text; a missing value stays ``None``.

    Integers are plain digits; floats their shortest exact spelling, without ``.0``; booleans ``true`` and
    ``false``; dates and timestamps ISO 8601 (with the offset, where there is a time zone); decimals plain
    digits with all their places; strings themselves. Dictionary-encoded values are spelled like the
    values they stand for. Any other type raises an `InputError`, which names `column` if it is given.

    >>> import pyarrow as pa
    >>> canonical_text(pa.array([42, None]))
    ['42', None]
    >>> canonical_text(pa.array([4.0, 4.5]))
    ['4', '4.5']
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _dictionary_text(array, column)
    if pa.types.is_null(kind):
        return [None] * len(array)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind):
        return _to_list(array.cast(pa.string()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _to_list(array)
    if pa.types.is_floating(kind):
        return _float_text(array)
    if pa.types.is_decimal(kind):
        return [None if value is None else format(value, "f") for value in array.to_pylist()]
    if pa.types.is_timestamp(kind):
        return _timestamp_text(array)
    where = f"column {column!r}" if column is not None else "a column"
    raise InputError(
        f"{where} holds values of type {kind}, which have no text form: turn it into text, numbers, dates "
        "or booleans first, or drop it"
    )


def _to_list(array: pa.Array | pa.ChunkedArray) -> list[str | None]:
    values: list[str | None] = array.to_pylist()
    return values


def _dictionary_text(array: pa.Array | pa.ChunkedArray, column: str | None) -> list[str | None]:
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    texts: list[str | None] = []
    for chunk in chunks:
        spelled = canonical_text(chunk.dictionary, column=column)
        texts += [None if index is None else spelled[index] for index in chunk.indices.to_pylist()]
    return texts


def _float_text(array: pa.Array | pa.ChunkedArray) -> list[str | None]:
    if array.type != pa.float64():
        # The shortest spelling at the column's own precision (0.1, not 0.10000000149011612).
        array = array.cast(pa.string()).cast(pa.float64())
    if _is_plain(array):
        # Where Arrow and Python write the same digits, the one without a loop over values.
        return _to_list(pc.replace_substring_regex(array.cast(pa.string()), r"\.0$", ""))
    return [None if value is None else repr(value).removesuffix(".0") for value in array.to_pylist()]


def _is_plain(array: pa.Array | pa.ChunkedArray) -> bool:
    """Whether all numbers are zero, or of a size that nobody writes with an exponent."""
    values = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    numbers = pc.drop_null(values).to_numpy(zero_copy_only=False)
    sizes = np.abs(numbers)
    return bool(np.all(((sizes >= 1e-3) & (sizes < 1e9)) | ((sizes == 0) & ~np.signbit(numbers))))


def _timestamp_text(array: pa.Array | pa.ChunkedArray) -> list[str | None]:
    zone = array.type.tz
    if zone is None:
        spelled = pc.replace_substring(pc.cast(array, pa.string()), " ", "T", max_replacements=1)
        return _to_list(pc.replace_substring_regex(spelled, r"\.?(?:000)+$", ""))
    texts: list[str | None] = []
    for text in pc.cast(array, pa.string()).to_pylist():
        if text is None:
            texts.append(None)
            continue
        bare = text.removesuffix("Z")
        found = _OFFSET.search(bare)
        offset = f"{found[1]}:{found[2]}" if found else "+00:00"
        text = bare[: found.start()] if found else bare
        if "." in text:
            text = _ZERO_GROUPS.sub("", text)
        texts.append(text.replace(" ", "T", 1) + offset)
    return texts
