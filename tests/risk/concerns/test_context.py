"""Samples of a release: whole groups, chosen at random."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.risk.concerns.context import ReleaseContext, whole_groups
from veil.risk.concerns.unique import NEARLY_UNIQUE, share_together


def release_of(table: pa.Table, k: int = 1, **options: Any) -> Release:
    options = {"others": "keep", "order": "random", **options}
    return veil.anonymize(table, quasi_identifiers={"q": h.suppression()}, models=KAnonymity(k), **options)


def alone(rows: list[tuple[Any, ...]]) -> int:
    """How many rows nobody else has: the slow twin. -0.0 is 0.0 in a release."""
    counted = Counter(rows)
    return sum(counted[row] == 1 for row in rows)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_of_large_tables_whole_groups_tell_the_share(share: float) -> None:
    """Whoever reads a figure about 200,000 rows reads one that is right to one percent, or none where it is small."""
    chance, size = np.random.default_rng(7), 200_000
    day = chance.integers(0, 2000, size)
    room = np.where(chance.random(size) < share, 10 + chance.integers(0, 10**6, size), 0)
    table = pa.table({"q": ["x"] * size, "day": day, "room": pa.array(room).cast(pa.string())})
    context = ReleaseContext(release_of(table, 5).outcome)
    true = alone(list(zip(day.tolist(), room.tolist(), strict=True))) / size
    found = share_together(context, ("day", "room"))
    # By a first look at a sample, in which no fewer are alone, it is known to lie far below what is told.
    assert found == pytest.approx(true, abs=0.01) or (found == 0 and true < NEARLY_UNIQUE / 2)


def test_whole_groups_are_whole() -> None:
    groups = np.random.default_rng(3).integers(0, 500, 10_000).astype(np.int32)
    rows = whole_groups(groups, np.bincount(groups), most=1000)
    assert 1000 <= rows.size < 1100
    picked = set(groups[rows].tolist())
    assert sorted(rows.tolist()) == [at for at, each in enumerate(groups.tolist()) if each in picked]
