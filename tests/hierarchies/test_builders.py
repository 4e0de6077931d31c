"""What holds for every builder, and the particulars of the smaller ones."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from veil import hierarchies as h
from veil.hierarchies import AnyBuilder, Builds, Hierarchy, LabelFunction

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


@given(TEXTS, st.integers(2, 30))
def test_described_shares_grow_from_one_value_to_all(build, texts, alphabet):
    made = build(h.redaction(alphabet=alphabet), texts)
    shares = [float(level[0]) for level in made.shares]
    assert shares[0] == pytest.approx(1 / made.domain_size)
    assert shares[-1] == pytest.approx(1) or made.height == 0
    assert shares == sorted(shares)
