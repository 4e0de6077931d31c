"""People of classes against sets of them, in plain Python; and what a view of a class may be."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.classes.owner_sample import count_values
from veil.classes.owners import ClassMembers, OwnersByClass, OwnersBySignature, Persons
from veil.classes.table import Histogram
from veil.tables.rows import Owners, Weights

quickly = settings(max_examples=150, deadline=None)


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    """Draw whom each row is about, its class, its value and how many records it stands for."""
    number = draw(st.integers(1, 30))
    people = draw(st.lists(st.integers(0, 6), min_size=number, max_size=number))
    dense = {person: i for i, person in enumerate(dict.fromkeys(people))}
    classes = draw(st.lists(st.integers(0, 5), min_size=number, max_size=number))
    met = {group: i for i, group in enumerate(dict.fromkeys(classes))}
    values = draw(st.lists(st.integers(0, 3), min_size=number, max_size=number))
    weights = draw(st.lists(st.integers(1, 3), min_size=number, max_size=number))
    return [dense[person] for person in people], [met[group] for group in classes], values, weights


def array(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, np.int32)


def merging(draw: st.DataObject, classes: int) -> list[int]:
    """Draw which group each class goes to; groups are numbered as they are met."""
    drawn = draw.draw(st.lists(st.integers(0, 3), min_size=classes, max_size=classes))
    met = {group: i for i, group in enumerate(dict.fromkeys(drawn))}
    return [met[group] for group in drawn]


@quickly
@given(rows(), st.integers(1, 5), st.data())
def test_people_of_merged_classes_are_counted_once(
    drawn: tuple[list[int], ...], enough: int, data: st.DataObject
) -> None:
    people, classes, values, _ = drawn
    number = max(classes) + 1
    persons = Persons(Owners.coded(array(people)), Weights(len(people)), [(array(values), 4)])
    made = OwnersByClass.of_rows(persons, array(classes), number)
    assert made.counts.tolist() == [
        len({p for p, c in zip(people, classes, strict=True) if c == g}) for g in range(number)
    ]
    few = made.sufficient(enough)
    for _ in range(2):
        to = merging(data, number)
        classes, number = [to[c] for c in classes], max(to) + 1
        groups = array(to)
        made, few = (each.merge(groups, number, each.room()).copy() for each in (made, few))
        there = [{p for p, c in zip(people, classes, strict=True) if c == g} for g in range(number)]
        assert made.counts.tolist() == [len(each) for each in there]
        assert np.minimum(few.counts, enough).tolist() == [min(len(each), enough) for each in there]
        listed = list(zip(few.entries.things.tolist(), few.entries.classes.tolist(), strict=True))
        assert sorted(listed) == sorted(
            (p, g) for g, each in enumerate(there) for p in each if len(each) < enough
        )
        rejected = np.array([len(each) < enough for each in there], np.uint8)
        lost = len(set().union(*(each for each in there if len(each) < enough)))
        assert made.rejected_owners(rejected) == few.rejected_owners(rejected) == lost
        pairs = {(p, v, c) for p, v, c in zip(people, values, classes, strict=True)}
        counted = Counter((v, c) for _, v, c in pairs)
        found = Histogram(
            *count_values(made.pairs[0].things, made.pairs[0].classes, persons.pair_values[0], 4, number)
        )
        assert _as_counter(found) == counted


def _as_counter(histogram: Histogram) -> Counter[tuple[int, int]]:
    return Counter(
        {
            (v, int(histogram.classes[e])): int(histogram.counts[e])
            for v in range(histogram.domain)
            for e in range(histogram.starts[v], histogram.starts[v + 1])
        }
    )


@quickly
@given(rows(), st.booleans(), st.data())
def test_signatures_are_bags_of_rows(
    drawn: tuple[list[int], ...], weighted: bool, data: st.DataObject
) -> None:
    people, shown, values, weights = drawn
    weights = weights if weighted else [1] * len(people)
    persons = Persons(
        Owners.coded(array(people), "all rows"),
        Weights(len(people), np.array(weights)),
        [(array(values), 4)],
    )
    times = Weights(len(people), np.array(weights) if weighted else None)
    made, where = OwnersBySignature.of_rows(persons, array(shown), times)
    counts = np.bincount(where, weights=np.array(weights)).astype(np.int64)
    row_class = where
    for _ in range(3):
        assert _signatures(people, shown, weights) == {
            (int(made.people[made.signatures[c]]), shown[i], people[i])
            for i, c in enumerate(row_class.tolist())
        }
        to = merging(data, max(shown) + 1)
        # What each class shows, and what it comes to show.
        groups = np.zeros(made.signatures.size, np.int32)
        groups[row_class] = [to[s] for s in shown]
        shown = [to[s] for s in shown]
        made, moved = made.split(groups, counts)
        merged = np.zeros(made.signatures.size, np.int64)
        np.add.at(merged, moved, counts)
        counts, row_class = merged, moved[row_class]
        every = {(p, v) for p, v in zip(people, values, strict=True)}
        assert made.pairs[0].things.size == len(every)


def _signatures(people: list[int], shown: list[int], weights: list[int]) -> set[tuple[int, int, int]]:
    """How many people share the signature of each row's person, with what the row shows."""
    bags: dict[int, Counter[int]] = {}
    for person, row, weight in zip(people, shown, weights, strict=True):
        bags.setdefault(person, Counter())[row] += weight
    frozen = {person: frozenset(bag.items()) for person, bag in bags.items()}
    alike = Counter(frozen.values())
    return {(alike[frozen[person]], row, person) for person, row in zip(people, shown, strict=True)}


def test_people_are_rows_unless_somebody_has_two() -> None:
    assert Owners.coded(array([0, 1, 2])).have_one_record(Weights(3))
    assert not Owners.coded(array([0, 1, 0])).have_one_record(Weights(3))
    assert not Owners.coded(array([0, 1])).have_one_record(Weights(2, np.array([1, 2])))


def test_entries_are_counted_once_in_a_class() -> None:
    made = ClassMembers.of_rows(array([1, 0, 1, 1]), array([0, 0, 0, 1]), 2)
    assert (made.things.tolist(), made.classes.tolist()) == ([0, 1, 1], [0, 0, 1])
