"""Memory beside the cells, of every kind of array: as it comes clean, with other rows, and with values below blank cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veil.verification.memory import hidden_in, unused_in

OTHERS, BELOW, UNUSED = "the memory of other rows", "values below blank cells", "categories that no cell has"
LONG = "a text of more than twelve letters"


def made(
    kind: pa.DataType, length: int, *buffers: bytes | None, children: list[pa.Array] | None = None
) -> Any:
    """An array of these very bytes."""
    given = [None if each is None else pa.py_buffer(each) for each in buffers]
    return pa.Array.from_buffers(kind, length, given, children=children)


def integers(*numbers: int, wide: str = "i4") -> bytes:
    return np.array(numbers, wide).tobytes()


def view(text: bytes, place: int = 0, buffer: int = 0) -> bytes:
    """How a text stands in an array of views."""
    if len(text) <= 12:
        return integers(len(text)) + text.ljust(12, b"\0")
    return integers(len(text)) + text[:4] + integers(buffer, place)


CLEAN = [
    pa.array([1, 2, None]),
    pa.array([1, None, 3], pa.int8()),
    pa.array([0.5, None]),
    pa.array([None, b"abc"], pa.binary(3)),
    pa.array([True, None, False]),
    pa.array([True] * 8),
    pa.array([True] * 9),
    pa.array(["a", None, LONG, ""]),
    pa.array([None, "a"], pa.large_string()),
    pa.array([b"a", None]),
    pa.array([None, b"a"], pa.large_binary()),
    pa.array(["a", None, LONG, LONG, ""], pa.string_view()),
    pa.array([], pa.string_view()),
    pa.array([], pa.string()),
    made(pa.string(), 0, None, b"", b""),
    pa.nulls(3),
    pa.array(["a", None, "b", "a"]).dictionary_encode(),
    pa.array([{"x": 1, "y": "a"}, {"x": None, "y": None}]),
    pa.array([{"x": 1}, None]),
    pa.array([[1, 2], None, []]),
    pa.array([[1], None], pa.large_list(pa.int64())),
    pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
    pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    pa.array([b"0" * 16, None], pa.binary(16)).cast(pa.uuid()),
]


@pytest.mark.parametrize("array", CLEAN, ids=lambda each: str(each.type))
def test_what_is_clean(array: Any) -> None:
    assert hidden_in(array) is None
    assert hidden_in(pa.chunked_array([array, array])) is None


@pytest.mark.parametrize("array", [each for each in CLEAN if len(each) > 1], ids=lambda each: str(each.type))
def test_windows_on_other_rows(array: Any) -> None:
    if pa.types.is_null(array.type):
        return
    assert hidden_in(array.slice(1)) == OTHERS
    assert hidden_in(pa.chunked_array([array, array.slice(1)])) == OTHERS  # in any chunk, not the first alone


OF_OTHERS = {
    "numbers": made(pa.int32(), 1, None, integers(1, 7)),
    "validity": made(pa.int32(), 1, b"\x03", integers(1)),
    "validity after whole bytes": made(pa.int32(), 8, b"\xfe\x01", integers(0, *range(7))),
    "truths": made(pa.bool_(), 3, None, b"\x0f"),
    "truths after whole bytes": made(pa.bool_(), 8, None, b"\xff\x01"),
    "fixed binary": made(pa.binary(2), 1, None, b"abcd"),
    "texts after the last": made(pa.string(), 1, None, integers(0, 1), b"ab"),
    "texts before the first": made(pa.string(), 1, None, integers(1, 2), b"ab"),
    "texts of no row": made(pa.string(), 0, None, b"", b"a"),
    "offsets": made(pa.string(), 1, None, integers(0, 1, 1), b"a"),
    "long offsets": made(pa.large_string(), 1, None, integers(0, 1, 1, wide="i8"), b"a"),
    "large binary": made(pa.large_binary(), 1, None, integers(0, 1, wide="i8"), b"ab"),
    "views": made(pa.string_view(), 1, None, view(b"a") + view(b"b")),
    "long texts after": made(pa.string_view(), 1, None, view(LONG.encode()), LONG.encode() + b"x"),
    "long texts before": made(pa.string_view(), 1, None, view(LONG.encode(), 1), b"x" + LONG.encode()),
    "beside a short text": made(
        pa.string_view(), 2, None, view(b"a") + view(LONG.encode(), 1), b"x" + LONG.encode()
    ),
    "a buffer of no view": made(pa.string_view(), 1, None, view(b"a"), LONG.encode()),
    "a second buffer": made(
        pa.string_view(), 2, None, view(LONG.encode()) + view(LONG.encode(), 0, 1), LONG.encode(), LONG.encode() + b"x"
    ),
    "lists after the last": made(pa.list_(pa.int32()), 1, None, integers(0, 1), children=[pa.array([1, 2], pa.int32())]),
    "lists before the first": made(
        pa.list_(pa.int32()), 1, None, integers(1, 2), children=[pa.array([1, 2], pa.int32())]
    ),
    "in a struct": pa.StructArray.from_arrays([made(pa.int32(), 1, None, integers(1, 7))], ["x"]),
    "in a list": made(
        pa.list_(pa.int32()), 1, None, integers(0, 1), children=[made(pa.int32(), 1, None, integers(1, 7))]
    ),
    "in categories": pa.DictionaryArray.from_arrays(
        pa.array([0], pa.int8()), made(pa.string(), 1, None, integers(0, 1), b"ab")
    ),
    "much room": made(pa.int32(), 1, None, integers(1) + bytes(64)),
}  # fmt: skip


@pytest.mark.parametrize("array", OF_OTHERS.values(), ids=OF_OTHERS)
def test_memory_of_other_rows(array: Any) -> None:
    assert hidden_in(array) == OTHERS


def test_room_that_arrow_adds_is_none_of_others() -> None:
    assert hidden_in(made(pa.int32(), 1, None, integers(1) + bytes(63))) is None
    assert hidden_in(made(pa.bool_(), 8, None, b"\xff" + bytes(63))) is None
    assert hidden_in(made(pa.bool_(), 7, None, b"\x7f" + bytes(63))) is None


BELOW_BLANKS = {
    "numbers": made(pa.int32(), 2, b"\x01", integers(1, 7)),
    "wide numbers": made(pa.decimal128(9, 2), 2, b"\x02", integers(7, 0, 0, 0, 1, 0, 0, 0)),
    "truths": made(pa.bool_(), 2, b"\x01", b"\x03"),
    "texts": made(pa.string(), 2, b"\x01", integers(0, 1, 2), b"ab"),
    "long offsets": made(pa.large_string(), 2, b"\x02", integers(0, 1, 2, wide="i8"), b"ab"),
    "views": made(pa.string_view(), 2, b"\x01", view(b"a") + view(b"b")),
    "lists": made(pa.list_(pa.int32()), 2, b"\x01", integers(0, 1, 2), children=[pa.array([1, 2], pa.int32())]),
    "fixed lists": made(
        pa.list_(pa.int32(), 2), 2, b"\x01", children=[pa.array([1, 2, 0, 4], pa.int32())]
    ),
    "structs": made(pa.struct({"x": pa.int32()}), 2, b"\x01", children=[pa.array([1, 2], pa.int32())]),
    "structs of views": made(
        pa.struct({"x": pa.string_view()}), 2, b"\x01", children=[pa.array(["a", "b"], pa.string_view())]
    ),
    "structs of structs": made(
        pa.struct({"y": pa.int8(), "x": pa.struct({"z": pa.int32()})}),
        2,
        b"\x01",
        children=[pa.array([1, None], pa.int8()), pa.array([{"z": 1}, {"z": 2}], pa.struct({"z": pa.int32()}))],
    ),
    "structs of lists": made(
        pa.struct({"x": pa.list_(pa.int32())}), 2, b"\x01", children=[pa.array([[1], [2]], pa.list_(pa.int32()))]
    ),
    "in a struct": pa.StructArray.from_arrays([made(pa.int32(), 2, b"\x01", integers(1, 7))], ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("array", BELOW_BLANKS.values(), ids=BELOW_BLANKS)
def test_values_below_blank_cells(array: Any) -> None:
    assert hidden_in(array) == BELOW


def test_views_of_cells_that_stand_one_after_the_other() -> None:
    """How texts become views without being copied: short ones stand between the long ones in the buffer."""
    cells = pa.array([LONG, "short", LONG])
    viewed = cells.cast(pa.string_view())
    assert hidden_in(viewed) is None
    assert hidden_in(viewed, pa.chunked_array([cells])) is None
    text = LONG.encode()
    apart = made(pa.string_view(), 2, None, view(text) + view(text, len(text) + 5), text + b"other" + text)
    assert hidden_in(apart) == OTHERS


@pytest.mark.parametrize("before", ["", "short"], ids=["from the long one on", "short ones before it too"])
def test_views_of_cells_after_short_ones(before: str) -> None:
    """Where the buffer begins is a matter of the library: with the first long text, or with the texts before it."""
    texts = ["short", LONG, "x", LONG]
    buffer = (before + LONG + "x" + LONG).encode()
    first, second = len(before), len(before) + len(LONG) + 1
    views = view(b"short") + view(LONG.encode(), first) + view(b"x") + view(LONG.encode(), second)
    assert hidden_in(made(pa.string_view(), 4, None, views, buffer)) is None
    assert hidden_in(made(pa.string_view(), 4, None, views, buffer), pa.chunked_array([texts])) is None


@pytest.mark.parametrize(("start", "length"), [(0, 3), (1, 3), (1, 2)])
def test_views_into_the_memory_of_a_longer_column(start: int, length: int) -> None:
    """The verified cells may be a part of a larger array; a frame that shares its memory holds the other rows."""
    texts = [LONG, "x", LONG, "rest of them"]
    cells, part = pa.array(texts), texts[start : start + length]
    places = [sum(map(len, texts[: start + number])) for number in range(length)]
    views = b"".join(view(text.encode(), place) for text, place in zip(part, places, strict=True))
    shared = made(pa.string_view(), length, None, views, "".join(texts).encode())
    assert hidden_in(shared, pa.chunked_array([cells.slice(start, length)])) == OTHERS


CATEGORIES = {
    "unused": pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["a", "b"])),
    "missing": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", None])),
    "twice": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", "a"])),
}


@pytest.mark.parametrize("array", CATEGORIES.values(), ids=CATEGORIES)
def test_categories_that_no_cell_has(array: pa.DictionaryArray) -> None:
    clean = pa.array(["a", "b"]).dictionary_encode()
    assert hidden_in(array) == UNUSED
    assert unused_in(pa.chunked_array([clean, array])) == UNUSED
    assert unused_in(pa.chunked_array([clean, clean])) is None


def test_what_cannot_be_looked_through_is_said() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"]))
    assert "run_end_encoded" in str(hidden_in(runs))
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    assert "looked through" in str(hidden_in(union))
