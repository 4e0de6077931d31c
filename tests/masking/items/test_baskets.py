"""Sets of items, from whatever form they come in."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from support import items as twin
from support.refusals import refused
from veil.errors import InputError
from veil.masking.items.baskets import Baskets


def sets_of(column: Any, separator: str = ",") -> list[list[Any]]:
    found = Baskets.of_column(pa.chunked_array([column]), "items", separator)
    items = found.items.to_pylist()
    bounds = found.starts[found.set_of], found.starts[found.set_of + 1]
    return [[items[code] for code in found.codes[a:b]] for a, b in zip(*bounds, strict=True)]


@twin.examples(50)
@given(st.lists(st.none() | st.lists(st.none() | st.sampled_from("cab")), min_size=1))
def test_lists_and_text_give_the_same_sets(lists: list[list[str | None] | None]) -> None:
    expected = [sorted({item for item in each or [] if item is not None}) for each in lists]
    assert sets_of(pa.array(lists, pa.list_(pa.string()))) == expected
    assert sets_of(pa.array(lists, pa.large_list(pa.dictionary(pa.int8(), pa.string())))) == expected
    texts = [None if each is None else "; ".join(item or "" for item in each) for each in lists]
    assert sets_of(pa.array(texts, pa.string()), "; ") == expected


def test_items_of_any_type_are_sorted_by_value() -> None:
    assert sets_of(pa.array([[10, 9, 10], [2]])) == [[9, 10], [2]]
    assert sets_of(pa.array([[True, False], [False]])) == [[False, True], [False]]
    assert sets_of(pa.array([[0.0, -0.0, 1.5]])) == [[0.0, 1.5]]
    assert sets_of(pa.array([[2, 1], None], pa.list_(pa.int64(), 2))) == [[1, 2], []]


def test_equal_sets_are_one() -> None:
    found = Baskets.of_column(pa.chunked_array([["b,a", "a,b", "", None, "a"]]), "items", ",")
    assert found.set_of.tolist() == [0, 0, 1, 1, 2]


def test_what_holds_no_sets_is_refused() -> None:
    with refused(InputError, "'items'", "sets of items"):
        sets_of(pa.array([[[1]]]))
