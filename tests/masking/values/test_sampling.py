"""Sampling: which records stay, how many of each stratum, and that chance is fair."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.errors import ParameterError, PlanError
from veil.masking import BernoulliSampling, RandomSampling, StratifiedSampling
from veil.tables.rows import Rows


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=40), st.data())
def test_a_sample_holds_rows_of_the_table_in_their_order(values, data):
    size = data.draw(st.integers(1, len(values)))
    made = outcome(RandomSampling(size=size), {"x": values})
    assert made.table.num_rows == size
    assert made.origins.tolist() == sorted(set(made.origins.tolist()))
    assert made.table["x"].to_pylist() == [values[row] for row in made.origins]


def test_every_sample_is_equally_likely():
    randomness = Randomness.for_testing(1)
    table = pa.table({"x": range(5)})
    drawn = Counter(
        tuple(RandomSampling(size=2).mask(Rows.of(table), randomness).table["x"].to_pylist())
        for _ in range(5000)
    )
    assert set(drawn) == set(combinations(range(5), 2))
    # 500 expected each, standard deviation 21.
    assert all(abs(count - 500) < 90 for count in drawn.values())


@pytest.mark.parametrize(
    ("fraction", "rows", "kept"), [(0.29, 100, 29), (0.5, 5, 3), (0.001, 10, 1), (1, 7, 7)]
)
def test_a_fraction_means_the_decimal_number_that_is_written(fraction, rows, kept):
    assert outcome(RandomSampling(fraction), {"x": list(range(rows))}).table.num_rows == kept


@given(
    st.lists(st.sampled_from("aaaabbcd"), min_size=1, max_size=60),
    st.sampled_from([0.1, 0.29, 1 / 3, 0.5, 0.9, 1.0]),
)
def test_strata_give_their_share_rounded_so_that_the_total_is_right(strata, fraction):
    made = masked(StratifiedSampling("s", fraction), {"s": strata})["s"]
    share = Fraction(str(fraction))
    assert len(made) == max(1, int(share * len(strata) + Fraction(1, 2)))
    for stratum, size in Counter(strata).items():
        quota = share * size
        assert quota // 1 <= made.count(stratum) <= -(-quota // 1)
    # The largest remainders are rounded up: nobody below got what somebody above did not.
    rest = {s: share * size % 1 for s, size in Counter(strata).items()}
    up = {s for s in rest if made.count(s) > share * strata.count(s) // 1}
    assert all(rest[a] >= rest[b] for a in up for b in set(rest) - up)


def test_strata_of_a_fixed_size():
    made = masked(StratifiedSampling(["s", "t"], size=2), {"s": list("aaabbb"), "t": [1] * 6})
    assert made["s"] == list("aabb")


def test_within_a_stratum_every_choice_is_equally_likely():
    randomness = Randomness.for_testing(2)
    table = pa.table({"s": list("abab"), "x": [0, 1, 2, 3]})
    drawn = Counter(
        tuple(StratifiedSampling("s", size=1).mask(Rows.of(table), randomness).table["x"].to_pylist())
        for _ in range(2000)
    )
    assert set(drawn) == {(0, 1), (0, 3), (1, 2), (2, 3)}
    assert all(abs(count - 500) < 100 for count in drawn.values())


def test_each_record_by_itself():
    made = outcome(BernoulliSampling(0.3), {"x": list(range(10_000))}, seed=3)
    assert abs(made.table.num_rows - 3000) < 230  # five standard deviations
    assert made.table["x"].to_pylist() == made.origins.tolist()
    neighbours = np.diff(made.origins) == 1
    assert abs(neighbours.mean() - 0.3) < 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomSampling(), "needs `fraction` or `size`, one of the two"),
        (lambda: RandomSampling(0.5, 3), "needs `fraction` or `size`, one of the two"),
        (
            lambda: RandomSampling(1.5),
            "`fraction` of RandomSampling should be more than 0 and at most 1, not 1.5",
        ),
        (
            lambda: RandomSampling(size=0),
            "`size` of RandomSampling should be greater than or equal to 1, not 0",
        ),
        (lambda: StratifiedSampling([], 0.5), "`columns` of StratifiedSampling"),
        (lambda: StratifiedSampling(["s", "s"], 0.5), "'s' is named twice"),
        (
            lambda: BernoulliSampling(0),
            "`probability` of BernoulliSampling should be more than 0 and at most 1, not 0",
        ),
    ],
)
def test_parameters_out_of_range(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_more_records_than_there_are():
    with refused(PlanError, "only 2 records"):
        outcome(RandomSampling(size=3), {"x": [1, 2]})
    with refused(PlanError, "s = 'b'", "t = None", "only 1"):
        outcome(StratifiedSampling(["s", "t"], size=2), {"s": ["a", "a", "b"], "t": [1, 1, None]})
    with refused(PlanError, "mean 's'", "no column 'sx'"):
        outcome(StratifiedSampling("sx", size=2), {"s": ["a", "a", "b"]})
    with refused(PlanError, "none of", "1 records"):
        outcome(BernoulliSampling(1e-9), {"x": [1]})
