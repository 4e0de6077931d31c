"""Bounds on the records that more specific nodes can keep."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.closeness import asked, ours, sample_of_counts
from support.judging import often
from support.samples import sample_of
from veil import hierarchies as h
from veil.base.exact import decimal_fraction
from veil.classes.encoding import Encoding
from veil.classes.sample import Sample, SampleAttribute
from veil.classes.table import Histogram, keep, roll_up
from veil.models.closeness import criteria as closeness_criteria
from veil.models.closeness.bound import foresee_cells, foresee_groups
from veil.models.closeness.criteria import ByGroups
from veil.models.closeness.kernels import ClosenessTask
from veil.models.closeness.model import TCloseness


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distance", "cells"),
    [("equal", 0), ("equal", 99), ("ordered", 0), ("hierarchical", 0), ("hierarchical", 99)],
)
def test_no_node_between_keeps_more(distance, cells, monkeypatch):
    """Whether or not the bound is computed from a table of cells."""
    monkeypatch.setattr(closeness_criteria, "_CELLS", cells)

    @settings(often, max_examples=100)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(sensitive=True, max_width=3, max_height=2))
        sample = sample_of(problem)
        model = ours(data.draw(asked(problem, distance)))
        criterion = model.bind(sample)
        if criterion is None:
            return
        one, other = data.draw(strategies.nodes(problem)), data.draw(strategies.nodes(problem))
        low, high = tuple(map(min, one, other)), tuple(map(max, one, other))
        work = sample.workspace()
        source = keep(roll_up(sample.encoding, sample.table, low, work))
        table = keep(roll_up(sample.encoding, source, high, work, groups=True))
        left = table.count * (table.count >= model.minimal_class_size(sample))
        marks = (left == 0).astype(np.uint8)
        criterion.keepable(table, left, source, work.groups[: len(source)])
        criterion.reject(table, marks)
        assert (left[marks == 0] == table.count[marks == 0]).all()
        assert ((left < table.count) | (table.count == 0))[marks == 1].all()

        def kept(levels):
            between = roll_up(sample.encoding, sample.table, levels, work)
            marks = np.zeros(len(between), np.uint8)
            criterion.reject(between, marks)
            return between.count[marks == 0].sum()

        assert max(kept(levels) for levels in oracle.nodes(low, high)) <= left.sum()

    check()


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("t", [0.3, 0.4])
def test_cells_say_what_entries_say(levels, t):
    """Both ways to bound what can be kept agree, on classes of all sizes and values of all frequencies."""
    rng = np.random.default_rng(levels)
    rows = 20_000
    codes = (40 * rng.random(rows) ** 2).astype(np.int64)
    keys = np.where(rng.random(rows) < 0.5, codes % 50, (50 * rng.random(rows) ** 2).astype(np.int64))
    parts = keys * 30 + rng.integers(0, 30, rows)
    hierarchy = h.Hierarchy.from_rows([[str(p), f"{p // 30}'", "*"] for p in range(1500)])
    attribute = SampleAttribute("S", codes.astype(np.int32), tuple(range(40)))
    sample = Sample(Encoding(["q"], [hierarchy]), [parts.astype(np.int32)], (attribute,))
    criterion = ByGroups(sample, "S", decimal_fraction(t), [np.arange(40) // 4, np.arange(40) // 20][:levels])
    work = sample.workspace()
    table = roll_up(sample.encoding, sample.table, (1,), work, groups=True)
    source = (sample.histogram(sample.table, "S"), sample.table.count, work.groups[: len(sample.table)])
    found = []
    for kernel, entries in ((foresee_cells, ()), (foresee_groups, (sample.histogram(table, "S"),))):
        bad, left = np.zeros(len(table), np.uint8), table.count.copy()
        task = criterion.task(table, bad.copy(), bad)
        kernel(*entries, task, criterion.bounds, criterion.details, source, left)
        found.append((bad.tolist(), left.tolist()))
    assert found[0] == found[1]
    assert 0 < sum(found[0][0]) < len(table)
    assert any(0 < some < size for some, size in zip(found[0][1], table.count.tolist(), strict=True))


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_what_was_looked_at_before_is_not_forgotten(distance):
    """Rejecting after bounding the same table, some classes of which others had given up already."""

    @settings(often, max_examples=100)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(sensitive=True))
        sample = sample_of(problem)
        model = ours(data.draw(asked(problem, distance)))
        criterion = model.bind(sample)
        if criterion is None:
            return
        work = sample.workspace()
        for levels in data.draw(st.lists(strategies.nodes(problem), min_size=1, max_size=3)):
            table = roll_up(sample.encoding, sample.table, levels, work, groups=True)
            given_up, gone = (
                np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
                for n in (len(table), len(table))
            )
            expected = gone.astype(np.uint8)
            criterion.reject(table, expected)
            criterion.keepable(table, table.count * ~given_up, sample.table, work.groups[: len(sample.table)])
            found = gone.astype(np.uint8)
            criterion.reject(table, found)
            assert found.tolist() == expected.tolist()

    check()


@pytest.mark.parametrize(("alike", "kept"), [(False, [888, 666]), (True, [0, 0])])
def test_parts_that_are_alike_cannot_be_chosen_from(alike, kept):
    """Ten parts with as much too much of a value each: nothing can be kept, though many records could be.

    Of 600 : 400 as many of the first can stay as make 0.55 of what stays; of 100 : 900, 0.85 the other way.
    """
    codes, keys = np.repeat([0, 1, 0, 1], [600, 400, 100, 900]), np.repeat([0, 1], 1000)
    parts = np.tile(np.arange(10), 200) if alike else np.tile(np.arange(1000), 2)
    width = int(parts.max()) + 1
    hierarchy = h.Hierarchy.from_rows([[f"{k}.{p}", str(k), "*"] for k in range(2) for p in range(width)])
    attribute = SampleAttribute("S", codes.astype(np.int32), (0, 1))
    sample = Sample(Encoding(["q"], [hierarchy]), [(keys * width + parts).astype(np.int32)], (attribute,))
    criterion = TCloseness("S", 0.2).bind(sample)
    work = sample.workspace()
    table = roll_up(sample.encoding, sample.table, (1,), work, groups=True)
    left = table.count.copy()
    criterion.keepable(table, left, sample.table, work.groups[: len(sample.table)])
    assert left.tolist() == kept


def test_a_million_parts_add_up_to_no_more_than_they_are():
    """Five records can be kept, exactly at t: two of one value with one each of another, and one of that.

    Adding up the gains of the others one by one, all alike, loses more than all digits together that a double has.
    """
    alone = 999_983
    sizes = np.array([alone + 5, 3_000_016])
    mass = (sizes.sum()) // 4
    sample = sample_of_counts(int(sizes.sum()), [mass, 3 * mass])
    criterion = ByGroups(sample, "S", Fraction(15, 100), [])
    theirs = np.array([mass - alone - 2, 3 * mass - 3])
    last = alone + 3  # the only part of the other class
    parts = Histogram(
        np.array([0, alone + 3, alone + 7]),
        np.array([*range(alone + 2), last, alone, alone + 1, alone + 2, last], np.int32),
        np.array([*[1] * (alone + 2), theirs[0], 1, 1, 1, theirs[1]]),
    )
    part_sizes = np.array([*[1] * alone, 2, 2, 1, sizes[1]])
    owners = np.array([0] * last + [1], np.int32)
    bad, left = np.zeros(2, np.uint8), sizes.copy()
    task = ClosenessTask(sizes, bad.copy(), bad, criterion.records, criterion.limits)
    bounds = (*criterion.bounds[:2], 1)
    foresee_cells(task, bounds, criterion.details, (parts, part_sizes, owners), left)
    assert bad[0]
    assert 5 <= left[0] < sizes[0]
