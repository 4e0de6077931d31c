"""What is odd about a table is told; what is not odd is not talked about."""

from __future__ import annotations

import pyarrow as pa
import pytest

from veil import hierarchies as h
from veil.hierarchies.notes import notes
from veil.tables import Csv

AGES = [str(age) for age in range(20, 40)]


def told(values: list[str | None], hierarchy: object = None, **format: object) -> list[str]:
    """Notes about one column."""
    return list(notes(pa.table({"x": values}), {"x": hierarchy or h.auto()}, Csv(**format)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values",
    [
        ["f", "m", None],
        ["8010", "8020", "A-1", "Graz", "Linz"],  # as many words as numbers
        ["", "12", "13"],
        ["1.5", "2,5"],
        [None],
    ],
)
def test_nothing_odd(values: list[str | None]) -> None:
    assert told(values) == []


def test_other_columns_are_not_looked_at() -> None:
    table = pa.table({"x": ["f", "F"], "age": [1, 2]})
    assert list(notes(table, {"age": h.auto(), "gone": h.auto()}, None)) == []


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["f", "m", "F"], "column 'x': 'F' and 'f' differ only in case or blanks, and count as different values"),
        (["New  York", "new york"], "column 'x': 'New  York' and 'new york' differ only in case or blanks, and"),
        (["f", " f", "F", "m", "M"], "column 'x': ' f' and 'F' and 'f' differ only in case or blanks, as do other values, and"),
        ([" 23", "24", "25 "], "column 'x' is read as text because of blanks around its numbers, such as ' 23'"),
        (["12", "13", *"abcd"], "column 'x' is text without a known structure: rare values are suppressed first"),
        ([f"{day}.12.20" for day in range(11, 20)], "column 'x' holds dates whose form is not clear (99.99.99)"),
        ([f"{day}.12.2020" for day in range(11, 20)] + ["12/10/2020", "1/2/2020"], "column 'x' holds dates in several forms"),
        ([*AGES, "?"], "column 'x' is read as text because '?' is not a number. If that means missing: --format '"),
        ([*AGES, "?", "n/a"], "column 'x' is read as text because '?' and 'n/a' are not numbers."),
        ([*AGES, "1,2,3"], "column 'x' is read as text because '1,2,3' is not a number. Make it a missing value, or correct"),
    ],
)  # fmt: skip
def test_odd_texts(values: list[str | None], note: str) -> None:
    (found,) = told(values)
    assert found.startswith(note)


def test_what_is_meant_as_text_may_hold_other_texts_than_numbers() -> None:
    assert told([*AGES, "?"], h.redaction()) == []
