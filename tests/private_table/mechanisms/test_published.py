"""The releases as published: what they are, and that they tell more than they promise."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from support.dp.tables import SPORTS, neighbours_of_small_tables
from veil.private_table import IndividualRanking, private_table
from veil.private_table.mechanisms.ranking import blocks_of
from veil.private_table.mechanisms.table_mechanism import block_sizes


@pytest.mark.parametrize("epsilon", [1, 2])
def test_the_published_numbers_tell_more_than_epsilon(epsilon: float) -> None:
    """Noise of scale b turns a shift by s into a log-ratio of exactly s / b, record by record: kε and more for ε."""
    worst = 0.0
    for before, after in neighbours_of_small_tables(4, 4):
        means = []
        for each in (before, after):
            by_row = np.empty(4)
            for rows in blocks_of(each, block_sizes(4, 2)):
                by_row[rows] = each[rows].mean()
            means.append(by_row)
        worst = max(worst, float(np.abs(means[0] - means[1]).sum() / (3 / (2 * epsilon))))
    assert worst > 1.9 * epsilon


def test_as_published_each_record_has_a_draw_of_its_own_with_the_printed_chances() -> None:
    """One block of sailing, swimming, swimming and soccer: swimming has .225748 (ε = 1, Δ = .847997)."""
    table = pa.table({"sport": ["sailing", "swimming", "swimming", "soccer"] * 1})
    drawn = [
        each
        for seed in range(1500)
        for each in private_table(
            table,
            IndividualRanking(4, as_published=True),
            1,
            neighbours="one changed",
            domains={"sport": SPORTS},
            missing={"sport": "soccer"},
            for_testing_seed=seed, person=None
        ).table["sport"].to_pylist()
    ]  # fmt: skip
    share = drawn.count("swimming") / len(drawn)
    assert share == pytest.approx(0.225748, abs=5 * math.sqrt(0.2257 * 0.7743 / 6000))
    assert len(set(drawn[:4])) > 1 or len(set(drawn[4:8])) > 1
    assert set(drawn) == {*SPORTS.labels[0], "water", "winter", "field", "sport"}


def test_as_published_numbers_have_noise_of_their_own_at_the_printed_scale() -> None:
    """Records of one block: the mean absolute noise is range / (k ε), and no two records share it."""
    made = private_table(
        pa.table({"x": np.full(4000, 50.0)}),
        IndividualRanking(40, as_published=True),
        1,
        neighbours="one changed",
        bounds={"x": (0, 100)},
        for_testing_seed=1,
        person=None,
    ).table
    away = np.abs(np.array(made["x"]) - 50)
    assert away.mean() == pytest.approx(2.5, rel=0.1)
    assert len(np.unique(away)) > 3900
