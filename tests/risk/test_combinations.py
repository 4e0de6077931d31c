"""The riskiest combinations and values that are learned for certain, against their definitions."""

from __future__ import annotations

from collections import Counter, defaultdict

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.refusals import refused
from support.risk.twins import minimal_uniques
from veil.errors import ParameterError, PlanError
from veil.risk import certain_values, riskiest

ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("cd*"), st.sampled_from("ef"), st.sampled_from("xy*")),
    min_size=1,
    max_size=12,
)
NAMES = ["p", "q", "r"]


def table(rows):
    return pa.table({name: [row[c] for row in rows] for c, name in enumerate([*NAMES, "s"])})


@given(ROWS)
def test_combinations_are_the_rarest_with_the_fewest_columns_that_single_them_out(rows):
    known = [row[:3] for row in rows]
    sizes = Counter(known)
    least = minimal_uniques(known)
    found = riskiest(table(rows), NAMES, number=5)
    assert [each.records for each in found] == sorted(sizes.values())[:5]
    for each in found:
        combination = tuple(each.values[name] for name in NAMES)
        assert each.records == sizes[combination]
        assert each.risk == 1 / each.records
        ways = least[known.index(combination)] if each.records == 1 else []
        assert len(each.columns) == min(map(len, ways), default=0)
        assert not ways or tuple(NAMES.index(name) for name in each.columns) in ways
    order = [(len(each.columns), -each.score) for each in found if each.records == 1 and each.columns]
    assert order == sorted(order)


@given(ROWS)
def test_what_is_certain_is_what_a_whole_class_shows(rows):
    classes = defaultdict(list)
    for row in rows:
        classes[row[:3]].append(row[3])
    alone = sum(len(values) for values in classes.values() if len(set(values) - {"*"}) == 1)
    (found,) = certain_values(table(rows), NAMES, "s")
    assert (found.column, found.records, found.share) == ("s", alone, pytest.approx(alone / len(rows)))


def test_people_are_counted_once():
    rows = pa.table({"id": [1, 1, 2], "age": [20, 20, 30], "ill": ["flu", "flu", "gout"]})
    found = riskiest(rows, "age", person="id", untouched=True)
    assert [each.records for each in found] == [1, 1]


def test_what_makes_no_sense_is_refused():
    rows = table([("a", "c", "e", "x")])
    with refused(ParameterError, "`number`", "least 1", "not 0"):
        riskiest(rows, NAMES, number=0)
    with refused(PlanError, "no column 'u'"):
        certain_values(rows, NAMES, "u")


@pytest.mark.parametrize("blank", [None, "", "*"])
def test_a_blank_is_no_second_value(blank: str | None) -> None:
    table = pa.table({"age": [20] * 3 + [30] * 2, "ill": ["flu", blank, "flu", blank, blank]})
    assert certain_values(table, "age", "ill", person=None)[0].records == 3


def test_the_marker_of_a_release_is_no_value() -> None:
    """Ann shows her flu, and what Bob has is withheld: the class shows one value."""
    table = pa.table({"age": [20, 20], "ill": ["flu", "flu"]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"age": "identity"},
        sensitive=["ill"],
        models=veil.KAnonymity(2),
        marker="(withheld)",
        person=None,
    )
    withheld = release.outcome.changed(table=pa.table({"age": [20, 20], "ill": ["flu", "(withheld)"]}))
    (found,) = certain_values(withheld, None, "ill")
    assert (found.records, found.share) == (2, 1.0)
