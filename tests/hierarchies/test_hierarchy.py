from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hierarchies import AGE, trees
from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError
from veil.hierarchies import Hierarchy


def test_compiled_form_of_the_reference_example():
    age = Hierarchy.from_rows(AGE)
    assert age.height == 2
    assert age.size == 5
    assert age.labels == (("21", "23", "35", "38", "47"), ("20-29", "30-39", "40-49"), ("*",))
    assert [each.tolist() for each in age.maps] == [[0, 0, 1, 1, 2], [0, 0, 0]]
    assert [each.tolist() for each in age.rows] == [[1] * 5, [2, 2, 1], [5]]
    assert [each.tolist() for each in age.shares] == [[0.2] * 5, [0.4, 0.4, 0.2], [1.0]]
    assert age.domain_size == 5
    assert age.level_names == ("level 0", "level 1", "level 2")
    assert [age.label_map(level).tolist() for level in range(3)] == [list(range(5)), [0, 0, 1, 1, 2], [0] * 5]
    assert {each.dtype for each in age.maps} == {np.dtype(np.int32)}
    assert {each.dtype for each in age.rows} == {np.dtype(np.int64)}
    assert {each.dtype for each in age.shares} == {np.dtype(np.float64)}


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        Hierarchy.from_rows(AGE).maps[0][0] = 1


def test_repr_is_short():
    assert repr(Hierarchy.from_rows(AGE)) == "Hierarchy(5 values, levels 5 → 3 → 1)"


def test_a_root_is_not_forced():
    assert Hierarchy.from_rows([["a", "x"], ["b", "y"]]).labels[-1] == ("x", "y")


def test_one_label_can_have_a_different_share_on_each_level():
    made = Hierarchy.from_rows([["a", "a", "*"], ["b", "*", "*"]])
    assert made.shares[1].tolist() == [0.5, 0.5]
    assert made.shares[2].tolist() == [1.0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], pa.int64()),
        ([1, 2, 3], pa.int8()),
        ([1.0, 2.0, 3.0], pa.float64()),
        (["1", "2", "3"], pa.string()),
        (["1", "2", "3"], pa.large_string()),
        (["1", "2", "3"], pa.dictionary(pa.int32(), pa.string())),
    ],
)
def test_keys_match_values_of_any_type(values, kind):
    table = h.table([[1, "*"], [2, "*"], [3, "*"]])
    assert table.encode(pa.array(values, kind)[::-1], "x").tolist() == [2, 1, 0]


def test_tables_from_frames():
    import pandas as pd
    import polars as pl

    columns = {"age": [21, 35], "decade": ["20-29", "30-39"], "all": ["*", "*"]}
    made = [h.table(pd.DataFrame(columns)), h.table(pl.DataFrame(columns)), h.table(pa.table(columns))]
    assert made[0] == made[1] == made[2] == h.table([["21", "20-29", "*"], ["35", "30-39", "*"]])
    assert made[0].level_names == ("age", "decade", "all")


def refuses(rows: list[list[str]], *fragments: str, **options: object) -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_rows(rows, **options)  # type: ignore[arg-type]
    for fragment in fragments:
        assert fragment in str(caught.value), caught.value


def test_ragged_rows():
    refuses([["a", "x"], ["b", "x", "*"]], "row 2", "'b'", "expected 2 columns", "found 3")
    refuses([["a", "x"], []], "row 2", "found 0")


def test_empty():
    refuses([], "empty")
    refuses([[]], "empty")


def test_a_row_that_is_text():
    refuses(["ab", "cd"], "row 1", "'ab'")  # type: ignore[list-item]


def test_one_value_with_two_labels():
    refuses([["a", "x"], ["b", "x"], ["a", "y"]], "'a'", "'x' in row 1", "'y' in row 3")
    refuses([["a", "x", "1"], ["a", "x", "2"]], "listed twice", "level 2", "row 1", "row 2")


def test_not_a_tree():
    refuses(
        [["a", "x", "1"], ["b", "x", "2"]],
        "not a tree", "'x' of level 1", "'1' (row 1, value 'a')", "'2' (row 2, value 'b')", "level 2",
    )  # fmt: skip


