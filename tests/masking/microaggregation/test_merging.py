"""Groups that are joined until each holds enough people, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from veil.masking.microaggregation.merging import hold_people


def slow_join(points: list[tuple[int, int]], groups: list[int], people: list[int], k: int) -> list[set[int]]:
    """Join the group that lacks most people to the one with the nearest mean, with means made anew each time."""
    held = [[row for row, group in enumerate(groups) if group == each] for each in range(max(groups) + 1)]

    def lack(rows: list[int]) -> int:
        return k - len({people[row] for row in rows})

    def gap(one: list[int], other: list[int]) -> float:
        means = [np.mean([points[row] for row in rows], axis=0) for rows in (one, other)]
        return round(float(((means[0] - means[1]) ** 2).sum()), 9)

    while max(map(lack, held)) > 0:
        worst = max(range(len(held)), key=lambda at: (lack(held[at]), -at))
        others = [at for at in range(len(held)) if at != worst]
        nearest = min(others, key=lambda at: (gap(held[at], held[worst]), at))
        keep, gone = sorted([worst, nearest])
        held[keep] = held[keep] + held[gone]
        del held[gone]
    return [set(rows) for rows in held]


rows = st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 5), st.integers(0, 6))


@given(st.lists(rows, min_size=1, max_size=14), st.integers(1, 4))
def test_groups_are_joined_as_plain_python_does(drawn, k):
    points = [row[:2] for row in drawn]
    people = np.unique([row[2] for row in drawn], return_inverse=True)[1]
    groups = np.unique([row[3] for row in drawn], return_inverse=True)[1]
    k = min(k, int(people.max()) + 1)
    made = hold_people(np.array(points, np.float64), groups, people.astype(np.int32), k)
    assert made.max() + 1 == len(set(made.tolist()))
    found = [set(np.flatnonzero(made == group).tolist()) for group in range(made.max() + 1)]
    assert found == slow_join(points, groups.tolist(), people.tolist(), k)
    assert all(len({int(people[row]) for row in group}) >= k for group in found)
