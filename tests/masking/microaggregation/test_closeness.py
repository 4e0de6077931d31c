"""t-closeness through microaggregation: groups are joined as by its slow twin, until all are close."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking import microaggregation as twins
from support.masking.running import outcome
from support.refusals import refused
from veil.errors import ParameterError, PlanError
from veil.masking.microaggregation.closeness import TClosenessThroughMicroaggregation


def earth_movers_distances(shown: list[object], values: list[int], ordered: bool) -> list[Fraction]:
    """Distances of all classes of a table from the whole, from the definition."""
    classes = defaultdict(list)
    for label, value in zip(shown, values, strict=True):
        classes[label].append(value)
    domain = sorted(set(values))
    found = []
    for held in classes.values():
        gaps = [Fraction(held.count(v), len(held)) - Fraction(values.count(v), len(values)) for v in domain]
        if ordered:
            work = sum(abs(sum(gaps[: at + 1])) for at in range(len(domain)))
            found.append(Fraction(work) / max(1, len(domain) - 1))
        else:
            found.append(sum((gap for gap in gaps if gap > 0), Fraction(0)))
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), min_size=1, max_size=30),
    st.integers(1, 5),
    st.sampled_from([0, 0.1, 0.2, 0.25, 0.5, 1]),
    st.sampled_from(["ordered", "equal"]),
)
def test_joined_groups_are_close_and_those_of_the_twin(rows, k, t, closeness):
    k = min(k, len(rows))
    table = {"age": [age for age, _ in rows], "pay": [pay for _, pay in rows]}
    made = outcome(TClosenessThroughMicroaggregation("age", k, "pay", t, closeness), table)
    shown = made.table["age"].to_pylist()
    assert min(Counter(shown).values()) >= k
    assert max(earth_movers_distances(shown, table["pay"], closeness == "ordered")) <= Fraction(str(t))
    assert made.table["pay"].to_pylist() == table["pay"]
    assert shown == pytest.approx(joined_means(table["age"], table["pay"], k, Fraction(str(t)), closeness))


def joined_means(ages: list[int], pays: list[int], k: int, t: Fraction, closeness: str) -> list[float]:
    """The slow twin: MDAV, then the worst group to its nearest, until all are close."""
    unit = (max(ages) - min(ages)) or 1
    points = [age / unit for age in ages]
    groups = twins.mdav([((point,), ()) for point in points], k, [])
    parts = {
        group: [row for row in range(len(ages)) if groups[row] == group] for group in sorted(set(groups))
    }
    means = {group: sum(points[row] for row in rows) / len(rows) for group, rows in parts.items()}
    while True:
        shown = [group for row in range(len(ages)) for group in parts if row in parts[group]]
        apart = dict(
            zip(
                dict.fromkeys(shown), earth_movers_distances(shown, pays, closeness == "ordered"), strict=True
            )
        )
        if max(apart.values()) <= t:
            break
        worst = min(apart, key=lambda group: (-apart[group], group))
        other = min(parts.keys() - {worst}, key=lambda group: ((means[group] - means[worst]) ** 2, group))
        keep, gone = sorted((worst, other))
        sizes = len(parts[keep]), len(parts[gone])
        means[keep] = (sizes[0] * means[keep] + sizes[1] * means.pop(gone)) / sum(sizes)
        parts[keep] += parts.pop(gone)
    mean = {row: sum(ages[each] for each in rows) / len(rows) for rows in parts.values() for row in rows}
    return [mean[row] for row in range(len(ages))]


def test_a_distance_of_exactly_t_is_close_enough():
    """Two groups, each of one of two values: exactly 1/2 apart from the whole, and 0.49 is too little."""
    table = {"age": [1, 2, 8, 9], "pay": [1, 1, 2, 2]}
    assert outcome(TClosenessThroughMicroaggregation("age", 2, "pay", 0.5), table).facts["groups"] == 2
    assert outcome(TClosenessThroughMicroaggregation("age", 2, "pay", 0.49), table).facts["groups"] == 1


def test_bad_confidential_columns():
    table = {"age": [1, 2, 3], "pay": [1, 2, 3]}
    with refused(PlanError, "'age'", "confidential and aggregated"):
        outcome(TClosenessThroughMicroaggregation("age", 2, "age", 0.5), table)
    with refused(PlanError, "mean 'pay'", "no column 'pays'"):
        outcome(TClosenessThroughMicroaggregation("age", 2, "pays", 0.5), table)
    with refused(ParameterError, "`t` of", "0 to 1", "not 2"):
        TClosenessThroughMicroaggregation("age", 2, "pay", 2)
