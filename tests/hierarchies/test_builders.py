"""What holds for every builder, and the particulars of the smaller ones."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, ParameterError
from veil.hierarchies import AnyBuilder, Builds, Group, Hierarchy, LabelFunction

NUMBERS = st.lists(st.integers(-500, 500), min_size=1, max_size=40, unique=True)
DECIMALS = st.lists(
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3) + 0.0), min_size=1, max_size=40, unique=True
)
TEXTS = st.lists(st.text("ab0189 -é", max_size=5), min_size=1, max_size=40, unique=True)
DATES = st.lists(st.dates(date(1900, 1, 1), date(2100, 1, 1)), min_size=1, max_size=40, unique=True)
TIMES = st.lists(
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), min_size=1, max_size=40, unique=True
)

ANY = [
    h.suppression(),
    h.identity(),
    h.ordering(2, 3),
    h.ordering([1, 2], [2, 2], label="interval"),
    h.ordering(3, order="data", label=LabelFunction("prefix", fill="*")),
    h.redaction(),
    h.redaction(align="right", start="left", padding="_"),
    h.priority(),
    h.priority(order="natural", first="lowest", levels=4),
    h.priority(priorities={"a": 3, 1: 2}),
    h.auto(),
    h.auto(few=1),
    h.categories({"some": ["a", "b", 1]}, other="others"),
]
FOR_NUMBERS = [h.intervals(5, 10, 20), h.intervals(0.25, top=100), h.ordering(4, label="mean")]
FOR_DATES = [
    h.intervals(7, 28),
    h.intervals(timedelta(hours=12), bottom=date(2000, 1, 1)),
    h.dates("day", "week_of_month", "month", "quarter", "year", "decade", "century", "millennium"),
    h.dates("second", "minute", "hour", "day", "week_of_year", "week", weeks="us", root=True),
    h.dates("month", "year", bottom=date(1980, 5, 17), top=datetime(2020, 2, 29, 12)),
    h.dates("week_of_year", "year", style="arx", weeks="us"),
    h.dates("day", "weekday"),
    h.dates("month", "quarter_of_year"),
]


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(["number", "decimal", "text", "date", "time", "bool"]))
    strategy = {
        "number": NUMBERS, "decimal": DECIMALS, "text": TEXTS, "date": DATES, "time": TIMES,
        "bool": st.just([False, True]),
    }[kind]  # fmt: skip
    more = {"number": FOR_NUMBERS, "decimal": FOR_NUMBERS, "date": FOR_DATES, "time": FOR_DATES}.get(kind, [])
    values = draw(strategy)
    if draw(st.booleans()):
        values.insert(draw(st.integers(0, len(values))), None)
    counts = draw(st.lists(st.integers(1, 9), min_size=len(values), max_size=len(values)))
    return draw(st.sampled_from(ANY + more)), values, counts


@given(cases())
def test_every_builder_yields_a_tree_that_covers_all_values(build, case):
    builder, values, counts = case
    made = build(builder, values, counts)
    array = pa.array(values)
    codes = made.encode(array, "x")
    assert sorted(set(codes)) == sorted(codes)
    # Levels coarsen, and each is a function of the one below.
    sizes = [len(level) for level in made.labels]
    assert sizes == sorted(sizes, reverse=True)
    assert all(len(set(level)) == len(level) for level in made.labels)
    assert all(len(map_) == size for map_, size in zip(made.maps, sizes[:-1], strict=True))
    # Rows and shares are what counting says.
    rows = made.to_rows()
    for level, names in enumerate(made.labels):
        column = [row[level] for row in rows]
        assert made.rows[level].tolist() == [column.count(name) for name in names]
        assert made.shares[level].tolist() == [column.count(name) / len(rows) for name in names]
    # A table and the builder that made it are the same.
    if not any(name is not None and name.casefold() == "null" for level in made.labels for name in level):
        assert Hierarchy.from_rows(rows) == made
    given = made.build(array, np.array(counts), "x")
    assert given == made
    assert given.naming is None  # whoever hands it over, knows its labels


@given(cases())
def test_the_order_of_the_values_does_not_matter(build, case):
    builder, values, counts = case
    if getattr(builder, "order", "") == "data" or builder.kind == "categories":
        return
    assert build(builder, values, counts) == build(builder, values[::-1], counts[::-1])


@pytest.mark.parametrize("builder", [*ANY, h.intervals(5), h.dates("year")], ids=lambda each: each.kind)
def test_a_column_of_missing_values(builder):
    made = builder.build(pa.nulls(1, pa.int64()), np.array([7]), "x")
    assert None in made.labels[0]
    assert made.encode(pa.nulls(1), "x").shape == (1,)


@pytest.mark.parametrize("builder", [*ANY, *FOR_NUMBERS, *FOR_DATES], ids=lambda each: each.kind)
def test_recipes_can_name_every_builder(builder):
    adapter = TypeAdapter(AnyBuilder)
    written = json.loads(adapter.dump_json(builder))
    assert written["kind"] == builder.kind
    assert adapter.validate_python(written) == builder
    assert isinstance(builder, Builds)


def test_recipes_in_short_form():
    adapter = TypeAdapter(AnyBuilder)

    def read(**recipe):
        return adapter.validate_python(recipe)

    assert read(kind="intervals", widths=[5, 10]) == h.intervals(5, 10)
    assert read(kind="intervals", widths=["0.1"]) == h.intervals(0.1)
    assert read(kind="intervals", widths=["P7D"]) == h.intervals(timedelta(7))
    assert read(kind="intervals", listed=[[0, 18, "minor"], [18, 99]], upper={"coding": 99}) == h.intervals(
        listed=[(0, 18, "minor"), (18, 99)], upper=h.Bounds(coding=99)
    )
    assert read(kind="ordering", groups=[2, [2, 3]], label="interval") == h.ordering(
        2, [2, 3], label="interval"
    )
    assert read(kind="dates", units=["month"], top="2020-01-01") == h.dates("month", top=date(2020, 1, 1))
    assert read(kind="categories", tree={"A": {"B": [1, "x"]}}) == h.categories({"A": {"B": [1, "x"]}})
    assert read(kind="file", path="age.csv").separator is None
    assert read(kind="table", rows=[[1, "*"], ["NULL", "*"]]).rows == (("1", "*"), ("NULL", "*"))


def test_the_json_schema_names_every_kind():
    schema = TypeAdapter(AnyBuilder).json_schema()
    assert set(schema["discriminator"]["mapping"]) == {
        "intervals", "ordering", "redaction", "dates", "priority", "categories",
        "suppression", "identity", "auto", "file", "table",
    }  # fmt: skip


def test_file_and_table_check_coverage(tmp_path, build):
    path = tmp_path / "sex.csv"
    path.write_text("f;*\nm;*\n")
    for builder in (h.file(str(path)), h.Table([["f", "*"], ["m", "*"]])):
        assert build(builder, ["f", None]).to_rows() == [("f", "*"), ("m", "*"), (None, "*")]
        with refused(HierarchyError, "'x'", "1 of its 2"):
            build(builder, ["f", "x"])


# ------------------------------------------------------------------------ redaction


def test_redaction_of_postal_codes(build):
    made = build(h.redaction(), ["8010", "8045", "1010"])
    assert made.to_rows()[1] == ("8010", "801*", "80**", "8***", "****")
    assert made.level_names == ("x", "3 characters", "2 characters", "1 character", "0 characters")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: h.redaction(character="**"), "at most 1 character"),
        (lambda: h.redaction(padding=""), "at least 1 character"),
        (lambda: h.redaction(alphabet=1), "greater than or equal to 2, not 1"),
        (lambda: h.redaction(length=5), "along with `alphabet` or `domain`"),
        (lambda: h.redaction(align="middle"), "'left' or 'right', not 'middle'"),
    ],
)
def test_redaction_declarations_that_cannot_work(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_redaction_of_values_longer_than_said(build):
    with refused(HierarchyError, "4 characters", "'8010'", "`length`", "3"):
        build(h.redaction(alphabet=10, length=3), ["8010"])


@given(TEXTS, st.integers(2, 30))
def test_described_shares_grow_from_one_value_to_all(build, texts, alphabet):
    made = build(h.redaction(alphabet=alphabet), texts)
    shares = [float(level[0]) for level in made.shares]
    assert shares[0] == pytest.approx(1 / made.domain_size)
    assert shares[-1] == pytest.approx(1) or made.height == 0
    assert shares == sorted(shares)


# ------------------------------------------------------------------------ ordering and labels


def test_ordering_by_a_given_order(build):
    made = build(h.ordering(2, order=["low", "mid", "high"]), ["high", "low", "mid"])
    assert made.to_rows() == [("low", "{low, mid}", "*"), ("mid", "{low, mid}", "*"), ("high", "{high}", "*")]
    with refused(HierarchyError, "not list 1", "'huge'"):
        build(h.ordering(2, order=["low"]), ["low", "huge"])


def test_ordering_ends_with_a_single_group_but_a_missing_value_needs_a_root(build):
    assert build(h.ordering(2, 2), ["a", "b"]).to_rows()[0] == ("a", "{a, b}")
    assert build(h.ordering(2, 2), ["a", None, "b"]).to_rows()[2] == (None, None, "*")


def test_ordering_sorts_numbers_by_size_and_keeps_data_order_if_asked(build):
    assert build(h.ordering(2), [10, 9, 100]).labels[1] == ("{9, 10}", "{100}")
    # Groups follow the data, the members of a set do not: their order would tell who came first.
    assert build(h.ordering(2, order="data"), [100, 9, 10]).labels[1] == ("{9, 100}", "{10}")


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("set", "{6, 12, 3}"),
        ("interval", "[3, 12]"),
        ("bounds", "[6, 3]"),
        ("mean", "7"),
        ("mean_of_bounds", "4"),
        ("geometric_mean", "6"),
        ("geometric_mean_of_bounds", "4"),
        ("prefixes", "6-1-3"),
        (LabelFunction("prefixes", length=2), "6-12-3"),
        ("prefix", ""),
        (LabelFunction("prefix", fill="#"), "##"),
        (LabelFunction("constant", text="all"), "all"),
    ],
)
def test_label_functions(build, label, expected):
    made = build(h.ordering(3, order=[6, 12, 3], label=label), [3, 6, 12])
    assert made.labels[1] == (expected,)


def test_means_of_other_types(build):
    assert build(h.ordering(2, label="mean"), [0.5, 1.0]).labels[1] == ("0.75",)
    assert build(h.ordering(3, label="mean"), [1.0, 2.0, 2.5]).labels[1] == ("1.8333333333333333",)
    assert build(h.ordering(2, label="mean"), [date(2020, 1, 1), date(2020, 1, 4)]).labels[1] == (
        "2020-01-02",
    )
    assert build(h.ordering(2, label="geometric_mean"), [0.5, 2.0]).labels[1] == ("1",)
    with refused(HierarchyError, "'a'", "'x'", "not a number"):
        build(h.ordering(2, label="mean"), ["a", "b"])
    with refused(HierarchyError, "-1", "geometric", "from 0"):
        build(h.ordering(2, label="geometric_mean"), [-1, 4])


def test_common_prefix(build):
    made = build(h.ordering(2, label=LabelFunction("prefix", fill="*")), ["8010", "8045", "80451"])
    assert made.labels[1] == ("80**", "80451")


def test_label_options():
    with refused(ParameterError, "`text` of Label"):
        LabelFunction("constant")
    with refused(ParameterError, "`text` of Label"):
        LabelFunction("set", text="x")
    with pytest.raises(ParameterError, match="not 'sum'"):
        h.ordering(2, label="sum")
    with pytest.raises(ParameterError, match="groups"):
        h.ordering()


def test_groups_in_turn(build):
    made = build(h.ordering([1, Group(2, "pair")], 2), list("abcdef"))
    assert made.labels[1] == ("{a}", "pair", "{d}", "pair-1")
    assert made.labels[2] == ("{a, b, c}", "{d, e, f}")


# ------------------------------------------------------------------------ priority


def test_frequent_values_stay_longest(build):
    made = build(h.priority(levels=2), ["tea", "mate", None, "coffee"], [3, 1, 50, 9])
    assert made.to_rows() == [
        ("coffee", "coffee", "*"), ("tea", "tea", "*"), ("mate", "*", "*"), (None, None, "*"),
    ]  # fmt: skip


@given(NUMBERS, st.integers(1, 12))
def test_priority_suppresses_about_the_same_number_on_each_level(build, values, levels):
    made = build(h.priority(order="natural", levels=levels), values)
    assert made.height == min(len(values), levels)
    kept = [sum(row[level] != "*" for row in made.to_rows()) for level in range(made.height + 1)]
    assert kept[0] == len(values)
    assert kept[-1] == 0
    steps = [before - after for before, after in pairwise(kept)]
    assert max(steps) - min(steps) <= 1


# ------------------------------------------------------------------------ categories


def test_categories_as_a_tree(build):
    made = build(h.categories({"Europe": {"DACH": ("AT", "DE"), "North": {"SE"}}, "Asia": ["JP"]}), ["SE"])
    assert made.to_rows() == [
        ("AT", "DACH", "Europe", "*"),
        ("DE", "DACH", "Europe", "*"),
        ("SE", "North", "Europe", "*"),
        ("JP", "Asia", "Asia", "*"),
    ]


def test_categories_as_mappings(build):
    made = build(h.categories({1: "low", 2: "low", 3: "high"}, {"low": "any", "high": "any"}), [1, 3])
    assert made.to_rows() == [("1", "low", "any"), ("2", "low", "any"), ("3", "high", "any")]


def test_categories_for_the_rest(build):
    made = build(h.categories({"A": ["x"]}, other="rest"), ["x", "y", None])
    assert made.to_rows() == [("x", "A", "*"), ("y", "rest", "*"), (None, None, "*")]
    with refused(HierarchyError, "'y'", "1 of its 2"):
        build(h.categories({"A": ["x"]}), ["x", "y"])


def test_categories_that_list_a_value_twice(build):
    with refused(HierarchyError, "'x'", "twice", "different labels"):
        build(h.categories({"A": ["x"], "B": ["x"]}), ["x"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: h.categories(), "either a `tree` or `mappings`"),
        (lambda: h.categories({"A": []}), "at least one value"),
        (
            lambda: h.categories({"x": "low"}, {"lwo": "any"}),
            "'low' of level 1 has no name on level 2.*'lwo'",
        ),
        (
            lambda: h.categories({"x": "low"}, {"low": "any", "high": "any"}),
            "'high' gets a name on level 2, but is not a name of level 1",
        ),
        (lambda: h.categories({"A": [["x"]]}), "tree"),
    ],
)
def test_categories_that_cannot_work(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
