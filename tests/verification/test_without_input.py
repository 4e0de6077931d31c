"""What those who have a published table alone find of it: an attacker's extra column, and a right release, never broken."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil import KAnonymity, Plan
from veil import hierarchies as h
from veil.errors import NoSolutionError
from veil.models import (
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    KMap,
    PopulationUniqueness,
    TCloseness,
)
from veil.population import Population
from veil.published.finding import Finding, Verification
from veil.published.table import Published
from veil.report import check_certificate
from veil.report.certificate.disclosed_input import input_to_disclose
from veil.tables.rows import Owners, Rows
from veil.verification.without_input import Input, verify_without_input

PLAN = Plan({"age": "suppression"}, KAnonymity(2), sensitive=["illness"])
TABLE = pa.table({"age": ["20", "20", "30", "30"], "illness": ["flu", "cold", "flu", "cold"]})


def test_a_further_column_is_found() -> None:
    assert veil.verify(TABLE, PLAN).holds
    found = veil.verify(TABLE.append_column("patient_id", pa.array([7, 8, 9, 10])), PLAN)
    assert [each.measured for each in found.broken] == ["also has 'patient_id'"]
    assert str(found).startswith("NOT CHECKED: what no model judges: 'illness', 'patient_id'")


def test_a_column_less_and_one_twice_are_found() -> None:
    assert "without 'illness'" in str(veil.verify(TABLE.drop_columns(["illness"]), PLAN))
    twice = pa.Table.from_arrays([*TABLE.columns, TABLE["illness"]], [*TABLE.column_names, "name"])
    assert "also has 'name'" in str(veil.verify(twice, PLAN))


def test_columns_that_a_plan_keeps_are_named_as_unjudged() -> None:
    plan = Plan({"age": "suppression"}, KAnonymity(2), others="keep")
    found = veil.verify(TABLE, plan)
    assert found.holds
    assert found.not_checked == ("what no model judges: 'illness'",)


def test_what_was_not_checked_does_not_hold_and_comes_first() -> None:
    found = Verification((Finding("a", True, "1"), Finding.not_checked("b", "no input")), ("who made it",))
    assert not found.holds
    assert not found.broken
    assert str(found).splitlines() == [
        "NOT CHECKED: b; who made it",
        "holds: a (found: 1)",
        "not checked: b (no input)",
    ]
    assert "not checked" in found._repr_html_()


COMPARING = [
    TCloseness("illness", 0.34),
    TCloseness("illness", 0.3, "ordered"),
    DeltaDisclosure("illness", 2),
    BetaLikeness("illness", 1.5),
    KMap(3, population=Population(sampling_fraction=0.5)),
    PopulationUniqueness(0.9, population=Population(sampling_fraction=0.5), model="zayatz"),
]


@st.composite
def requests(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any]]:
    rows = draw(st.integers(6, 40))
    column = lambda *values: draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))  # noqa: E731
    table = pa.table(
        {"age": column(20, 21, 34, 61), "sex": column("f", "m"), "illness": column("flu", "cold", "gout")}
    )
    models = [KAnonymity(draw(st.integers(1, 4)))]
    models += draw(st.lists(st.sampled_from(COMPARING), min_size=1, max_size=2, unique=True))
    return table, {
        "quasi_identifiers": {"age": h.intervals(20, 40), "sex": "suppression"},
        "sensitive": ["illness"],
        "models": models,
        "suppression_limit": draw(st.sampled_from([0.0, 0.3, 0.6])),
        "suppressed_rows": draw(st.sampled_from(["blank", "drop", "keep cells"])),
    }


@settings(max_examples=60, deadline=None)
@given(request=requests())
def test_a_right_release_is_never_called_broken(
    request: tuple[pa.Table, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table, asked = request
    try:
        release = veil.anonymize(table, **asked)
    except NoSolutionError:
        return
    assert veil.verify(release).holds
    assert not veil.verify(release.arrow, release.plan).broken
    path = release.certificate(tmp_path_factory.mktemp("made") / "certificate.json")
    found = check_certificate(path, release.arrow)
    assert not found.broken
    assert found.findings[2].holds  # k-anonymity can always be checked


@settings(max_examples=60, deadline=None)
@given(request=requests())
def test_counts_of_the_input_are_never_told_of_suppressed_records(
    request: tuple[pa.Table, dict[str, Any]],
) -> None:
    table, asked = request
    try:
        release = veil.anonymize(table, **{**asked, "suppressed_rows": "drop"})
    except NoSolutionError:
        return
    told = input_to_disclose(release.outcome)
    assert told.whole is not release.suppressed_rows.any()
    assert (told.records is None) == release.suppressed_rows.any()


def test_dropped_records_leave_closeness_open_without_a_certificate() -> None:
    plan = Plan(
        {"age": "suppression"},
        TCloseness("illness", 0.1),
        sensitive=["illness"],
        suppression_limit=0.5,
        suppressed_rows="drop",
    )
    lopsided = TABLE.slice(0, 3)
    found = veil.verify(lopsided, plan)
    assert found.findings[0].verdict == "not checked"
    assert "0.1-closeness of 'illness'" in str(found).splitlines()[0]


def test_closeness_is_judged_where_the_table_shows_every_record() -> None:
    plan = Plan({"age": "suppression"}, TCloseness("illness", 0.1), sensitive=["illness"])
    assert veil.verify(TABLE, plan).findings[0].verdict == "holds"
    apart = TABLE.set_column(1, "illness", pa.array(["flu", "flu", "cold", "cold"]))
    assert veil.verify(apart, plan).findings[0].verdict == "BROKEN"


def test_without_knowing_more_rows_are_taken_for_people() -> None:
    (found,) = verify_without_input(Published(Rows.of(TABLE), ["age"]), [KAnonymity(2)], Input())
    assert (found.promise, found.verdict) == ("2-anonymity", "holds")
    (found,) = verify_without_input(Published(Rows.of(TABLE), ["age"]), [KAnonymity(2)], Input(several=True))
    assert (found.promise, found.verdict) == ("2-anonymity, counting people", "not checked")


def test_presence_is_not_called_broken_for_want_of_the_population() -> None:
    release = veil.anonymize(
        TABLE,
        quasi_identifiers={"age": "suppression"},
        sensitive=["illness"],
        models=DeltaPresence(0.1, 1.0, subset=[0, 1, 2]),
        suppression_limit=1.0,
    )
    assert veil.verify(release).holds
    assert veil.verify(release.arrow, release.plan).findings[0].verdict == "not checked"


def test_a_diverse_plan_is_checked_without_the_input() -> None:
    plan = Plan({"age": "suppression"}, DistinctLDiversity("illness", 2), sensitive=["illness"])
    assert veil.verify(TABLE, plan).holds


@pytest.mark.parametrize("rows", [1, 3])
def test_suppressed_rows_do_not_tell_how_many_people_there_were(rows: int) -> None:
    """One person has suppressed rows: a sample of four people, or of three and one who has several rows."""
    who = ["a" * 16, "b" * 16, "c" * 16, *["*"] * rows]
    table = pa.table({"who": who, "age": [*["20"] * 3, *["*"] * rows], "ill": [*["flu"] * 3, *["*"] * rows]})
    plan = Plan(
        {"age": "suppression"},
        [KMap(2, population=Population(size=10)), KAnonymity(3)],
        insensitive=["ill"],
        identifying={"who": "pseudonym"},
        person="who",
        knows="all rows",
        suppression_limit=0.5,
    )
    mapped, anonymous, *_ = veil.verify(table, plan).findings
    assert not mapped.checked
    assert anonymous.holds
    published = Published(Rows.of(table, owners=Owners.of(table, "who", "all rows")), ["age"])
    disclosed = Input(records=3 + rows)  # as in a certificate
    (finding,) = verify_without_input(published, [KMap(2, population=Population(size=10))], disclosed)
    assert not finding.checked
