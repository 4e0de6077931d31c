"""Class tables against the oracle's classes, which are lists of row numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.refusals import refused
from support.samples import E1, sample_of
from veil.classes import kernels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, keep, roll_up
from veil.errors import PlanError


def labels(sample: Sample, table: ClassTable) -> list[tuple[str | None, ...]]:
    """Decode the packed keys of a table into labels."""
    columns = []
    for (word, shift, mask), hierarchy, level in zip(
        sample.encoding.layout, sample.encoding.hierarchies, table.levels, strict=True
    ):
        codes = np.empty(len(table), np.int32)
        kernels.unpack(table.keys[word], int(shift), int(mask), codes)
        columns.append([hierarchy.labels[level][code] for code in codes])
    return list(zip(*columns, strict=True))


def assert_equals_oracle(
    sample: Sample, table: ClassTable, problem: oracle.Problem, smallest: int = 0
) -> None:
    """Compare all classes; of those with fewer records than `smallest`, nobody counts values."""
    groups = oracle.classes(problem, table.levels)
    assert labels(sample, table) == [oracle.class_labels(problem, table.levels, group) for group in groups]
    assert table.count.tolist() == [len(oracle.members(problem, group)) for group in groups]
    assert table.population.tolist() == [len(group) for group in groups]
    for name, column in problem.sensitive.items():
        histogram = sample.histogram(table, name)
        values = sample.attribute(name).values
        found: list[Counter[object]] = [Counter() for _ in groups]
        for v, value in enumerate(values):
            for e in range(histogram.starts[v], histogram.starts[v + 1]):
                assert histogram.counts[e] > 0
                found[histogram.classes[e]][value] = int(histogram.counts[e])
        members = [oracle.members(problem, group) for group in groups]
        assert found == [
            Counter(column[row] for row in rows) if len(rows) >= smallest else Counter() for rows in members
        ]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_roll_up_gives_the_classes_of_the_definition(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems())
    sample = sample_of(problem)
    work = sample.workspace()
    first = data.draw(strategies.nodes(problem))
    second = tuple(
        data.draw(st.integers(low, high)) for low, high in zip(first, problem.heights, strict=True)
    )
    between = keep(roll_up(sample.encoding, sample.table, first, work))
    assert_equals_oracle(sample, between, problem)
    # By way of another node or at once: same classes in the same order.
    assert_equals_oracle(sample, roll_up(sample.encoding, between, second, work), problem)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_values_are_counted_in_classes_that_are_large_enough(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems())
    sample = sample_of(problem)
    levels = data.draw(strategies.nodes(problem))
    sizes = {len(oracle.members(problem, group)) for group in oracle.classes(problem, levels)}
    smallest = data.draw(st.sampled_from(sorted(sizes)))
    table = roll_up(sample.encoding, sample.table, levels, sample.workspace(), smallest=smallest)
    assert_equals_oracle(sample, table, problem, smallest)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_keys_of_several_words(data: st.DataObject) -> None:
    """Thirty attributes of three bits and more take two words, sixty take three or four."""
    width = data.draw(st.sampled_from([30, 60]))
    values = [str(i) for i in range(9)]
    table = [[value, str(int(value) // 3), "*"] for value in values]
    rows = data.draw(
        st.lists(st.tuples(*[st.sampled_from(["0", "1", "8"])] * width), min_size=1, max_size=12)
    )
    problem = oracle.Problem([row for row in rows for _ in range(2)], [table] * width)
    sample = sample_of(problem)
    assert sample.encoding.words >= 2
    levels = data.draw(strategies.nodes(problem))
    assert_equals_oracle(sample, roll_up(sample.encoding, sample.table, levels, sample.workspace()), problem)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_frequencies_count_relevant_records_by_label(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems())
    sample = sample_of(problem)
    for j, height in enumerate(problem.heights):
        for level in range(height + 1):
            levels = tuple(level if i == j else 0 for i in range(problem.width))
            generalized = oracle.generalize(problem, levels)
            expected = Counter(generalized[row][j] for row in problem.relevant)
            hierarchy = sample.encoding.hierarchies[j]
            found = dict(zip(hierarchy.labels[level], sample.frequencies[j][level].tolist(), strict=True))
            assert {label: count for label, count in found.items() if count} == expected
            assert sample.distinct[j][level] == len(expected)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 6))
def test_room_is_never_too_small(data: st.DataObject, smallest: int) -> None:
    """The bound on large enough classes holds for every node between the two corners."""
    problem = data.draw(strategies.problems(max_width=3, max_height=2))
    sample = sample_of(problem)
    work = sample.workspace()
    low = data.draw(strategies.nodes(problem))
    high = tuple(data.draw(st.integers(a, b)) for a, b in zip(low, problem.heights, strict=True))
    source = keep(roll_up(sample.encoding, sample.table, low, work))
    above = roll_up(sample.encoding, source, high, work, groups=True)
    room = kernels.room(source.count, work.groups[: len(source)], len(above), smallest, work.sums, work.parts)
    for node in oracle.nodes(low, high):
        table = roll_up(sample.encoding, sample.table, node, work)
        assert int((table.count >= smallest).sum()) <= room


def test_example_of_the_reference_has_five_classes_at_1_0_1() -> None:
    sample = sample_of(E1)
    table, row_class = sample.classes_of_rows((1, 0, 1))
    assert row_class.tolist() == [0, 0, 1, 2, 3, 4, 4, 1, 3, 0]
    assert table.count.tolist() == [3, 2, 1, 2, 2]


def test_the_class_without_information() -> None:
    sample = sample_of(E1)
    top = roll_up(sample.encoding, sample.table, (2, 1, 3), sample.workspace())
    assert sample.encoding.class_without_information((2, 1, 3), top.keys) == -1  # `***` is not `*`
    stars = oracle.Problem([("a",), ("b",)], [[["a", "*"], ["b", "*"]]])
    sample = sample_of(stars)
    top = roll_up(sample.encoding, sample.table, (1,), sample.workspace())
    assert sample.encoding.class_without_information((1,), top.keys) == 0


def test_unknown_attribute_is_named() -> None:
    with refused(PlanError, "'X'", "sensitive attribute"):
        sample_of(E1).attribute("X")
