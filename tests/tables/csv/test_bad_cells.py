"""Cells that keep a column from being numbers or dates."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from veil.tables import find_mistakes


@given(st.lists(st.sampled_from(["1", "22", " 3 ", "n/a", "?", None, ""]), min_size=1, max_size=40))
def test_exactly_the_cells_that_are_no_numbers_are_counted_if_they_are_few(cells):
    known = [each for each in cells if each is not None and each.strip()]
    odd = [each for each in known if not each.strip().isdigit()]
    found = find_mistakes(pa.table({"age": pa.array(cells, pa.string())}))
    if not odd or len(odd) > 0.2 * len(known):
        assert found == ()
        return
    (told,) = found
    assert (told.column, told.type, told.cells) == ("age", "integer", len(odd))
    assert set(told.texts) == set(odd)
    assert [cells[row - 1] for row in told.rows] == odd[:3]


def test_decimals_dates_and_plain_text():
    table = pa.table(
        {
            "cost": ["1.5", "2", "3.25", "4", "5", "free"],
            "day": ["2020-01-01", "2020-01-02", "2020-02-01", "2021-01-01", "2020-05-05", "soon"],
            "name": ["Ada", "Bob", "7", "Cy", "Di", "Ed"],
            "age": [1, 2, 3, 4, 5, 6],
        }
    )
    assert [(each.column, each.type) for each in find_mistakes(table)] == [
        ("cost", "decimal"),
        ("day", "date"),
    ]
