"""What the choice of a transformation tells: the example, a twin that goes through everything, and the way out."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import NoSolutionError, ParameterError, PlanError
from veil.models import AlphaKAnonymity, DistinctLDiversity, TCloseness
from veil.recoding import FastIterative
from veil.risk import transparency

TOWNS = h.table([["A", "county"], ["B", "county"]])
PEOPLE = pa.table({"town": list("AABBBB"), "ill": ["HIV", "HIV", "flu", "flu", "flu", "flu"]})
HALF = AlphaKAnonymity("ill", 0.5, 2, values=["HIV"])
PLAN = {"quasi_identifiers": {"town": TOWNS}, "sensitive": ["ill"], "models": HALF}


def test_who_knows_that_the_transformation_is_the_best_learns_a_value_with_certainty():
    """The example of SECURITY.md: (0.5, 2)-anonymity holds, a third of the county is ill, and it is those of A."""
    release = veil.anonymize(PEOPLE, **PLAN)
    assert release.verification.holds
    assert set(release.table["town"].to_pylist()) == {"county"}
    found = transparency(release, "ill")
    assert (found.possible, found.leading_here) == (15, 1)
    assert found.worst("HIV") == (Fraction(1, 3), 1)
    assert [share["HIV"] for share in found.known] == [1, 1, 0, 0, 0, 0]
    assert "1 of 15" in str(found)


def test_a_choice_by_quasi_identifiers_tells_nothing_or_there_is_no_release():
    blind = {**PLAN, "choose_by": "quasi-identifiers"}
    with refused(NoSolutionError, "quasi-identifiers alone", "AlphaKAnonymity"):
        veil.anonymize(PEOPLE, **{**blind, "models": [HALF, KAnonymity(2)]})
    release = veil.anonymize(PEOPLE, **{**blind, "models": [HALF, KAnonymity(3)]})
    assert release.transformation == {"town": 1}  # for the sake of k, whoever is ill
    found = transparency(release, "ill")
    assert found.known == found.believed
    assert found.worst("HIV") == (Fraction(1, 3), Fraction(1, 3))


# --- against everything there is ----------------------------------------------------------------------------


def rows_of(release):
    return Counter(zip(*release.table.to_pydict().values(), strict=True))


def by_brute_force(table, plan, values):
    """Give all combinations of values to all people, and see which give the same table, whatever Veil calls it."""
    mine = veil.anonymize(table, **plan)
    people, ill = table.num_rows, table.column_names.index("ill")
    levels = mine.transformation
    believed, known = ([Counter() for _ in range(people)] for _ in range(2))
    for given_to in itertools.product(values, repeat=people):
        other = table.set_column(ill, "ill", pa.array(given_to, pa.string()))
        try:
            made = veil.anonymize(other, **plan)
            same = made.transformation == levels and rows_of(made) == rows_of(mine)
        except (NoSolutionError, ParameterError, PlanError):
            same = False
        # Without knowledge of the choice, all that matters is what the classes show.
        shown = Counter()
        for row, value in enumerate(given_to):
            label = label_of(table["town"][row].as_py(), levels["town"])
            shown[(label, value) if label in mine.table["town"].to_pylist() else ("*", "*")] += 1
        if shown == rows_of(mine):
            for row, value in enumerate(given_to):
                believed[row][value] += 1
                known[row][value] += same
        else:
            assert not same
    return believed, known


def label_of(town, level):
    return [town, {"a": "x", "b": "x", "c": "y"}[town], "all"][level]


PLACES = h.table([["a", "x", "all"], ["b", "x", "all"], ["c", "y", "all"]])
MODELS = [
    AlphaKAnonymity("ill", 0.5, 2, values=["HIV"]),
    AlphaKAnonymity("ill", 0.7, 1),
    DistinctLDiversity("ill", 2),
    TCloseness("ill", 0.3),
]
tables = st.lists(st.tuples(st.sampled_from("aabc"), st.sampled_from(["HIV", "flu"])), min_size=3, max_size=6)


def made(rows, models, **further):
    table = pa.table({"town": [row[0] for row in rows], "ill": [row[1] for row in rows]})
    plan = {"quasi_identifiers": {"town": PLACES}, "sensitive": ["ill"], "models": models, **further}
    return table, plan


def released(table, plan):
    try:
        return veil.anonymize(table, **plan)
    except (NoSolutionError, ParameterError, PlanError):
        return None


@given(tables, st.sampled_from(MODELS), st.sampled_from([0.0, 0.4]))
@settings(max_examples=15, deadline=None)
def test_possible_inputs_are_those_that_lead_to_the_same_table(rows, model, limit):
    table, plan = made(rows, model, suppression_limit=limit)
    release = released(table, plan)
    if release is None:
        return
    found = transparency(release, "ill", values=["HIV", "flu"])
    believed, known = by_brute_force(table, plan, ["HIV", "flu"])
    assert found.possible == believed[0].total()
    assert found.leading_here == known[0].total() > 0
    for counts, total, shares in (
        (believed, found.possible, found.believed),
        (known, found.leading_here, found.known),
    ):
        for mine, theirs in zip(counts, shares, strict=True):
            assert {value: share for value, share in theirs.items() if share} == {
                value: Fraction(count, total) for value, count in mine.items() if count
            }


@given(tables, st.sampled_from(MODELS), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_choice_by_quasi_identifiers_tells_nothing(rows, model, k):
    """Every input with the same values in the same classes leads to the same release: the proof, tried out."""
    table, plan = made(rows, [KAnonymity(k), model], choose_by="quasi-identifiers")
    release = released(table, plan)
    if release is None:
        return
    found = transparency(release, "ill")
    assert found.leading_here == found.possible
    assert found.known == found.believed


# --- what cannot be measured, or chosen so ------------------------------------------------------------------


def test_what_cannot_be_measured_says_so():
    release = veil.anonymize(PEOPLE, **PLAN)
    with refused(ParameterError, "15 inputs", "`limit`", "only 14"):
        transparency(release, "ill", limit=14)
    with refused(PlanError, "'town'", "not sensitive"):
        transparency(release, "town")
    with refused(ParameterError, "`values`", "may hold"):
        transparency(release, "ill", values=[])
    with refused(PlanError, "not masking", "local recoding"):
        transparency(veil.mask(PEOPLE, veil.masking.RandomSampling(0.5)), "ill")
    other = veil.anonymize(PEOPLE, **{**PLAN, "models": KAnonymity(2)}).search.apply((1,))
    with refused(PlanError, "chosen by hand"):
        transparency(other, "ill")


def test_a_choice_by_quasi_identifiers_needs_what_can_be_chosen_by():
    blind = {**PLAN, "choose_by": "quasi-identifiers"}
    with refused(PlanError, "quasi-identifiers alone"):
        veil.anonymize(PEOPLE, **blind)
    models = {"models": [HALF, KAnonymity(3)]}
    with refused(PlanError, "suppressed records", "no suppression"):
        veil.anonymize(PEOPLE, **{**blind, **models, "suppression_limit": 0.1})
    with refused(PlanError, "'ill'", "another quality"):
        veil.anonymize(PEOPLE, **{**blind, **models, "quality": veil.quality.Classification(["ill"])})
    with refused(PlanError, "FastIterative", "all columns"):
        veil.anonymize(PEOPLE, **{**blind, **models}).local_recoding(FastIterative())
    with refused(PlanError, "SafePub", "at random"):
        veil.anonymize(
            PEOPLE.select(["town"]),
            quasi_identifiers={"town": TOWNS},
            models=veil.dp.SafePub(1.0, 1e-4),
            choose_by="quasi-identifiers",
            person=None,
        )
