"""Neighbouring stretches of rows, gathered in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veil.engines.dialects.spans import Span, gather_spans


@given(st.lists(st.integers(0, 20)), st.integers(1, 30))
def test_neighbours_are_gathered_in_order_and_none_is_lost(sizes: list[int], rows: int) -> None:
    spans = [Span(number, size) for number, size in enumerate(sizes)]
    groups = list(gather_spans(spans, rows))
    assert [span for group in groups for span in group] == spans
    for group in groups:
        assert len(group) == 1 or sum(span.rows for span in group) <= rows
