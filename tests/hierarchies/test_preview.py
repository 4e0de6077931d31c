"""A preview of a hierarchy, compared with looking up every record."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from support.amount import tables
from veil import hierarchies as h


@settings(max_examples=tables(60))
@given(
    st.lists(st.integers(0, 120), min_size=1, max_size=80),
    st.sampled_from([h.intervals(5, 10, 40), h.auto(), h.priority()]),
)
def test_levels_are_those_of_every_record(ages, builder):
    counts = Counter(ages)
    values = pa.array(list(counts))
    found = h.preview(builder, values, list(counts.values()), "age")
    hierarchy = builder.build(values, list(counts.values()), "age")
    rows = {row[0]: row for row in hierarchy.to_rows()}
    assert len(found.levels) == hierarchy.height + 1
    for number, level in enumerate(found.levels):
        labels = Counter(rows[str(age)][number] for age in ages)
        assert level.labels == len(labels)
        assert level.singled_out == list(labels.values()).count(1) / len(ages)
        assert all(labels[label] == records for label, records in level.bars)
    assert all(rows[row[0]] == row for row in found.rows)
    assert found.values == len(counts)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), min_size=1, max_size=40),
    st.sampled_from([h.intervals(5, 10), h.suppression()]),
)
def test_people_who_are_alone_are_counted_where_they_may_have_several_rows(rows, builder):
    ages = list(dict.fromkeys(age for age, _ in rows))
    counts = Counter(age for age, _ in rows)
    pairs = sorted({(ages.index(age), who) for age, who in rows})
    holders = tuple(np.array(each, np.int64) for each in zip(*pairs, strict=True))
    values = pa.array(ages)
    found = h.preview(builder, values, [counts[age] for age in ages], "age", holders)
    built = builder.build(values, [counts[age] for age in ages], "age")
    table = {row[0]: row for row in built.to_rows()}
    for level, told in enumerate(found.levels):
        by_label = defaultdict(set)
        for age, who in rows:
            by_label[table[str(age)][level]].add(who)
        alone = set().union(*(each for each in by_label.values() if len(each) == 1))
        assert told.singled_out == len(alone) / len({who for _, who in rows})
