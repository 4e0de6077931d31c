"""Numbers read all at once, and as one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.hierarchies._axis import _any_numbers, _plain_numbers


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=4), max_size=20))
def test_digits_are_read_as_one_by_one(values: list[Any]) -> None:
    for texts in ([str(each) for each in values], [format(each, "f") for each in values]):
        quick = _plain_numbers(texts)
        if texts and quick is not None:
            assert quick == _any_numbers(texts, "x")


@pytest.mark.parametrize("text", ["1e5", " 1", "1.", ".5", "1,5", "1" * 1001, "NaN", "1.5.5", "--1"])
def test_what_is_not_plain_is_left_to_the_slow_way(text: str) -> None:
    assert _plain_numbers(["1.5", text]) is None


def test_long_numbers_are_read_exactly() -> None:
    texts = ["1.5", "1" * 19, f"-{'9' * 400}.25"]
    assert _plain_numbers(texts) == _any_numbers(texts, "x")
