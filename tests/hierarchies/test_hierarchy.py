from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, OutputError
from veil.hierarchies import Hierarchy

AGE = [
    ["21", "20-29", "*"],
    ["23", "20-29", "*"],
    ["35", "30-39", "*"],
    ["38", "30-39", "*"],
    ["47", "40-49", "*"],
]


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


# ------------------------------------------------------------------------ errors name the value and the row


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


# ------------------------------------------------------------------------ the missing value


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


# ------------------------------------------------------------------------ files


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0;[0,4]\n5;[5,9]\n", [("0", "[0,4]"), ("5", "[5,9]")]),
        ("0;[0,4]\r\n5;[5,9]", [("0", "[0,4]"), ("5", "[5,9]")]),
        ("a,x,*\nb,x,*\n", [("a", "x", "*"), ("b", "x", "*")]),
        ("a\tx, y\nb\tx, y\n", [("a", "x, y"), ("b", "x, y")]),
        ("a|x\n\nb|y\n", [("a", "x"), ("b", "y")]),
        ('"a;1";x\n"b ""2""";x\n', [("a;1", "x"), ('b "2"', "x")]),
        ("a\nb\n", [("a",), ("b",)]),
        ("\ufeffa;*\n", [("a", "*")]),
        (";*\nb;*\n", [("", "*"), ("b", "*")]),
    ],
)
def test_read(tmp_path, text, rows):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    assert h.read(path).to_rows() == rows


def test_read_with_options(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("stadt:land\nKöln:NRW\n".encode("latin-1"))
    made = h.read(path, separator=":", header=True, encoding="latin-1")
    assert made.to_rows() == [("Köln", "NRW")]
    assert made.level_names == ("stadt", "land")
    assert h.file(str(path), ":", True, "latin-1").read() == made


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a;*\n\nb;x;*\n", r"row 3 \(value 'b'\): expected 2 columns as in row 1, found 3"),
        (b"a;x\nb;x\na;y\n", "'x' in row 1 and 'y' in row 3"),
        (b"a;*\nK\xf6ln;*\n", "line 2: byte 0xf6 is not utf-8"),
        (b"a;*\nb\0;*\n", "line 2: the file contains a NUL byte"),
        (b'a;*\n"b;*\n', "line 2"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message) as caught:
        h.read(path)
    assert "bad.csv" in str(caught.value)


def test_file_that_is_not_there(tmp_path):
    with refused(HierarchyError, "nowhere.csv'", "not exist"):
        h.read(tmp_path / "nowhere.csv")
    with refused(HierarchyError, "cannot be read"):
        h.read(tmp_path)


def test_save_and_read_again(tmp_path, build):
    path = tmp_path / "age.csv"
    made = build(Hierarchy.from_rows(AGE), [21, None])
    made.save(path)
    assert path.read_text() == "21;20-29;*\n23;20-29;*\n35;30-39;*\n38;30-39;*\n47;40-49;*\nNULL;NULL;*\n"
    assert h.read(path) == made
    assert [each.name for each in tmp_path.iterdir()] == ["age.csv"]


@pytest.mark.parametrize(
    "text", ["a;b", 'say "a"', "a\nb", "a\rb", "\ufeffa", "a,b", "", " a ", "*", "a\tb|c"]
)
@pytest.mark.parametrize("more", [[], ["*"]])
def test_any_text_survives_saving(tmp_path, text, more):
    made = Hierarchy.from_rows([[text, *more], ["other", *more]])
    made.save(tmp_path / "x.csv")
    assert h.read(tmp_path / "x.csv") == made


def test_save_where_it_cannot(tmp_path):
    with refused(OutputError, "written", "directory", "not exist"):
        Hierarchy.from_rows(AGE).save(tmp_path / "no" / "age.csv")


def test_the_text_null_cannot_be_saved_as_if_it_were_missing(tmp_path, build):
    with refused(HierarchyError, "'Null'", "cannot be saved"):
        build(h.suppression(), ["Null", "a"]).save(tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------ against brute force


@st.composite
def trees(draw: st.DrawFn) -> list[list[str | None]]:
    """Tables that are trees: random parents, level by level, in random row order."""
    words = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=4)
    level: list[str | None] = draw(st.lists(words.filter(lambda text: text.casefold() != "null"), min_size=1,
                                            max_size=12, unique=True))  # fmt: skip
    if draw(st.booleans()):
        level[0] = None
    rows: dict[str | None, list[str | None]] = {value: [value] for value in level}
    for _ in range(draw(st.integers(0, 4))):
        above = {label: f"g{draw(st.integers(0, len(level) - 1))}" for label in level}
        for row in rows.values():
            row.append(above[row[-1]])
        level = list(dict.fromkeys(above.values()))
    return draw(st.permutations(list(rows.values())))


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


@given(trees())
def test_saved_hierarchies_load_equal(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("saved") / "h.csv"
    made = Hierarchy.from_rows(rows)
    made.save(path)
    assert Hierarchy.read(path) == made


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
