"""δ-presence and inclusion: worked values, the oracle, empty classes, and the search."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support import oracle, refusals, strategies
from support.judging import often, refused, rejected_classes, suppressed_rows
from support.presence import engine_says, nodes_agree, publish, search_is_exhaustive, subset_of
from support.samples import E1_SUBSET, sample_of
from veil import KAnonymity
from veil.classes.table import roll_up
from veil.errors import PlanError
from veil.models.presence import DeltaPresence, Inclusion, sizes_in_population
from veil.published.table import Published
from veil.tables.rows import Rows

BOUNDS = [
    (0, 1),
    (0, 0.5),
    (0.1, 0.9),
    (0.25, 0.75),
    (0.5, 1),
    (0.5, 0.5),
    (1, 1),
    (0.3333333333333333, 1),
]
"""With thirds that miss the fraction by a hair."""


def chances() -> st.SearchStrategy[tuple[float, float]]:
    number = st.integers(1, 1000).map(lambda thousandths: thousandths / 1000)
    return st.sampled_from(BOUNDS) | st.tuples(number, number).map(lambda pair: tuple(sorted(pair)))


# --- worked values --------------------------------------------------------------------------------


def figure_2_5() -> oracle.Problem:
    """Pfeil's figure 2.5 (after Nergiz et al.): a to i, of whom b, c, f, h, i are in the subset."""
    people = ["America"] * 6 + ["Europe"] * 3
    return oracle.Problem(
        [(each,) for each in people], [[["America", "*"], ["Europe", "*"]]], subset={1, 2, 5, 7, 8}
    )


def test_the_figure_of_pfeil():
    problem = figure_2_5()
    published = publish(problem, (0,))
    assert [strength.value for strength in DeltaPresence.strongest(published, [])] == [
        0.5,
        pytest.approx(2 / 3),
    ]
    assert rejected_classes(DeltaPresence(0.5, 0.6666666666666667), sample_of(problem), (0,)) == [
        False,
        False,
    ]
    assert rejected_classes(DeltaPresence(0.5, 0.6666666666666666), sample_of(problem), (0,)) == [False, True]
    assert rejected_classes(DeltaPresence(0.500000001, 1), sample_of(problem), (0,)) == [True, False]
    finding = DeltaPresence(0.5, 0.67).verify(published)
    assert (
        str(finding)
        == "holds: (0.5, 0.67)-presence of the research subset (found: shares from 0.5 to 0.666667)"
    )


def test_the_example():
    """Class {3} is empty in the subset: out of the question, unless empty classes are ignored."""
    model = DeltaPresence(0.1, 0.9)
    assert engine_says([model], E1_SUBSET, (1, 1, 1), 1.0)[0] is False
    assert engine_says([model, KAnonymity(1)], E1_SUBSET, (1, 1, 1), 1.0)[0] is False
    ignoring = DeltaPresence(0.1, 0.9, empty_classes="ignore")
    assert engine_says([ignoring], E1_SUBSET, (1, 1, 1), 1.0) == (True, set())
    assert suppressed_rows(DeltaPresence(0.1, 0.55), E1_SUBSET) & E1_SUBSET.subset == {0, 1, 2, 9}  # 4 of 5


def test_what_ignoring_loses():
    """Without the minimum for empty classes, an attacker knows that row 3 is not in the subset."""
    assert not DeltaPresence(0.1, 0.9).verify(publish(E1_SUBSET, (1, 1, 1))).holds
    assert "the population without" in DeltaPresence(0.1, 0.9).verify(publish(E1_SUBSET, (1, 1, 1))).measured
    assert DeltaPresence(0.1, 0.9, empty_classes="ignore").verify(publish(E1_SUBSET, (1, 1, 1))).holds
    assert [each.value for each in DeltaPresence.strongest(publish(E1_SUBSET, (1, 1, 1)), [])] == [0, 0.8]


# --- the oracle -----------------------------------------------------------------------------------


