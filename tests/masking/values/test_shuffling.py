"""Shuffling: every column keeps its values; what else stays, and what goes."""

from __future__ import annotations

from collections import Counter
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import holds_the_same, masked, outcome
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.errors import InputError, PlanError
from veil.masking import ColumnShuffling, Shuffling
from veil.masking.values.shuffling import _normal_scores, _ranks
from veil.tables.rows import Rows


def related(size=5000):
    draws = np.random.default_rng(13)
    age = draws.integers(18, 90, size)
    income = np.exp(age / 40 + draws.normal(0, 0.5, size))
    wealth = income * 3 + draws.exponential(2, size)
    return {"age": age.tolist(), "income": income.tolist(), "wealth": wealth.tolist()}


def rank_correlation(a, b):
    ranks = [np.argsort(np.argsort(each)) for each in (a, b)]
    return np.corrcoef(*ranks)[0, 1]


rows = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2)), min_size=3, max_size=30
).filter(lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True)))


@given(rows)
def test_columns_keep_their_values_and_the_others_stay(rows):
    table = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    for method in (
        Shuffling(["a", "b"], given="c"),
        Shuffling(["a", "b"]),
        ColumnShuffling(["a", "b"]),
        ColumnShuffling(["a", "b"], together=True),
        ColumnShuffling(["a", "b"], within="c"),
    ):
        made = masked(method, table)
        assert made["c"] == table["c"]
        assert holds_the_same(table["a"], made["a"])
        assert holds_the_same(table["b"], made["b"])
    together = masked(ColumnShuffling(["a", "b"], together=True), table)
    assert holds_the_same(
        list(zip(table["a"], table["b"], strict=True)), list(zip(together["a"], together["b"], strict=True))
    )
    within = masked(ColumnShuffling(["a"], within="c"), table)
    for stratum in set(table["c"]):
        inside = [i for i, each in enumerate(table["c"]) if each == stratum]
        assert holds_the_same([table["a"][i] for i in inside], [within["a"][i] for i in inside])


def test_every_order_is_equally_likely():
    randomness = Randomness.for_testing(14)
    table = pa.table({"x": [0, 1, 2]})
    drawn = Counter(
        tuple(ColumnShuffling("x").mask(Rows.of(table), randomness).table["x"].to_pylist())
        for _ in range(3000)
    )
    assert len(drawn) == 6
    assert all(abs(count - 500) < 110 for count in drawn.values())


def test_muralidhar_sarathy_rank_correlations_stay():
    table = related()
    made = masked(Shuffling(["income", "wealth"], given="age"), table, seed=15)
    for a, b in (("age", "income"), ("age", "wealth"), ("income", "wealth")):
        before, after = rank_correlation(table[a], table[b]), rank_correlation(made[a], made[b])
        assert abs(before - after) < 0.04, (a, b)
        assert before > 0.5
    plain = masked(ColumnShuffling(["income", "wealth"]), table, seed=15)
    assert abs(rank_correlation(plain["age"], plain["income"])) < 0.05


def test_a_masked_value_tells_no_more_than_what_it_depends_on():
    """Given nothing, the new value has nothing to do with the old one."""
    table = related()
    made = masked(Shuffling(["income", "wealth"]), table, seed=16)
    assert abs(rank_correlation(table["income"], made["income"])) < 0.05
    assert rank_correlation(made["income"], made["wealth"]) > 0.8


def test_normal_scores_by_their_definition():
    quantile = NormalDist().inv_cdf
    scores = _normal_scores(_ranks(np.array([3.0, 1.0, 3.0, 7.0])))
    assert scores.tolist() == [quantile(2.5 / 5), quantile(1 / 5), quantile(2.5 / 5), quantile(4 / 5)]


def test_bad_input():
    for values, message in (
        ([1, 1, 1], "column 'x' has the same value in every row"),
        ([1, None, 2], "column 'x' has no value in row 2"),
        ([1.0, 2.0, float("inf")], "column 'x' holds inf in row 3"),
        ([1, 2], "2 records are too few for correlations"),
        (["a", "b", "c"], "numbers are needed"),
    ):
        with pytest.raises(InputError, match=message):
            outcome(Shuffling("x"), {"x": values})
    with refused(InputError, "'x'", "the same value"):
        outcome(ColumnShuffling("x"), {"x": [1, 1]})
    for method in (Shuffling("x", given="x"), ColumnShuffling("x", within="x")):
        with refused(PlanError, "'x'", "shuffled and kept"):
            outcome(method, {"x": [1, 2, 3]})
    with refused(PlanError, "no column 'y'"):
        outcome(Shuffling("x", given="y"), {"x": [1, 2, 3]})
