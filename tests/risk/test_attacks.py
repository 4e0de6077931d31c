"""Attacks that are tried: the definition, weak releases that are seen, and strong ones that are not."""

from __future__ import annotations

import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil.errors import InputError, PlanError
from veil.hierarchies import Hierarchy
from veil.masking import RandomSampling
from veil.risk import try_attacks
from veil.synthetic import patients

GROUPS = {"a": "ab", "b": "ab", "c": "cd", "d": "cd"}
HIERARCHY = Hierarchy.from_rows([[value, label, "*"] for value, label in GROUPS.items()])
COLUMNS = ["v", "w"]


# --- the definition, from rows of plain values


def covers(label, value):
    return label in ("*", value) or GROUPS.get(value) == label


def away(label, value):
    """The distance of a label and a value, with the hierarchy of four values."""
    if label == value:
        return Fraction(0)
    if label == "*":
        return Fraction(3, 4)
    return Fraction(1, 4) if covers(label, value) else Fraction(1)


def nearest(row, released, columns):
    distances = [sum(away(each[c], row[c]) for c in columns) for each in released]
    return [at for at, each in enumerate(distances) if each == min(distances)]


def singled_out(released, people):
    """Predicates are the combinations of labels; right if one person fits."""
    predicates = {(row[0], row[1]) for row in released}
    fits = [sum(covers(a, row[0]) and covers(b, row[1]) for row in people) for a, b in predicates]
    return sum(each == 1 for each in fits), len(predicates)


def linked(released, people):
    found = Fraction(0)
    for row in people:
        one, other = (set(nearest(row, released, [c])) for c in (0, 1))
        found += Fraction(len(one & other), len(one) * len(other))
    return found


def inferred(released, people):
    found = Fraction(0)
    for row in people:
        counts = Counter(released[at][2] for at in nearest(row, released, [0, 1]))
        modes = [value for value, number in counts.items() if number == max(counts.values())]
        found += Fraction(row[2] in modes, len(modes))
    return found


@st.composite
def trials(draw):
    size = draw(st.integers(1, 7))
    row = st.tuples(*[st.sampled_from("abcd")] * 2, st.sampled_from("xyz"))
    members, outsiders = (draw(st.lists(row, min_size=size, max_size=size)) for _ in range(2))
    levels = draw(st.tuples(*[st.integers(0, 2)] * 2))
    rises = [lambda v: v, lambda v: GROUPS[v], lambda v: "*"]
    released = [(rises[levels[0]](a), rises[levels[1]](b), c) for a, b, c in members]
    order = draw(st.permutations(range(size)))
    kept = order[: draw(st.integers(1, size))]
    return members, outsiders, [released[at] for at in kept], kept


def table(rows):
    return pa.table({name: [row[c] for row in rows] for c, name in enumerate([*COLUMNS, "s"])})


@given(trials())
def test_attacks_are_what_they_are_defined_to_be(trial):
    members, outsiders, released, kept = trial
    found = try_attacks(
        *map(table, (members, outsiders, released)),
        COLUMNS,
        "s",
        origins=np.array(kept),
        hierarchies=dict.fromkeys(COLUMNS, HIERARCHY),
    )
    for people, side in ((members, "members"), (outsiders, "outsiders")):
        single, link, infer = (getattr(each, side) for each in found.attacks)
        assert (single.successes, single.attempts) == singled_out(released, people)
        assert link.successes == pytest.approx(float(linked(released, people)))
        assert infer.successes == pytest.approx(float(inferred(released, people)))
        assert link.attempts == infer.attempts == len(people)
    modes = Counter(row[2] for row in released)
    most = [value for value, number in modes.items() if number == max(modes.values())]
    assert found["inference"].naive.successes == pytest.approx(
        sum(row[2] in most for row in members) / len(most)
    )
    assert found["linkage"].naive.share == pytest.approx(1 / len(released))


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), min_size=1, max_size=9),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), min_size=1, max_size=9),
)
def test_numbers_are_guessed_by_their_median(members, outsiders):
    sides = [
        pa.table({"v": [a for a, _ in rows], "n": [n for _, n in rows]}) for rows in (members, outsiders)
    ]
    found = try_attacks(*sides, sides[0], "v", "n")["inference"]
    drawn = min(len(members), len(outsiders))

    def right(value, number):
        near = [n for a, n in members if a == value] or [n for _, n in members]
        return abs(statistics.median(near) - number) <= 0.05 * number

    assert found.members.attempts == found.outsiders.attempts == drawn
    if drawn == len(members):
        assert found.members.successes == sum(right(*each) for each in members)
    if drawn == len(outsiders):
        assert found.outsiders.successes == sum(right(*each) for each in outsiders)


# --- weak and strong releases


PLAN = {
    "quasi_identifiers": {
        "age": veil.hierarchies.intervals(5, 10, 20),
        "sex": "suppression",
        "zip": "redaction",
    },
    "sensitive": "diagnosis",
    "others": "drop",
    "person": None,
}


def released(k, **options):
    asked = {**PLAN, "suppression_limit": 0.1, **options}
    return veil.anonymize(patients(1500), models=veil.KAnonymity(k), **asked)


def test_a_table_that_nobody_touched_is_seen():
    found = released(1, maximum_levels=dict.fromkeys(PLAN["quasi_identifiers"], 0)).attacks()
    assert found["singling out"].is_seen, str(found)
    assert found["inference"].is_seen, str(found)
    assert found["singling out"].members.share > 0.8
    assert (found.members, found.outsiders) == (750, 750)


def test_a_strong_release_is_not_seen():
    found = released(150, suppression_limit=0.0).attacks()
    assert not any(each.is_seen for each in found.attacks), str(found)
    assert found["singling out"].members.share == 0


def test_a_mask_that_does_nothing_is_seen():
    rows = patients(600).drop_columns(["name"])
    made = veil.mask(rows, RandomSampling(1.0), person=None)
    found = made.attacks(known=["age", "zip", "admission", "cost"], secrets="diagnosis")
    assert all(each.is_seen for each in found.attacks), str(found)
    assert found.files == (("age", "admission"), ("zip", "cost"))
    assert found["inference"].column == "diagnosis"


def test_people_with_several_rows_are_held_out_with_all_of_them():
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(60), 3)
    rows = pa.table({"id": person, "age": person + 20, "sex": rng.choice(["f", "m"], 180)})
    made = veil.anonymize(
        rows,
        quasi_identifiers={"age": "suppression", "sex": "suppression"},
        models=veil.KAnonymity(1),
        person="id",
        maximum_levels={"age": 0, "sex": 0},
    )
    found = made.attacks()
    assert (found.members, found.outsiders) == (90, 90)
    assert found["singling out"].members.share == 1  # one person fits, whose rows are several


def test_a_release_of_which_nothing_is_shown_tells_nobody():
    rows = table([("a", "b", "x")] * 3)
    found = try_attacks(rows, rows, rows[:0], COLUMNS, "s", origins=np.array([], np.int64))
    assert not any(each.is_seen for each in found.attacks)


def test_what_cannot_be_tried_is_refused_in_a_sentence():
    rows = table([("a", "b", "x")] * 3)
    with refused(InputError, "`origins`", "members", "the 2"):
        try_attacks(rows, rows, rows[:2], COLUMNS, origins=np.array([0, 7]))
    with refused(PlanError, "no column 'u'"):
        try_attacks(rows, rows, rows, ["u"])
    with refused(InputError, "least 20", "not 10"):
        veil.anonymize(patients(10), models=veil.KAnonymity(1), **PLAN).attacks()
