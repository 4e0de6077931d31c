"""Microaggregation methods: what they release, promise and refuse."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from support.masking.running import masked, outcome
from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, InputError, ParameterError, PlanError
from veil.masking.microaggregation.methods import (
    MDAV,
    VMDAV,
    GeneticMicroaggregation,
    KWard,
    UnivariateMicroaggregation,
)

TOGETHER = [
    MDAV,
    VMDAV,
    KWard,
    GeneticMicroaggregation,
]
PEOPLE = {
    "age": [20, 22, 25, 60, 61, 69, 40],
    "income": [1.0, 2.5, 2.0, 9.0, 8.0, 8.5, 4.0],
    "sex": ["f", "f", "m", None, "m", "m", "f"],
    "born": [dt.date(2000 - i, 1, 1 + i) for i in range(7)],
    "name": list("ABCDEFG"),
}


# --- what is released -----------------------------------------------------------------------------


def univariate(**options):
    return lambda columns, k: UnivariateMicroaggregation(columns, k, **options)


METHODS = {
    **{method.__name__: method for method in TOGETHER},
    "principal component": univariate(order="principal component"),
    "sum of z-scores, optimal": univariate(order="sum of z-scores", sizes="optimal"),
    "single axis": univariate(order="single axis", axis="x"),
}

numbers = st.one_of(st.integers(-3, 3), st.integers(-(10**9), 10**9))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=25), st.integers(1, 6))
def test_records_become_k_anonymous_and_keep_their_means(method, rows, k):
    k = min(k, len(rows))
    table = {"x": [x for x, _ in rows], "y": [y for _, y in rows], "z": list(range(len(rows)))}
    made = outcome(method(["x", "y"], k), table)
    after = made.table.to_pydict()
    assert after["z"] == table["z"]
    assert min(Counter(zip(after["x"], after["y"], strict=True)).values()) >= k
    for name in "xy":
        assert math.fsum(after[name]) == pytest.approx(sum(table[name]), rel=1e-9, abs=1e-3)
    assert made.verification.findings[0].promise == f"{k}-anonymity in 'x', 'y'"
    assert made.facts["smallest group"] >= k


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=25),
    st.integers(1, 6),
    st.sampled_from(["fixed", "optimal"]),
)
def test_individual_ranking_makes_every_column_k_anonymous_alone(rows, k, sizes):
    k = min(k, len(rows))
    table = {"x": [x for x, _ in rows], "y": [y for _, y in rows]}
    made = outcome(UnivariateMicroaggregation(["x", "y"], k, sizes=sizes), table)
    for name in "xy":
        after = made.table[name].to_pylist()
        assert min(Counter(after).values()) >= k
        # A larger value never becomes a smaller one.
        pairs = sorted(zip(table[name], after, strict=True))
        assert all(one[1] <= other[1] for one, other in itertools.pairwise(pairs) if one[0] < other[0])
    assert [finding.promise for finding in made.verification.findings[:-1]] == [
        f"{k}-anonymity in 'x' alone",
        f"{k}-anonymity in 'y' alone",
    ]


@pytest.mark.parametrize("method", TOGETHER)
def test_numbers_categories_and_dates_together(method):
    made = outcome(method(["age", "income", "sex", "born"], 3), PEOPLE)
    after = made.table.to_pydict()
    assert after["name"] == PEOPLE["name"]
    assert made.table.column_names == list(PEOPLE)
    assert made.table.schema.field("born").type == pa.date32()
    assert made.table.schema.field("age").type == pa.float64()
    together = Counter(zip(*(after[name] for name in ("age", "income", "sex", "born")), strict=True))
    assert min(together.values()) >= 3
    assert {after["age"][row] for row in (0, 1, 2)} != {after["age"][row] for row in (3, 4, 5)}


def test_aggregates_by_column():
    method = MDAV(["age", "income", "sex"], 3, aggregate={"age": "interval", "sex": "set"}, keep_type=True)
    after = masked(method, PEOPLE)
    assert [after[name][0] for name in ("age", "income", "sex")] == ["[20, 40]", 2.375, "{f, m}"]
    assert [after[name][3] for name in ("age", "income", "sex")] == ["[60, 69]", 8.5, "{m}"]


def test_keep_type_keeps_integers():
    made = outcome(UnivariateMicroaggregation("age", 2, keep_type=True), PEOPLE)
    assert made.table.schema.field("age").type == pa.int64()
    assert made.table["age"].to_pylist() == [21, 21, 33, 63, 63, 63, 33]


def test_columns_of_categories_alone():
    table = {"sex": ["f", "m", "f", "m"], "city": ["a", "b", "a", "a"]}
    after = masked(MDAV(["sex", "city"], 2, aggregate="set"), table)
    assert after == {"sex": ["{f}", "{m}", "{f}", "{m}"], "city": ["{a}", "{a, b}", "{a}", "{a, b}"]}
    assert "SSE" not in outcome(KWard(["sex", "city"], 2), table).facts


def test_a_hierarchy_makes_values_close():
    ills = h.table(
        [["flu", "virus", "*"], ["cold", "virus", "*"], ["gout", "joint", "*"], ["rheuma", "joint", "*"]]
    )
    table = {"ill": ["flu", "gout", "cold", "rheuma"]}
    with_hierarchy = MDAV("ill", 2, aggregate="set", hierarchies={"ill": ills})
    assert masked(with_hierarchy, table)["ill"] == ["{cold, flu}", "{gout, rheuma}"] * 2
    assert masked(MDAV("ill", 2, aggregate="set"), table)["ill"][0] == "{flu, gout}"


def test_bounds_instead_of_what_occurs():
    """Over its own range `b` differs as much as `a`; over what is possible it hardly differs."""
    table = {"a": [0, 1, 100, 101], "b": [0, 9, 0.5, 9.5]}
    by_range = MDAV(["a", "b"], 2, aggregate="set", bounds={"b": (0, 1000)})
    assert masked(by_range, table)["a"] == ["{0, 1}", "{0, 1}", "{100, 101}", "{100, 101}"]
    raw = MDAV(["a", "b"], 2, distance="raw", aggregate="set")
    assert masked(raw, table)["a"] == ["{0, 1}", "{0, 1}", "{100, 101}", "{100, 101}"]


def test_sums_of_squares_are_told():
    made = outcome(
        UnivariateMicroaggregation(["x", "y"], 2, order="single axis", axis="x"),
        {"x": [1, 3, 5, 7], "y": [0, 0, 0, 0]},
    )
    assert made.facts == {
        "groups": 2,
        "smallest group": 2,
        "largest group": 2,
        "SSE": 4,
        "SSA": 16,
        "SST": 20,
        "L": pytest.approx(0.2),
        "L of standardized columns": pytest.approx(0.2),
    }


def test_groups_of_all_columns_are_told():
    """Each column has groups of its own: three of 2, 2 and 3."""
    made = outcome(UnivariateMicroaggregation(["x", "y"], 2), {"x": list(range(7)), "y": list(range(7))})
    assert {name: made.facts[name] for name in ("groups", "smallest group", "largest group")} == {
        "groups": 6,
        "smallest group": 2,
        "largest group": 3,
    }


def test_orders():
    table = {"x": [1, 2, 3, 4], "y": [40, 10, 30, 20]}
    by_x = UnivariateMicroaggregation(["x", "y"], 2, order="single axis", axis="x", aggregate="set")
    by_y = UnivariateMicroaggregation(["x", "y"], 2, order="single axis", axis="y", aggregate="set")
    assert masked(by_x, table)["x"] == ["{1, 2}", "{1, 2}", "{3, 4}", "{3, 4}"]
    assert masked(by_y, table)["x"] == ["{1, 3}", "{2, 4}", "{1, 3}", "{2, 4}"]
    # Both columns have the same spread up to a factor 10, so that the sums are those of 5, 3, 6 and 6.
    by_sum = UnivariateMicroaggregation(["x", "y"], 2, order="sum of z-scores", aggregate="set")
    assert masked(by_sum, table)["x"] == ["{1, 2}", "{1, 2}", "{3, 4}", "{3, 4}"]


# --- constant columns are harmless ----------------------------------------------------------------


@pytest.mark.parametrize("distance", ["range", "standard deviation", "raw"])
def test_a_constant_column_keeps_nobody_apart(distance):
    with_it = {"x": [1, 2, 8, 9], "c": [0.1] * 4}
    for method in TOGETHER:
        after = masked(method(["x", "c"], 2, distance=distance), with_it)
        assert after == {"x": [1.5, 1.5, 8.5, 8.5], "c": [0.1] * 4}


def test_nothing_but_constant_columns():
    for method in (*TOGETHER, univariate(order="principal component")):
        assert masked(method(["c"], 2), {"c": [5, 5, 5]}) == {"c": [5.0] * 3}


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*TOGETHER, UnivariateMicroaggregation])
def test_bad_input_is_refused_with_a_way_out(method):
    ages = {"age": [30, 41, 52]}
    with refused(PlanError, "3 records", "of 4", "`k`", "at most 3"):
        outcome(method("age", 4), ages)
    with refused(ParameterError, "`k`", method.__name__, "not 0"):
        method("age", 0)
    with pytest.raises(ParameterError, match="columns"):
        method([], 2)
    with pytest.raises(ParameterError, match="named twice"):
        method(["age", "age"], 2)
    with refused(PlanError, "mean 'age'", "no column 'agee'"):
        outcome(method("agee", 2), ages)
    with refused(InputError, "'age'", "no value", "row 2"):
        outcome(method("age", 2), {"age": [30, None, 52]})
    with refused(InputError, "'age'", "no value", "row 3"):
        outcome(method("age", 2), {"age": [30.0, 1.0, float("nan")]})
    with refused(InputError, "'age'", "inf", "row 1"):
        outcome(method("age", 2), {"age": [float("inf"), 1.0, 2.0]})
    with refused(InputError, "'age'", "row 2", "too large"):
        outcome(method("age", 2), {"age": [3.0, 1e200, 2.0]})
    with refused(ParameterError, "`aggregate`", "'centroid'", "'average'"):
        method("age", 2, aggregate="average")
    with refused(PlanError, "`aggregate`", "'ages'", "mean 'age'"):
        outcome(method("age", 2, aggregate={"ages": "mean"}), ages)
    with pytest.raises(PlanError, match="too few"):
        outcome(method("age", 1), pa.table({"age": pa.array([], pa.int64())}))


@pytest.mark.parametrize("method", TOGETHER)
def test_bad_distances(method):
    ages = {"age": [30, 41, 52], "sex": ["f", "m", "f"]}
    with refused(ParameterError, "`bounds`", "two finite numbers"):
        method("age", 2, bounds={"age": (5, 5)})
    with refused(ParameterError, "`bounds`", "left out", "'raw'"):
        method("age", 2, bounds={"age": (0, 99)}, distance="raw")
    with refused(InputError, "'age'", "52", "row 3", "`bounds`", "0 to 50"):
        outcome(method("age", 2, bounds={"age": (0, 50)}), ages)
    with refused(PlanError, "`bounds`", "numbers and dates", "'sex'", "string"):
        outcome(method("sex", 2, bounds={"sex": (0, 50)}), ages)
    with refused(PlanError, "`hierarchies`", "'sexx'", "mean 'sex'"):
        outcome(method("sex", 2, hierarchies={"sexx": h.suppression()}), ages)
    with pytest.raises(HierarchyError, match="sex"):
        outcome(method("sex", 2, hierarchies={"sex": h.table([["f", "*"]])}), ages)


def test_bad_parameters_of_single_methods():
    with refused(ParameterError, "`axis`", "UnivariateMicroaggregation", '"single axis"'):
        UnivariateMicroaggregation("age", 2, order="single axis")
    with pytest.raises(ParameterError, match="`axis`"):
        UnivariateMicroaggregation("age", 2, axis="age")
    with refused(PlanError, "`axis`", "'b'"):
        outcome(UnivariateMicroaggregation("a", 2, order="single axis", axis="b"), {"a": [1, 2], "b": [1, 2]})
    with refused(InputError, "'a'", "string", "numbers are needed"):
        outcome(UnivariateMicroaggregation("a", 2), {"a": ["x", "y"]})
    with refused(ParameterError, "`gamma`", "not -1"):
        VMDAV("age", 2, gamma=-1)
    with refused(ParameterError, "`generations`", "not 0"):
        GeneticMicroaggregation("age", 2, generations=0)


@pytest.mark.parametrize(
    "method",
    [
        UnivariateMicroaggregation(["a", "b"], 3, order="single axis", axis="b", aggregate={"a": "set"}),
        MDAV(["a"], 3, bounds={"a": (0, 9)}, hierarchies={"a": h.suppression()}),
        VMDAV(["a"], 3, gamma=1.1),
        KWard(["a"], 3, distance="raw", keep_type=True),
        GeneticMicroaggregation(["a"], 3, start="k-Ward", generations=7),
    ],
)
def test_methods_survive_being_written_down(method):
    adapter = TypeAdapter(type(method))
    assert adapter.validate_json(adapter.dump_json(method, exclude_defaults=True)) == method
