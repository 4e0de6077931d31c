"""Aggregates of losses by attribute: weights, ranks, and sums at the ends of the range."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

from veil.quality.aggregate import Aggregate


class TestAggregate:
    def test_weights_are_relative_to_the_largest(self):
        assert Aggregate("sum", ["a", "b"], {"a": 2})([1.0, 1.0]) == (1.25,)
        assert Aggregate("sum", ["a", "b"], {"a": 0, "b": 0})([1.0, 1.0]) == (2.0,)

    def test_sum_that_is_too_large_is_the_largest_number(self):
        largest = sys.float_info.max
        assert Aggregate("sum", ["a", "b"], {})([largest, largest]) == (largest,)

    def test_sum_does_not_depend_on_the_order(self):
        values = [1e16, 1.0, 1.0, 1.0]
        assert Aggregate("sum", "abcd", {})(values) == Aggregate("sum", "abcd", {})(values[::-1])

    def test_rank_is_lexicographic_and_remembers_its_values(self):
        rank = Aggregate("rank", ["a", "b"], {"a": 1, "b": 0.5})
        score = rank([0.2, 0.6])
        assert score == (0.3, 0.2)
        assert score < rank([0.1, 0.8])
        assert rank.number(score) == pytest.approx((1.2 * 1.6) ** 0.5 - 1)
        for same in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score)):
            assert same == score
            assert rank.number(same) == rank.number(score)
