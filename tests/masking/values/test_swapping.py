"""Data swapping and rank swapping: worked examples, a slow twin, and what stays as it was."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import holds_the_same, masked, outcome
from support.refusals import refused
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import DataSwapping, RankSwapping
from veil.masking.values.swapping import _pair
from veil.tables.rows import Rows
from veil.verification.steps.step import verify_step


def test_lecture_gerl_rank_swapping_example():
    """Sorted by income, the closest record within the range exchanges the illness with the one at risk."""
    people = {
        "age": ["15-24", "15-24", ">80"],
        "gender": ["m", "m", "f"],
        "income": [100, 10_000, 120],
        "illness": ["n", "n", "y"],
    }
    made = masked(RankSwapping("illness", p=34, by="income"), people)
    assert made == {**people, "illness": ["y", "n", "n"]}


def test_lecture_gerl_data_swapping_example():
    """A 79-year-old manager stands out; after the swap every age is still there."""
    people = {
        "id": [234, 235, 236, 237],
        "profession": ["Mechanic", "Cook", "Painter", "Manager"],
        "age": [26, 31, 39, 79],
    }
    made = masked(DataSwapping("age", 1.0), people)
    assert holds_the_same(people["age"], made["age"])
    assert all(a != b for a, b in zip(people["age"], made["age"], strict=True))
    assert {**made, "age": people["age"]} == people
    partner = [made["age"].index(age) for age in people["age"]]
    assert [partner[each] for each in partner] == [0, 1, 2, 3]


def slow_pairs(fixed, window, draws):
    """Pair ranks as the definition says."""
    free = [i for i in range(len(fixed)) if not fixed[i]]
    partner = list(range(len(fixed)))
    while free:
        first = free.pop(0)
        near = [each for each in free if each <= first + window]
        if near:
            chosen = near[min(int(draws[first] * len(near)), len(near) - 1)]
            free.remove(chosen)
            partner[first], partner[chosen] = chosen, first
    return partner


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1, exclude_max=True)), min_size=1, max_size=40),
    st.integers(1, 45),
)
def test_pairs_agree_with_the_slow_twin(ranked, window):
    fixed = np.array([each for each, _ in ranked])
    draws = np.array([each for _, each in ranked])
    partner = np.arange(fixed.size)
    _pair(fixed, window, draws, partner)
    assert partner.tolist() == slow_pairs(fixed, window, draws)


columns = st.lists(
    st.tuples(st.integers(0, 15) | st.none(), st.integers(0, 3), st.integers(0, 1)), min_size=2, max_size=40
).filter(lambda rows: len({row[0] for row in rows}) > 1)


@given(columns, st.sampled_from([5, 10, 33.3, 50, 100]), st.booleans())
def test_rank_swapping_keeps_values_and_moves_them_little(rows, p, keep_extremes):
    table = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    window = int(p * len(rows) / 100 + 1e-9)
    method = RankSwapping("a", p, keep_extremes=keep_extremes)
    if window == 0:
        with refused(PlanError, "one rank"):
            outcome(method, table)
        return
    made = masked(method, table)
    assert holds_the_same(table["a"], made["a"])
    assert (made["b"], made["c"]) == (table["b"], table["c"])
    present = [value for value in table["a"] if value is not None]
    for before, after in zip(table["a"], made["a"], strict=True):
        assert (before is None) == (after is None)
        if before is not None:
            low, high = sorted([before, after])
            assert sum(low < value < high for value in present) < window
        if keep_extremes and before in (min(present, default=None), max(present, default=None)):
            assert before == after


def test_the_finding_measures_ranks_between_blocks_of_equal_values():
    values = np.array([0, 0, 1, 2, 2])
    for order, farthest in (([1, 0, 2, 3, 4], 0), ([2, 1, 0, 3, 4], 1), ([4, 1, 2, 3, 0], 2)):
        before, after = pa.table({"a": values}), pa.table({"a": values[order]})
        found = verify_step(RankSwapping("a", 20), Rows.of(before), after)
        (ranks,) = [each for each in found.findings if "ranks" in each.promise]
        assert (ranks.measured, ranks.holds) == (str(farthest), farthest <= 1)


def test_text_and_dates_have_ranks_too():
    made = masked(RankSwapping(["t"], 30), {"t": list("jihgfedcba")})
    assert holds_the_same(list("abcdefghij"), made["t"])
    assert made["t"] != list("jihgfedcba")


def test_ordered_categories_have_their_own_ranks():
    """By name, high would stand next to low; by their order, mid does."""
    grades = pa.array(["low", "mid", "high", None])
    categories = pa.array(["low", "mid", "high"])
    column = pa.DictionaryArray.from_arrays(pc.index_in(grades, categories), categories, ordered=True)
    made = masked(RankSwapping("x", 25), pa.table({"x": column}))
    assert made["x"] == ["mid", "low", "high", None]


def test_a_larger_p_moves_values_farther():
    table = {"a": list(range(1000))}
    moved = [
        np.abs(np.array(masked(RankSwapping("a", p), table, seed=4)["a"]) - np.arange(1000)).mean()
        for p in (1, 5, 25)
    ]
    assert moved[0] < 10 < moved[1] < 50 < moved[2] < 250


@given(columns, st.sampled_from([0.1, 0.5, 1.0]))
def test_data_swapping_keeps_every_stratum(rows, share):
    table = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    made = masked(DataSwapping("a", share, within=["b", "c"]), table)
    assert (made["b"], made["c"]) == (table["b"], table["c"])
    for stratum in {row[1:] for row in rows}:
        inside = [i for i, row in enumerate(rows) if row[1:] == stratum]
        assert holds_the_same([table["a"][i] for i in inside], [made["a"][i] for i in inside])


def test_swapped_columns_move_together_and_only_so_many():
    table = {"a": list(range(100)), "b": list(range(100))}
    made = outcome(DataSwapping(["a", "b"], 0.2), table)
    after = made.table.to_pydict()
    assert after["a"] == after["b"]
    assert sum(value != at for at, value in enumerate(after["a"])) == 20
    assert made.facts["records with a partner"] == 20
    within = outcome(DataSwapping("a", 0.2, within="b"), {"a": list(range(100)), "b": [0] * 60 + [1] * 40})
    assert within.facts["records with a partner"] == 20
    assert sum(value != at for at, value in enumerate(within.table["a"].to_pylist())) == 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RankSwapping("a", 130), "`p` of RankSwapping should be from 0 to 100, not 130"),
        (lambda: RankSwapping("a", -1), "`p` of RankSwapping should be from 0 to 100, not -1"),
        (lambda: DataSwapping("a", 0), "`share` of DataSwapping should be more than 0 and at most 1, not 0"),
        (lambda: DataSwapping("a", 2), "`share` of DataSwapping should be more than 0 and at most 1, not 2"),
    ],
)
def test_parameters_out_of_range(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_bad_tables():
    with refused(PlanError, "10 percent", "5 records", "`p`", "least 20"):
        outcome(RankSwapping("a", 10), {"a": [1, 2, 3, 4, 5]})
    with refused(InputError, "'a'", "the same value"):
        outcome(RankSwapping("a", 50), {"a": [1, 1, 1]})
    with refused(InputError, "'a'", "the same value"):
        outcome(DataSwapping("a", 0.5), {"a": [1, 1, 1]})
    with refused(PlanError, "'a'", "swapped", "`within`"):
        outcome(DataSwapping("a", 0.5, within="a"), {"a": [1, 2]})
    with refused(PlanError, "no column 'b'"):
        outcome(RankSwapping("a", 50, by="b"), {"a": [1, 2, 3]})