def test_classes_agree():
    @often
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(max_rows=25, subset=True))
        minimum, maximum = data.draw(chances())
        levels = data.draw(strategies.nodes(problem))
        theirs, ours = (
            oracle.DeltaPresence(minimum, maximum),
            DeltaPresence(minimum, maximum, subset_of(problem)),
        )
        sample = sample_of(problem)
        found = oracle.classes(problem, levels)
        truth = [oracle.rejects(theirs, problem, levels, cls) for cls in found]
        occupied = [bool(oracle.members(problem, cls)) for cls in found]
        marks = rejected_classes(ours, sample, levels)
        assert [mark for mark, there in zip(marks, occupied, strict=True) if there] == [
            each for each, there in zip(truth, occupied, strict=True) if there
        ]
        table = roll_up(sample.encoding, sample.table, levels, sample.workspace())
        empty = any(each for each, there in zip(truth, occupied, strict=True) if not there)
        assert ours.bind(sample).forbids(table) == empty
        assert not dataclasses.replace(ours, empty_classes="ignore").bind(sample).forbids(table)
        for hide in (truth, [data.draw(st.booleans()) for _ in found]):
            hidden = {row for cls, gone in zip(found, hide, strict=True) if gone for row in cls}
            bad = any(t and there and not gone for t, there, gone in zip(truth, occupied, hide, strict=True))
            published = publish(problem, levels, hidden)
            assert ours.verify(published).holds == (not bad and not empty)
            assert dataclasses.replace(ours, empty_classes="ignore").verify(published).holds == (not bad)
        strongest_is_the_boundary(problem, levels)
        nodes_agree(problem, theirs, ours, data)

    check()


def strongest_is_the_boundary(problem: oracle.Problem, levels: oracle.Node) -> None:
    def holds(minimum: float, maximum: float) -> bool:
        asked = oracle.DeltaPresence(minimum, maximum)
        return not any(oracle.rejects(asked, problem, levels, cls) for cls in oracle.classes(problem, levels))

    minimum, maximum = (each.value for each in DeltaPresence.strongest(publish(problem, levels), []))
    assert holds(minimum, maximum)
    assert minimum + 1e-12 > 1 or not holds(minimum + 1e-12, 1)
    assert maximum - 1e-12 < 0 or not holds(0, maximum - 1e-12)


@settings(often, max_examples=40)
@given(st.data())
def test_inclusion_demands_nothing(data):
    problem = data.draw(strategies.problems(max_rows=25, subset=True))
    nodes_agree(problem, oracle.Inclusion(), Inclusion(subset_of(problem)), data)


def test_search():
    search_is_exhaustive(
        st.builds(
            lambda pair, empty: DeltaPresence(*pair, empty_classes=empty),
            chances(),
            st.sampled_from(["forbid", "ignore"]),
        ),
        examples=250,
    )


@often
@given(chances())
def test_minimal_class_size(pair):
    """No class that is smaller has an allowed share, and some class of this size has."""
    size = DeltaPresence(*pair).minimal_class_size(sample_of(E1_SUBSET))
    low, high = (oracle.exact(bound) for bound in pair)

    def possible(count: int) -> bool:
        """Whether count / people lies between the bounds for some number of people."""
        return low == 0 or math.ceil(count / high) <= math.floor(count / low)

    assert size == next(count for count in range(1, 1001) if possible(count))


# --- monotone or not ------------------------------------------------------------------------------


def test_when_it_is_monotone():
    assert DeltaPresence(0.1, 0.9).monotone_generalization
    assert DeltaPresence(0, 0.9, empty_classes="ignore").monotone_generalization
    assert not DeltaPresence(0.1, 0.9, empty_classes="ignore").monotone_generalization
    assert not DeltaPresence(0, 0.9).monotone_suppression
    assert Inclusion([0]).monotone_generalization
    assert Inclusion([0]).monotone_suppression


def test_ignored_classes_spoil_their_union():
    """Half of the two people in class a are released, and none of the eight in b: one of ten in both."""
    rows = [("a",)] * 2 + [("b",)] * 8
    problem = oracle.Problem(rows, [[["a", "*"], ["b", "*"]]], subset={0})
    model = DeltaPresence(0.5, 0.5, empty_classes="ignore")
    assert engine_says([model], problem, (0,), 0.0) == (True, set())
    assert engine_says([model], problem, (1,), 0.0) == (False, {0})


