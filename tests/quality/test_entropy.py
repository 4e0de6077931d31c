"""Entropy-based and non-uniform entropy: worked values of the reference on E1."""

from __future__ import annotations

import dataclasses

import pytest

from support.quality import FACTORS, near, score, vector
from support.samples import E1
from veil import quality as q


@pytest.mark.parametrize(
    ("factor", "expected"), list(zip(FACTORS, (4.382232844764, 3.882232844764, 2.691116422382), strict=True))
)
def test_entropy_based(factor, expected):
    assert score(q.EntropyBased(factor)) == near((expected,))


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (0.5, [9.7095059445, 0, 9.5097750043]),
        (0.25, [9.7095059445, 0, 9.5097750043]),
        (0.75, [4.8547529722, 0, 4.7548875021]),
    ],
)
def test_non_uniform_entropy(factor, expected):
    assert vector(q.NonUniformEntropy(factor=factor)) == near(expected)


def test_normalized_non_uniform_entropy():
    expected = [0.492630610419, 0, 0.494803891448]
    assert vector(q.NormalizedNonUniformEntropy()) == near(expected)


def test_constant_column_has_no_entropy_to_lose():
    problem = dataclasses.replace(E1, rows=[("21", "f", row[2]) for row in E1.rows])
    assert vector(q.NormalizedNonUniformEntropy(), (2, 1, 3), problem) == near([0, 0, 1])
