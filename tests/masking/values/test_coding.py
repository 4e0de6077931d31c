"""Top and bottom coding."""

from __future__ import annotations

import statistics
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import BottomCoding, TopCoding


def test_lecture_gerl_top_coding_example():
    """Ages above 20 become 21+, tertiary and postgraduate education become one."""
    age = [20, 20, 18, 23, 18, 21, 25, 19, 23]
    education = [
        "secondary", "tertiary", "secondary", "postgrad.", "secondary", "tertiary", "postgrad.", "secondary",
        "tertiary",
    ]  # fmt: skip
    order = ["secondary", "tertiary", "postgrad."]
    table = {"age": age, "education": education}
    made = masked(TopCoding("age", 21, value="21+"), table)
    assert made["age"] == ["20", "20", "18", "21+", "18", "21+", "21+", "19", "21+"]
    made = masked(TopCoding("education", "tertiary", value="tertiary and above", order=order), made)
    above = "tertiary and above"
    assert made["education"] == [
        "secondary", above, "secondary", above, "secondary", above, above, "secondary", above,
    ]  # fmt: skip


numbers = st.lists(st.integers(-20, 20) | st.none(), min_size=1, max_size=30).filter(
    lambda values: any(each is not None for each in values)
)


@given(numbers, st.integers(-20, 20), st.sampled_from(["threshold", "mean", "median"]))
def test_the_tail_agrees_with_the_definition(values, threshold, replacement):
    tail = [each for each in values if each is not None and each >= threshold]
    made = masked(TopCoding("x", threshold, replacement=replacement), {"x": values})
    if not tail:
        assert made["x"] == values
        return
    new = {"threshold": threshold, "mean": statistics.fmean(tail), "median": statistics.median(tail)}[
        replacement if len(tail) > 2 else "threshold"
    ]
    expected = [new if each is not None and each >= threshold else each for each in values]
    assert made["x"] == pytest.approx(expected)


@given(numbers, st.sampled_from([0.05, 0.29, 0.5, 0.9]))
def test_bottom_coding_mirrors_top_coding(values, quantile):
    mirrored = [None if each is None else -each for each in values]
    bottom = masked(BottomCoding("x", 3), {"x": values})["x"]
    top = masked(TopCoding("x", -3), {"x": mirrored})["x"]
    assert bottom == [None if each is None else -each for each in top]
    # A quantile is the smallest value at or below which that share of the values lies.
    present = sorted(each for each in values if each is not None)
    expected = next(
        each
        for each in present
        if Fraction(sum(other <= each for other in present), len(present)) >= Fraction(str(quantile))
    )
    different = sorted(set(present))
    for method, most, place in ((TopCoding, present[-1], -2), (BottomCoding, present[0], 1)):
        if len(different) == 1:
            with refused(InputError, "the same value", "every row"):
                outcome(method("x", quantile=quantile), {"x": values})
            continue
        limit = outcome(method("x", quantile=quantile), {"x": values}).facts["threshold"]
        assert limit == (different[place] if expected == most else expected)


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("replacement", ["threshold", "mean", "median"])
def test_a_lone_outlier_is_never_republished(quantile, replacement):
    """Whoever knows that somebody earns 250,000 must not find that somebody."""
    incomes = [*range(1000, 1099), 250_000]
    top = masked(TopCoding("x", quantile=quantile, replacement=replacement), {"x": incomes})["x"]
    bottom = masked(
        BottomCoding("x", quantile=1 - quantile, replacement=replacement), {"x": [-each for each in incomes]}
    )["x"]
    assert 250_000 not in top
    assert -250_000 not in bottom
    given = masked(TopCoding("x", 200_000, replacement=replacement), {"x": incomes})["x"]
    assert max(given) == 200_000


def test_the_mean_of_the_tail_keeps_the_mean_of_the_column():
    values = [1, 2, 3, 50, 150]
    made = masked(TopCoding("x", 3, replacement="mean"), {"x": values})["x"]
    assert statistics.fmean(made) == pytest.approx(statistics.fmean(values))