def test_a_part_of_a_rejected_class_may_be_acceptable():
    rows = [("a",)] * 2 + [("b",)] * 2
    problem = oracle.Problem(rows, [[["a", "*"], ["b", "*"]]], subset={0, 2, 3})
    assert rejected_classes(DeltaPresence(0, 0.5), sample_of(problem), (1,)) == [True]
    assert rejected_classes(DeltaPresence(0, 0.5), sample_of(problem), (0,)) == [False, True]


# --- verifying ------------------------------------------------------------------------------------


def test_without_a_population_nothing_can_be_said():
    alone = dataclasses.replace(E1_SUBSET, subset=None)
    assert not DeltaPresence(0, 0.9).verify(publish(alone, (1, 1, 1))).holds
    assert "not at hand" in DeltaPresence(0, 0.9).verify(publish(alone, (1, 1, 1))).measured
    assert DeltaPresence(0, 1).verify(publish(alone, (1, 1, 1))).holds
    assert DeltaPresence.strongest(publish(alone, (1, 1, 1)), []) == []


def test_without_members_an_absent_class_may_be_empty_or_suppressed():
    nothing_suppressed = publish(E1_SUBSET, (1, 1, 1), members=False)
    assert (
        DeltaPresence(0.1, 0.9)
        .verify(nothing_suppressed)
        .measured.endswith("1 class of the population without a record")
    )
    some = publish(E1_SUBSET, (1, 1, 1), {4, 6}, members=False)
    finding = DeltaPresence(0.1, 0.9).verify(some)
    assert not finding.holds
    assert "no telling" in finding.measured
    assert DeltaPresence(0, 0.9).verify(some).holds


def test_a_tampered_table_is_noticed():
    model = DeltaPresence(0.1, 0.9, empty_classes="ignore")
    published = publish(E1_SUBSET, (1, 1, 1))
    assert model.verify(published).holds
    more = pa.concat_tables([published.table] * 2)
    doubled = Published(Rows.of(more), published.names, flag="suppressed", population=published.population)
    assert sizes_in_population(doubled).tolist() == [0, 4]  # eight records of five people
    assert not model.verify(doubled).holds
    elsewhere = published.table.set_column(0, "q0", pa.array(["40-49"] * 6))
    assert not model.verify(
        Published(Rows.of(elsewhere), published.names, population=published.population)
    ).holds
    assert Inclusion([0]).verify(published).holds
    short = Published(
        Rows.of(more),
        published.names,
        baseline=Rows.of(published.table),
        population=published.population,
    )
    assert not Inclusion([0]).verify(short).holds
    assert (
        not Inclusion([0])
        .verify(Published(Rows.of(elsewhere), published.names, population=published.population))
        .holds
    )


def test_typed_columns_are_looked_up_by_their_text():
    """Original numbers in the release, text in the population; a missing value is a value."""
    table = pa.table({"age": [30, None], "zip": ["1", "1"]})
    population = pa.table({"age": ["30", "30", None, "31"], "zip": ["1", "1", "1", "1"]})
    published = Published(Rows.of(table), ["age", "zip"], population=Rows.of(population))
    assert sizes_in_population(published).tolist() == [2, 1]
    assert DeltaPresence(0.5, 1, empty_classes="ignore").verify(published).holds
    assert DeltaPresence.strongest(published, [])[0].value == 0


def test_nothing_published():
    published = publish(E1_SUBSET, (1, 1, 1), E1_SUBSET.subset)
    assert DeltaPresence(0, 0.5).verify(published).holds
    assert DeltaPresence.strongest(published, []) == []


# --- plans ----------------------------------------------------------------------------------------


