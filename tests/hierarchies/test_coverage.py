"""Values that a hierarchy does not cover."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from support.hierarchies import AGE
from veil.errors import HierarchyError
from veil.hierarchies import Hierarchy


def uncovered(table: Hierarchy, values: list[object]) -> str:
    with pytest.raises(HierarchyError) as caught:
        table.build(pa.array(values), np.ones(len(values)), "age")
    return str(caught.value)


def test_uncovered_values_are_named():
    message = uncovered(Hierarchy.from_rows(AGE), [21, 101, 102, 103, 104, 105, 106])
    assert "column 'age'" in message
    assert "6 of its" in message
    assert "7 distinct" in message
    assert "'101', '102'" in message
    assert "1 more" in message
    assert "Add a row" in message


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("42.0", 42, "lists '42.0', the data has '42'"),
        (" 42", 42, "differ only in spaces"),
        ("042", 42, "lists '042', the data has '42'"),
        ("male", "Male", "differ only in letter case"),
        ("NULL", "NULL", "stands for the missing value"),
    ],
)
def test_near_misses_are_pointed_out(key, value, hint):
    assert hint in uncovered(Hierarchy.from_rows([[key, "*"]]), [value])
