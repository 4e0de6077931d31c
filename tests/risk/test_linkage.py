"""The linkage experiment: worked examples, the definition, hierarchies, and the measure for masked tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk.tables import E1, NAMES, generalized, sometimes, suppressed
from veil.errors import InputError, PlanError
from veil.hierarchies import Hierarchy
from veil.risk import linkage_experiment

GROUPS = {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "e"}
HIERARCHY = Hierarchy.from_rows([[value, label, "*"] for value, label in GROUPS.items()])


def twin(before, after, owners, distance):
    """Both directions from the definition, with a distance between rows in fractions."""

    def share(targets, candidates, own):
        found = Fraction(0)
        for t, target in enumerate(targets):
            distances = [distance(target, each) for each in candidates]
            nearest = [at for at, each in enumerate(distances) if each == min(distances)]
            found += Fraction(len([at for at in nearest if at in own[t]]), len(nearest))
        return found / len(targets)

    mine = [[a for a, owner in enumerate(owners) if owner == b] for b in range(len(before))]
    forward = share(before, after, mine)
    old, distance_forward = before, distance

    def distance(one, other):
        return distance_forward(other, one)

    return forward, share(after, old, [[owner] for owner in owners])


def label_distance(value, label):
    """Of a value of GROUPS to a label, with the hierarchy of five values."""
    if value == label:
        return Fraction(0)
    if label == "*":
        return Fraction(4, 5)
    covered = [each for each, group in GROUPS.items() if group == label]
    return Fraction(len(covered) - 1, 5) if value in covered else Fraction(1)


@st.composite
def releases(draw):
    """Draw a table of values and numbers, what was made of it, and where each row of that comes from."""
    size = draw(st.integers(1, 9))
    values = draw(st.lists(st.sampled_from("abcde"), min_size=size, max_size=size))
    numbers = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    owners = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9))
    labels, masked = [], []
    for owner in owners:
        labels.append(draw(st.sampled_from([values[owner], GROUPS[values[owner]], "*", "a", "cd"])))
        masked.append(draw(st.integers(0, 4)))
    return values, numbers, labels, masked, owners


@sometimes
@given(releases())
def test_linkage_by_hierarchies_agrees_with_the_definition(release):
    values, numbers, labels, masked, owners = release
    before = pa.table({"v": values, "n": pa.array(numbers, pa.int64())})
    after = pa.table({"v": labels, "n": pa.array(masked, pa.int64())})
    width = max(numbers) - min(numbers)

    def distance(one, other):
        apart = Fraction((one[1] - other[1]) ** 2, width**2) if width else Fraction(0)
        return label_distance(one[0], other[0]) + apart

    found = linkage_experiment(
        before, after, ["v", "n"], hierarchies={"v": HIERARCHY}, origins=np.array(owners)
    )
    forward, backward = twin(
        list(zip(values, numbers, strict=True)), list(zip(labels, masked, strict=True)), owners, distance
    )
    assert found.forward == pytest.approx(float(forward))
    assert found.backward == pytest.approx(float(backward))
    assert found.looked_up == found.records == max(len(values), len(labels))


@sometimes
@given(releases())
def test_linkage_without_hierarchies_takes_labels_for_what_they_stand_for(release):
    values, _, labels, _, owners = release
    domain = set(values)
    used: dict[str, set[str]] = {}
    for label, owner in zip(labels, owners, strict=True):
        used.setdefault(label, set()).add(values[owner])

    def distance(value, label):
        if label in domain:
            return Fraction(value != label)
        covered = domain if label == "*" else used[label]
        return Fraction(len(covered) - 1, len(domain)) if value in covered else Fraction(1)

    found = linkage_experiment(
        pa.table({"v": values}), pa.table({"v": labels}), "v", origins=np.array(owners)
    )
    forward, backward = twin(values, labels, owners, distance)
    assert found.forward == pytest.approx(float(forward))
    assert found.backward == pytest.approx(float(backward))


def test_the_release_of_the_reference_example():
    """Classes {0,1,9}, {2,7}, {4,8}, {5,6}; row 3, of whom nothing is shown, is mixed up with {2,7} and {4,8}."""
    found = linkage_experiment(E1, suppressed(generalized(), {3}), NAMES)
    assert found.forward == pytest.approx(4 / 10)
    assert linkage_experiment(E1, E1, NAMES).forward == pytest.approx(0.9)  # two rows are equal
    assert linkage_experiment(E1, suppressed(generalized(), set(range(10))), NAMES).forward == pytest.approx(
        0.1
    )


def test_hidden_cells_are_farther_than_fitting_labels_and_nearer_than_others():
    before = pa.table({"v": ["a", "b", "c", "d", "e"]})
    after = pa.table({"v": ["ab", "*", "cd", "*", "e"]})
    found = linkage_experiment(before, after, "v", hierarchies={"v": HIERARCHY})
    assert found.forward == pytest.approx((1 + 0 + 1 + 0 + 1) / 5)  # b is taken for ab, d for cd
    missing = pa.table({"v": ["ab", None, "cd", None, "e"]})
    assert linkage_experiment(before, missing, "v", hierarchies={"v": HIERARCHY}) == found


def test_many_records_are_drawn():
    rng = np.random.default_rng(1)
    before = pa.table({"n": rng.random(3000)})
    after = pa.table({"n": np.array(before["n"]) + rng.normal(0, 1e-4, 3000)})
    whole = linkage_experiment(before, after, "n")
    some = linkage_experiment(before, after, "n", pairs=2_000_000)
    assert whole.looked_up == 3000
    assert some.looked_up == 2_000_000 // 3000
    assert some.forward == pytest.approx(whole.forward, abs=0.1)
    assert "drawn at random" in some.basis


def test_equal_rows_are_compared_once():
    """A million records of few kinds are looked up all, in a moment."""
    before = pa.table({"a": np.arange(1_000_000) % 7})
    after = pa.table({"a": [f"{value // 2}x" for value in range(7)] * 142_857 + ["0x"]})
    found = linkage_experiment(before, after, "a")
    assert found.looked_up == 1_000_000
    assert found.forward == pytest.approx(4 / 1_000_000, rel=0.01)  # one among as many as look like it


def test_bad_origins_and_columns():
    with refused(InputError, "`origins`", "0 to 9", "the 3"):
        linkage_experiment(E1, E1.slice(0, 3), NAMES, origins=np.array([0, 1, 10]))
    with refused(InputError, "`origins`", "give"):
        linkage_experiment(E1.slice(0, 3), E1, NAMES)
    with refused(PlanError, "linkage", "no column 'Q'"):
        linkage_experiment(E1, E1, ["Q"])


def test_tables_without_rows():
    nothing = E1.slice(0, 0)
    found = linkage_experiment(E1, nothing, NAMES)
    assert (found.forward, found.backward) == (0, 0)
    assert linkage_experiment(nothing, nothing, NAMES).forward == 0
