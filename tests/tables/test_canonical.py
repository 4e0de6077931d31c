"""One form for each value, and copies without anything below a missing cell: against plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import InputError
from veil.tables.arrow import dictionary_encoded, used_categories
from veil.tables.canonical import as_type, copied, one_form
from veil.tables.columns import ranks

HIDDEN = 0x7766554433221100
numbers = st.none() | st.sampled_from([0.0, -0.0, 1.5, math.nan])
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "numbers": (pa.float64(), numbers),
    "lists": (pa.list_(pa.float64()), st.none() | st.lists(numbers, max_size=3)),
    "large lists": (pa.large_list(pa.float32()), st.none() | st.lists(numbers, max_size=3)),
    "pairs": (pa.list_(pa.float64(), 2), st.none() | st.lists(numbers, min_size=2, max_size=2)),
    "views": (pa.list_view(pa.float64()), st.none() | st.lists(numbers, max_size=3)),
    "structures": (pa.struct({"a": pa.float64()}), st.none() | st.fixed_dictionaries({"a": numbers})),
    "structures in lists": (
        pa.list_(pa.struct({"a": pa.float64()})),
        st.none() | st.lists(st.none() | st.fixed_dictionaries({"a": numbers}), max_size=2),
    ),
    "maps": (
        pa.map_(pa.string(), pa.float64()),
        st.none() | st.lists(st.tuples(st.sampled_from("ab"), numbers), max_size=2),
    ),
}


def clean(value: Any) -> Any:
    """The slow twin: one zero, and no number that is none."""
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    if isinstance(value, list | tuple):
        return type(value)(map(clean, value))
    return {key: clean(each) for key, each in value.items()} if isinstance(value, dict) else value


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(KINDS)), st.data())
def test_any_values_any_slice(kind: str, data: st.DataObject) -> None:
    made, cells = KINDS[kind]
    values = data.draw(st.lists(cells, max_size=6))
    array = pa.array(values, made)
    start = data.draw(st.integers(0, len(values)))
    chunks = [array, array.slice(start), array.slice(0, start)]
    found = one_form(pa.chunked_array(chunks, made), "x")
    found.validate(full=True)
    assert repr(found.to_pylist()) == repr(clean([*values, *values[start:], *values[:start]]))
    for chunk in found.chunks:
        again = copied(chunk)
        again.validate(full=True)
        assert again.type == chunk.type
        assert repr(again.to_pylist()) == repr(chunk.to_pylist())


@pytest.mark.parametrize("depth", range(4))
def test_nothing_stands_below_a_missing_cell(depth: int) -> None:
    numbers = pa.array([1, HIDDEN])
    shown = pa.array([False, True])
    array: Any = pa.StructArray.from_arrays([numbers], ["a"], mask=shown)
    for _ in range(depth):
        array = pa.StructArray.from_arrays([array], ["b"])
    listed = pa.ListArray.from_arrays(pa.array([0, 2]), array)
    for each in (array, listed, pa.StructArray.from_arrays([listed], ["c"])):
        assert _holds(each)  # the control
        assert not _holds(copied(each))
        assert copied(each).equals(each)


def _holds(array: pa.Array) -> bool:
    return any(
        HIDDEN.to_bytes(8, "little") in each.to_pybytes() for each in array.buffers() if each is not None
    )


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None], pa.string_view()),
        pa.array([b"a", None], pa.binary_view()),
        pa.array([0, None, 86_400_000], pa.int64()).view(pa.date64()),
        pa.array([np.float16(1.5), None], pa.float16()),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([None, None]),
    ],
)
def test_a_type_that_can_be_given_back_is(array: pa.Array) -> None:
    plain = one_form(pa.chunked_array([array]), "x")
    back = as_type(plain, array.type)
    assert back.type == array.type
    assert back.to_pylist() == array.to_pylist()


def test_a_type_that_cannot_be_given_back_stays_plain() -> None:
    array = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16], pa.binary(16)))
    plain = one_form(pa.chunked_array([array]), "x")
    assert as_type(plain, array.type).to_pylist() == ["30303030-3030-3030-3030-303030303030"]


def test_what_cannot_be_taken_apart_is_refused_by_name() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 1]), pa.array([1.0, 1.0])])
    with refused(InputError, "'x'", "sparse_union", "drop it"):
        one_form(pa.chunked_array([union]), "x")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.sampled_from("edcba"), max_size=8), st.randoms(), st.booleans())
def test_categories_do_not_tell_which_rows_came_first(values: list[Any], random: Any, ordered: bool) -> None:
    listed = random.sample("abcde", 5)
    codes = pa.array([None if each is None else listed.index(each) for each in values], pa.int8())
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, listed, ordered=ordered)])
    found = used_categories(column)
    assert found.to_pylist() == values
    used = [each for each in listed if each in values]
    if values:
        assert found.chunk(0).dictionary.to_pylist() == (used if ordered else sorted(used))


def test_short_floats_are_encoded_and_ranked_as_long_ones_are():
    """Arrow encodes none before version 26, and sorts none at all."""
    cells = [np.float16(2.5), None, np.float16(-7), np.float16("inf"), np.float16(2.5)]
    short = pa.chunked_array([pa.array(cells[:3], pa.float16()), pa.array(cells[3:], pa.float16())])
    values, codes = dictionary_encoded(short)
    assert (values.type, values.to_pylist(), codes.tolist()) == (short.type, cells[:4], [0, 1, 2, 3, 0])
    places, missing = ranks(short)
    assert (places.tolist(), missing.tolist()) == ([1, 3, 0, 2, 1], [False, True, False, False, False])