def test_a_release():
    people = pa.table({"sex": ["f", "f", "m", "m", "m", "f"], "age": [1, 2, 3, 4, 5, 6]})
    h = veil.hierarchies
    release = veil.anonymize(
        people,
        quasi_identifiers={"sex": h.suppression(), "age": h.suppression()},
        models=DeltaPresence(0.3, 0.7, "age < 2 or age > 4"),
        order="input",
    )
    assert release.transformation == {"sex": 0, "age": 1}
    assert "0.333333 to 0.666667" in str(release.verification)
    release = veil.anonymize(
        people,
        quasi_identifiers={"sex": h.suppression()},
        models=[DeltaPresence(0.3, 0.7), Inclusion([0, 1, 2])],
        insensitive="age",
        order="input",
    )
    assert release.table["sex"].to_pylist() == ["f", "f", "m"]


def test_a_release_with_a_class_suppressed():
    """All of b are in the subset, so b goes; that does not make it a class of nobody: they may be in the blank rows."""
    release = veil.anonymize(
        pa.table({"x": ["a", "a", "b", "b"], "y": [1, 2, 3, 4]}),
        quasi_identifiers={"x": veil.hierarchies.table([["a", "a"], ["b", "b"]])},
        models=DeltaPresence(0.3, 0.7, [0, 2, 3]),
        suppression_limit=0.7,
        insensitive="y",
        order="input",
    )
    assert release.suppressed == 2
    assert release.verification.findings[0].holds


def test_a_release_that_tells_nothing():
    release = veil.anonymize(
        pa.table({"x": ["a", "b", "c", "d"]}),
        quasi_identifiers={"x": veil.hierarchies.suppression()},
        models=DeltaPresence(0.3, 0.7, [0, 2]),
        order="input",
    )
    assert release.table["x"].to_pylist() == ["*", "*"]


def test_parameters():
    with refused("`minimum` of DeltaPresence should be at most `maximum`, which is 0.2, not 0.5"):
        DeltaPresence(0.5, 0.2)
    with refused("`maximum` of DeltaPresence should be more than 0 and at most 1, not 0"):
        DeltaPresence(0, 0)
    with refused("`maximum` of DeltaPresence should be more than 0 and at most 1, not 1.5"):
        DeltaPresence(0.5, 1.5)
    with refused("`minimum` of DeltaPresence should be from 0 to 1, not -1"):
        DeltaPresence(-1, 1)
    with refused("`empty_classes` of DeltaPresence should be 'forbid' or 'ignore', not 'no'"):
        DeltaPresence(0, 1, [0], "no")
    with refused("`subset` of DeltaPresence is required, here or in another model of the plan"):
        DeltaPresence(0, 1).bind(sample_of(dataclasses.replace(E1_SUBSET, subset=None)))


def test_bounds_are_decimal_numbers():
    """0.1 of ten people is one of them, although no double is a tenth."""
    rows = [("a",)] * 10 + [("b",)] * 30
    problem = oracle.Problem(rows, [[["a", "*"], ["b", "*"]]], subset={0, 10, 11, 12})
    assert rejected_classes(DeltaPresence(0.1, 0.1), sample_of(problem), (0,)) == [False, False]
    assert Fraction(0.1) != Fraction(1, 10)
    assert DeltaPresence(0.1, 0.1).verify(publish(problem, (0,))).holds


def test_rows_are_not_dropped_where_a_least_chance_is_promised() -> None:
    """Of people whose like were all dropped, everybody would see that nobody is in the release."""
    table = pa.table({"age": ["1", "1", "2", "2"], "sex": ["f"] * 4})
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": "identity", "sex": "identity"},
        "suppression_limit": 1.0,
        "suppressed_rows": "drop",
    }
    presence = DeltaPresence(0.4, 0.6, subset=[0, 2, 3])
    with refusals.refused(PlanError, "minimum probability"):
        veil.anonymize(table, **plan, models=presence)
    blank = veil.anonymize(table, **{**plan, "suppressed_rows": "blank"}, models=presence)
    assert sorted(blank.table["age"].to_pylist()) == ["*", "*", "1"]
    for fine in (
        {"suppression_limit": 0.0, "models": DeltaPresence(0, 1, subset=[0, 2])},
        {"models": DeltaPresence(0, 0.6, subset=[0, 2, 3])},
    ):
        veil.anonymize(table, **{**plan, **fine})
