"""Clusters of records that hardly depend on one of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from support.amount import tables
from support.dp.tables import numbers
from veil.private_table import Corners, private_table
from veil.private_table.mechanisms.clusters import _closest, clusters, corners


def test_corners_are_taken_from_far_to_near() -> None:
    assert list(corners(2)) == [(0, 0), (1, 1), (0, 1), (1, 0)]
    found = list(corners(4))
    assert len(set(found)) == 16
    assert found[:2] == [(0, 0, 0, 0), (1, 1, 1, 1)]


def slow_clusters(records: list[tuple[int, ...]], k: int, high: int) -> list[list[tuple[int, ...]]]:
    """Algorithm 6.1 word by word."""
    order, left, found = list(corners(len(records[0]))), sorted(records), []
    while len(left) >= 2 * k:
        corner = order[len(found) % len(order)]
        left.sort(
            key=lambda record: (sum((a - high * b) ** 2 for a, b in zip(record, corner, strict=True)), record)
        )
        found.append(left[:k])
        left = left[k:]
    return [*found, left]


def test_clusters_against_the_slow_twin_and_one_record_replaces_at_most_one_in_each() -> None:
    rng = np.random.default_rng(1)
    for _ in range(tables(400)):
        records, width = int(rng.integers(2, 14)), int(rng.integers(1, 4))
        k = int(rng.integers(1, records + 1))
        before = rng.integers(0, 5, (records, width))
        after = before.copy()
        after[rng.integers(records)] = rng.integers(0, 5, width)
        found = []
        for each in (before, after):
            rows = clusters(numbers(each, 4), k)
            found.append([sorted(map(tuple, each[place].tolist())) for place in rows])
            slow = slow_clusters(list(map(tuple, each.tolist())), k, 4)
            assert found[-1] == [sorted(group) for group in slow]
        for one, other in zip(*found, strict=True):
            assert (
                sum(one.count(record) - min(one.count(record), other.count(record)) for record in set(one))
                <= 1
            )


@pytest.mark.parametrize("records", [1, 5000, 20_000])
def test_the_closest_are_those_of_a_sort(records: int) -> None:
    """Also where a look at some of them is misleading: sorted, all alike, or with what is in a cluster already."""
    rng = np.random.default_rng(records)
    drawn = rng.random(records)
    rising = np.sort(drawn)
    ties = np.round(drawn, 1)
    gone = np.where(drawn < 0.5, np.inf, drawn)
    periodic = np.where(np.arange(records) % max(1, records // 4096) == 0, 5.0, drawn)
    for distance in (drawn, rising, rising[::-1].copy(), ties, gone, periodic, np.zeros(records)):
        for k in {1, max(1, records // 3), records}:
            bound = np.sort(distance)[k - 1]
            assert _closest(distance, k).tolist() == np.flatnonzero(distance <= bound).tolist()


def test_one_column_alone() -> None:
    """The lowest k, then the highest k, and so on; with a large budget, each has the mean of its cluster."""
    ages = pa.table({"age": [70, 20, 41, 24, 40, 68]})
    made = private_table(
        ages, Corners(2), bounds={"age": (0, 100)}, neighbours="one changed", epsilon=10**9, person=None
    )
    assert sorted(made.table["age"].to_pylist()) == pytest.approx([22, 22, 40.5, 40.5, 69, 69], abs=1e-4)
