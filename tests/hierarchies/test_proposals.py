"""Two or three hierarchies for a column, each of which can be built; any hierarchy as groups; what is not covered."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil import hierarchies as h
from veil.hierarchies._proposals import REASONS

COLUMNS = {
    "ages": pa.array(range(17, 91)),
    "amounts": pa.array([round(7.3 * each, 2) for each in range(400)]),
    "dates": pa.array([dt.date(1950 + each % 60, 1 + each % 12, 3) for each in range(300)]).unique(),
    "codes": pa.array([f"{80000 + 7 * each}" for each in range(90)]),
    "jobs": pa.array([f"job {chr(97 + each)}" for each in range(20)]),
    "sexes": pa.array(["f", "m", None]),
    "truths": pa.array([True, False]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_two_or_three_and_the_first_is_what_is_proposed_by_itself(name):
    values = COLUMNS[name]
    found = h.proposals(values, name)
    assert 2 <= len(found) <= 3
    assert found[0].builder == h.propose(values, name)
    assert len({repr(each.builder) for each in found}) == len(found)
    for each in found:
        assert each.reason == REASONS[each.name]
        built = each.builder.build(values, np.ones(len(values)), name)
        assert len(built.encode(values, name)) == len(values)


@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=1, max_size=9, unique=True))
def test_any_hierarchy_written_as_groups_is_the_same_hierarchy(pairs):
    rows = [(f"v{at}", f"{top}{low}", top, "*") for at, (top, low) in enumerate(pairs)]
    before = h.Hierarchy.from_rows(rows)
    made = h.Categories.of(before)
    values = pa.array([row[0] for row in rows])
    after = made.build(values, np.ones(len(values)), "x")
    labels = {row[0]: row[1:] for row in after.to_rows()}
    height = len(next(iter(labels.values())))
    # The root is added only where it joins something.
    assert labels == {row[0]: row[1:][:height] for row in before.to_rows()}
    assert h.uncovered(made, values) == ()


def test_what_is_made_from_the_data_covers_it_and_what_is_written_down_may_not():
    values = pa.array(["AT", "BR", None])
    land = {"Europe": ["AT"]}
    assert h.uncovered(h.categories(land), values) == ("BR",)
    assert h.uncovered(h.categories(land, other="elsewhere"), values) == ()
    assert h.uncovered(h.Table([["AT", "*"]]), values) == ("BR",)
    assert h.uncovered(h.suppression(), values) == ()