@pytest.mark.parametrize(
    ("column", "method", "kind", "values"),
    [
        (pa.array([1, 5], pa.int16()), TopCoding("x", 3), pa.int16(), [1, 3]),
        (pa.array([1, 5], pa.int16()), TopCoding("x", 3.5), pa.float64(), [1.0, 3.5]),
        (pa.array([1.5, 5], pa.float32()), TopCoding("x", 3), pa.float32(), [1.5, 3.0]),
        (pa.array(np.array([1.5, 5], np.float16)), TopCoding("x", 3), pa.float16(), [1.5, 3.0]),
        (pa.array(np.array([1.5, 5, 4], np.float16)), TopCoding("x", quantile=0.5), pa.float16(), [1.5, 4.0, 4.0]),
        (pa.array([1, 2**60 + 1, 2**60 + 2, 2**60 + 3]), TopCoding("x", 2**60, replacement="mean"), pa.float64(),
         [1.0, 2.0**60, 2.0**60, 2.0**60]),
        (pa.array([1, 5]), TopCoding("x", 3, value=99), pa.int64(), [1, 99]),
        (pa.array([1, 5]), TopCoding("x", 3, value=9.5), pa.float64(), [1.0, 9.5]),
        (pa.array([Decimal("1.50"), Decimal("5.00")]), TopCoding("x", 3), pa.float64(), [1.5, 3.0]),
        (pa.array([date(2000, 1, 1), date(1900, 1, 1)]), BottomCoding("x", "1930-01-01"), pa.date32(),
         [date(2000, 1, 1), date(1930, 1, 1)]),
        (pa.array([date(2000, 1, 1), date(1900, 1, 1)]), BottomCoding("x", "1930-01-01", value="before 1930"),
         pa.string(), ["2000-01-01", "before 1930"]),
        (pa.array(["lo", "hi"]).dictionary_encode(), TopCoding("x", "mid", order=["lo", "mid", "hi"]), pa.string(),
         ["lo", "mid"]),
    ],
)  # fmt: skip
def test_types(column, method, kind, values):
    made = outcome(method, pa.table({"x": column})).table["x"]
    assert (made.type, made.to_pylist()) == (kind, values)


def test_ordered_categories_have_their_order():
    grades = pa.DictionaryArray.from_arrays(
        pa.array([0, 2, 1, None]), pa.array(["low", "mid", "high"]), ordered=True
    )
    made = outcome(TopCoding("x", "mid"), pa.table({"x": grades})).table["x"]
    assert made.to_pylist() == ["low", "mid", "mid", None]
    assert made.type == grades.type
    assert masked(BottomCoding("x", quantile=0.5), pa.table({"x": grades}))["x"] == [
        "mid",
        "high",
        "mid",
        None,
    ]
    with refused(PlanError, "mean 'high'", "no category 'hi'", "'x'"):
        outcome(TopCoding("x", "hi"), pa.table({"x": grades}))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TopCoding("x"), "TopCoding needs `threshold` or `quantile`, one of the two"),
        (lambda: BottomCoding("x", 1, 0.5), "BottomCoding needs `threshold` or `quantile`, one of the two"),
        (
            lambda: TopCoding("x", quantile=1),
            "`quantile` of TopCoding should be more than 0 and less than 1, not 1",
        ),
        (
            lambda: TopCoding("x", 1, replacement="mean", value=2),
            "takes `value` or the mean of the tail, not both",
        ),
        (lambda: TopCoding("x", "hgh", order=["low", "high"]), "not in `order`. Did you mean 'high'?"),
        (lambda: TopCoding("x", float("inf")), "`threshold"),
    ],
)
def test_parameters_that_contradict_each_other(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_bad_tables():
    with refused(PlanError, "order", "not known"):
        outcome(TopCoding("x", "b"), {"x": ["a", "b"]})
    with refused(PlanError, "`order`", "'x'", "'c'"):
        outcome(TopCoding("x", "b", order=["a", "b"]), {"x": ["a", "c"]})
    with refused(PlanError, "'b'", "not a number"):
        outcome(TopCoding("x", "b"), {"x": [1, 2]})
    with refused(PlanError, "date32", "'soon'"):
        outcome(TopCoding("x", "soon"), {"x": [date(2000, 1, 1)]})
    with refused(PlanError, "have no mean"):
        outcome(TopCoding("x", "b", order=["a", "b"], replacement="mean"), {"x": ["a", "b"]})
    with refused(InputError, "infinite numbers"):
        outcome(TopCoding("x", 1, replacement="mean"), {"x": [1.0, float("inf")]})
    with refused(InputError, "'x'", "no quantiles"):
        outcome(TopCoding("x", quantile=0.5), pa.table({"x": pa.array([None, None], pa.int64())}))
