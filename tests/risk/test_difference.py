"""What the difference of two releases reveals."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil.errors import ParameterError
from veil.risk import differencing


def released(table: pa.Table, k: int = 2) -> Any:
    return veil.anonymize(
        table,
        quasi_identifiers={"age": veil.hierarchies.intervals(10, 20)},
        sensitive=["ill"],
        identifying=["who"],
        models=[KAnonymity(k)],
    )


def test_who_withdraws_shows_in_a_plain_rerun() -> None:
    table = pa.table({"who": list("ABCDEF"), "age": [21, 22, 23, 31, 32, 33], "ill": list("xyzxyz")})
    before, after = released(table), released(table.slice(1))
    found = differencing(before, after, sensitive="ill", m=3)
    (only,) = found.exposed
    assert (only.gone, only.new, only.records) == ({"x": 1}, {}, 1)
    assert "of 1 classes" in str(found)
    assert differencing(before, before, sensitive="ill").changed == ()
    assert len(differencing(before, after, sensitive="ill", m=1).exposed) == 0
    with pytest.raises(ParameterError):
        differencing(before, after, sensitive="ill", m=0)


def test_classes_that_differ_by_many_are_changed_and_not_exposed() -> None:
    first = pa.table({"age": ["2*"] * 6, "ill": list("xxyyzz")})
    second = pa.table({"age": ["2*"] * 6 + ["3*"], "ill": [*list("yyzzww"), "x"]})
    found = differencing(first, second, sensitive="ill", m=3)
    assert found.changed[0].records == 4
    assert (found.exposed, found.unmatched) == ((), 1)
    assert dataclasses.is_dataclass(found)


def test_a_blank_hides_nobody_in_a_difference() -> None:
    first = pa.table({"age": ["2*"] * 3, "ill": ["flu", "gout", "gout"]})
    withheld = pa.table({"age": ["2*"] * 3, "ill": [None, "gout", "gout"]})
    (only,) = differencing(first, withheld, sensitive="ill", m=2).exposed  # whose flu is withheld had flu
    assert (only.gone, only.new) == ({"flu": 1}, {})
    assert (
        differencing(withheld, withheld.slice(1), sensitive="ill").changed == ()
    )  # somebody without a value is gone
    assert differencing(withheld, withheld.slice(0, 1), sensitive="ill").unmatched == 0


def visits(table: pa.Table, k: int = 2, **options: Any) -> Any:
    return veil.anonymize(
        table,
        quasi_identifiers={"age": veil.hierarchies.intervals(10, 20)},
        sensitive=["ill"],
        identifying=["who"],
        models=[KAnonymity(k)],
        person="who",
        **options,
    )


VISITS = pa.table(
    {"who": list("AAAABBCC"), "age": [21] * 8, "ill": ["flu"] * 3 + ["gout"] + ["cold"] * 2 + ["flu", "flu"]}
)


def test_a_person_who_leaves_with_several_records_is_one_person() -> None:
    """Three records of one person differ: as many as m, but all of them are the values of A."""
    with_a, without_a = visits(VISITS), visits(VISITS.slice(4))
    (only,) = differencing(with_a, without_a, sensitive="ill", m=2).exposed
    assert (only.gone, only.records, only.people) == ({"flu": 3, "gout": 1}, 4, 1)
    (only,) = differencing(without_a, with_a, sensitive="ill", m=2).exposed
    assert (only.new, only.people) == ({"flu": 3, "gout": 1}, 1)
    more = pa.concat_tables([VISITS, pa.table({"who": ["D"], "age": [21], "ill": ["flu"]})])
    found = differencing(visits(more), without_a, sensitive="ill", m=2)
    assert (found.exposed, found.changed[0].people) == ((), 2)


def test_a_table_alone_does_not_show_whose_records_differ() -> None:
    with_a, without_a = visits(VISITS), visits(VISITS.slice(4))
    (only,) = differencing(with_a, without_a.arrow, sensitive="ill", m=2, quasi_identifiers=["age"]).exposed
    assert only.people == 1
