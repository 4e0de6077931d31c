"""Regression: the protocol against means in plain Python."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pyarrow as pa
import pytest

from support.refusals import refused
from support.utility.people import generalized
from veil import hierarchies as h
from veil.errors import InputError, ParameterError
from veil.utility import Comparison, regression


def slow_means(
    groups: list[str], shown: list[str], numbers: list[float], gone: list[bool], folds: int, seed: int
):
    """With one categorical feature, least squares predict the mean of the group."""
    n = len(numbers)
    order = np.random.default_rng(seed).permutation(n).tolist()
    starts = [n // folds * fold for fold in range(folds)] + [n]
    squares = {"original": [], "released": [], "mean": []}
    for first, last in itertools.pairwise(starts):
        test = order[first:last]
        train = [i for i in order if i not in test]
        for i in test:
            for side, labels, rows in (
                ("original", groups, train),
                ("released", shown, [t for t in train if not gone[t]]),
            ):
                own = [numbers[t] for t in rows if labels[t] == labels[i]]
                squares[side].append((numbers[i] - statistics.fmean(own)) ** 2)
            squares["mean"].append((numbers[i] - statistics.fmean(numbers[t] for t in train)) ** 2)
    return {side: math.sqrt(statistics.fmean(each)) for side, each in squares.items()}


def test_linear_regression_on_one_category_predicts_the_mean_of_the_group(people):
    table = people.select(["job", "pay"])
    shown = ["low" if job in ("job 0", "job 1") else "high" for job in table["job"].to_pylist()]
    jobs = [[f"job {j}", "low" if j < 2 else "high", "*"] for j in range(4)]
    after = table.set_column(0, "job", pa.array(shown))
    found = regression(
        Comparison(table, after, {"job": h.table(jobs)}), "pay", methods=["linear"], folds=4, seed=2
    )[0]
    expected = slow_means(table["job"].to_pylist(), shown, table["pay"].to_pylist(), [False] * 600, 4, 2)
    assert found.rmse == pytest.approx((expected["original"], expected["released"]), rel=1e-4)
    assert found.baseline == pytest.approx(expected["mean"])
    spread = statistics.pvariance(table["pay"].to_pylist())
    assert found.r2[0] == pytest.approx(1 - expected["original"] ** 2 / spread, abs=1e-4)
    assert found.relative_rmse == pytest.approx(
        (expected["mean"] - expected["released"]) / (expected["mean"] - expected["original"]), abs=1e-3
    )
    assert found.rmse_ratio == pytest.approx(expected["released"] / expected["original"], abs=1e-3)


def test_every_regression_learns_and_does_not_depend_on_threads(people):
    comparison = generalized(people, hidden=20)
    found = regression(comparison, "pay", folds=3, trees=10, threads=2)
    assert found == regression(comparison, "pay", folds=3, trees=10, threads=1)
    for each in found:
        assert each.trained == 580
        assert 0.6 < each.r2[1] <= each.r2[0] + 0.05
        assert each.rmse[0] < each.baseline


def test_a_generalized_target_is_learned_from_the_middle_of_its_labels(people):
    found = regression(generalized(people), "age", methods=["ridge"], features=["rich"], folds=3)[0]
    assert found.rmse[1] < found.baseline


def test_regression_at_the_edge(people):
    blank = Comparison(people, people.slice(0, 0), ["age", "job"], rows=[])
    for each in regression(blank, "pay", folds=2, trees=2):
        assert (each.trained, each.rmse[1], each.r2[1], each.relative_rmse) == (0, None, None, None)
        assert "nothing to learn" in str(each)
    constant = pa.table({"x": ["a", "b", "a"], "y": [1.0, 1.0, 1.0]})
    found = regression(Comparison(constant, constant, "x"), "y", methods=["ridge"], folds=2)[0]
    assert (found.r2, found.baseline) == ((None, None), 0.0)
    with refused(InputError, "'job'", "no numbers"):
        regression(generalized(people), "job")
    with refused(InputError, "1 numbers", "at least two"):
        regression(Comparison(constant.slice(0, 1), constant.slice(0, 1), "x"), "y")
    with refused(ParameterError, "`methods`", "'linear'"):
        regression(generalized(people), "pay", methods=["magic"])
