"""Who is alone with their values, compared with counting."""

from __future__ import annotations

from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.amount import tables
from veil.errors import PlanError
from veil.risk import singled_out
from veil.risk import singling_out as room
from veil.risk.singling_out import SinglingOut

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["f", "m", None, "*"]), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)


@settings(max_examples=tables(80))
@given(ROWS, st.sampled_from([["age"], ["sex"], ["age", "sex"]]))
def test_records_that_are_alone(rows, columns):
    table = pa.table(
        {
            "age": [row[0] for row in rows],
            "sex": pa.array([row[1] for row in rows], pa.string()),
            "who": [row[2] for row in rows],
        }
    )
    places = [["age", "sex"].index(name) for name in columns]
    seen = Counter(tuple(row[at] for at in places) for row in rows)
    found = singled_out(table, columns)
    assert found.records == list(seen.values()).count(1)
    assert found.share == found.records / len(rows)

    people = defaultdict(set)
    for row in rows:
        people[tuple(row[at] for at in places)].add(row[2])
    by_person = singled_out(table, columns, person="who")
    alone = set().union(*(each for each in people.values() if len(each) == 1))
    assert by_person.records == len(alone)
    assert by_person.share == len(alone) / len({row[2] for row in rows})


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(PlanError, match="agee"):
        singled_out(pa.table({"age": [1]}), "agee")


@settings(max_examples=tables(80))
@given(
    rows=ROWS,
    floats=st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]), min_size=30, max_size=30),
    columns=st.sets(st.sampled_from(["age", "sex", "weight"]), min_size=1),
    most=st.sampled_from([2, 7, 2**62]),
)
def test_many_questions_have_the_answers_of_single_ones(rows, floats, columns, most):
    table = pa.table(
        {
            "age": [row[0] for row in rows],
            "sex": pa.array([row[1] for row in rows], pa.string()),
            "weight": pa.array(floats[: len(rows)], pa.float64()),
            "who": [row[2] for row in rows],
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_MOST", most)
        asked = SinglingOut(table)
        assert asked(sorted(columns)) == singled_out(table, sorted(columns))
        assert asked(sorted(columns), person="who") == singled_out(table, sorted(columns), person="who")


def test_suppressed_rows_of_people_are_no_rows() -> None:
    table = pa.table({"who": list("aabbc"), "age": [20, 20, 20, 20, 61]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"age": "identity"},
        models=veil.KAnonymity(2),
        suppression_limit=0.5,
        identifying=["who"],
        person="who",
    )
    assert release.suppressed == 1
    found = singled_out(release, ["age"])
    assert (found.records, found.share) == (0, 0.0)