def test_a_repeated_row_is_accepted_with_a_warning():
    with pytest.warns(UserWarning, match="'99'.*rows 2"):
        made = Hierarchy.from_rows([["98", "*"], ["99", "*"], ["99", "*"]])
    assert made.size == 2
    assert made.rows[1].tolist() == [2]
    # Shares count the rows of the table, as the reference defines them.
    assert made.domain_size == 3
    assert made.shares[0].tolist() == [1 / 3, 2 / 3]
    assert made.shares[1].tolist() == [1.0]
    with pytest.warns(UserWarning, match="listed twice"):
        assert Hierarchy.from_rows(made.to_rows()) == made


@pytest.mark.parametrize("word", ["NULL", "null", "Null", None])
def test_missing_value_can_be_listed(word):
    made = Hierarchy.from_rows([["a", "known", "*"], [word, "unknown", "*"]])
    assert made.labels[0] == ("a", None)
    assert made.encode(pa.array([None, "a"]), "x").tolist() == [1, 0]
    assert made.build(pa.array([None, "a"]), np.ones(2), "x") is made


def test_missing_value_not_listed_keeps_to_itself_and_joins_the_root(build):
    made = build(Hierarchy.from_rows(AGE), [21, None])
    assert made.to_rows()[-1] == (None, None, "*")
    assert made.domain_size == 6
    assert made.shares[1].tolist() == pytest.approx([2 / 6, 2 / 6, 1 / 6, 1 / 6])
    assert made.shares[2].tolist() == [1.0]
    assert Hierarchy.from_rows(made.to_rows()) == made


def test_missing_value_not_listed_without_root_stays_missing(build):
    made = build(Hierarchy.from_rows([["a", "x"], ["b", "y"]]), ["a", None])
    assert made.to_rows()[-1] == (None, None)
    assert build(Hierarchy.from_rows([["a"]]), ["a", None]).labels == (("a", None),)


def test_missing_value_meets_a_label_that_is_called_null(build):
    made = build(Hierarchy.from_rows([["b", "x", "found"], ["a", "NULL", "lost"]]), ["a", None])
    assert made.to_rows() == [("b", "x", "found"), ("a", None, "lost"), (None, None, "lost")]
    assert [each.tolist() for each in made.rows] == [[1, 1, 1], [1, 2], [1, 2]]


def test_missing_value_keeps_the_shares_that_were_asked_for(build):
    made = build(h.redaction(alphabet=10), ["11", "12", None])
    assert made.domain_size == 100
    assert made.shares[0].tolist() == [0.01] * 3
    assert made.shares[1].tolist() == pytest.approx([0.1, 0.01])
    assert made.shares[2].tolist() == [1.0]


@given(trees())
def test_compiled_form_agrees_with_counting(rows):
    made = Hierarchy.from_rows(rows)
    assert [list(row) for row in made.to_rows()] == rows
    assert Hierarchy.from_rows(made.to_rows()) == made
    assert Hierarchy.from_frame(made.to_frame()) == made
    for level in range(made.height + 1):
        column = [row[level] for row in rows]
        assert list(made.labels[level]) == list(dict.fromkeys(column))
        for code, label in enumerate(made.labels[level]):
            assert made.rows[level][code] == column.count(label)
            assert made.shares[level][code] == column.count(label) / len(rows)
        assert [made.labels[level][code] for code in made.label_map(level)] == column
    for level, map_ in enumerate(made.maps):
        for code, parent in enumerate(map_):
            pairs = {(row[level], row[level + 1]) for row in rows}
            assert (made.labels[level][code], made.labels[level + 1][parent]) in pairs


@given(trees(), st.data())
def test_any_torn_tree_is_refused_with_its_rows(rows, data):
    """Give one row another parent where its label has a second row: always noticed, always located."""
    places = [
        (at, level)
        for at, row in enumerate(rows)
        for level in range(1, len(row) - 1)
        if sum(other[level] == row[level] for other in rows) > 1
    ]
    if not places:
        return
    at, level = data.draw(st.sampled_from(places))
    torn = [list(row) for row in rows]
    torn[at][level + 1] = "elsewhere"
    for above in range(level + 2, len(torn[at])):
        torn[at][above] = "elsewhere"
    with refused(HierarchyError, "not a tree") as caught:
        Hierarchy.from_rows(torn)
    named = {int(number) for number in re.findall(r"row (\d+)", str(caught.value))}
    assert len(named) == 2


def test_large_tables_compile_quickly():
    rows = [[f"{value:05}", f"{value:05}"[:3], f"{value:05}"[:1], "*"] for value in range(13_000)]
    made = Hierarchy.from_rows(rows)
    assert [len(level) for level in made.labels] == [13_000, 130, 2, 1]
