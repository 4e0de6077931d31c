"""Risks of people who may have several rows, against sets of them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import veil
from support.longitudinal import anonymized, draw, owners
from support.oracle.people import Longitudinal
from support.refusals import refused
from veil.errors import PlanError
from veil.risk import analyze


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_the_risk_of_a_person_is_one_over_those_who_look_the_same(knows: str) -> None:
    compared = 0
    for seed in range(60):
        case = draw(seed)
        if case.options["knows"] != knows or (release := anonymized(case)) is None:
            continue
        names = list(case.options["quasi_identifiers"])
        rows, whose = release.table.to_pylist(), owners(release, case.table)
        shown = [i for i, row in enumerate(rows) if any(cell not in ("*", None) for cell in row.values())]
        after = Longitudinal([rows[i] for i in shown], [whose[i] for i in shown], names)
        before = Longitudinal(case.table.to_pylist(), case.table["who"].to_pylist(), names)
        for risk, table in zip(release.risk(), (before, after), strict=True):
            sizes = [len(group) for group in table.groups(all_rows=knows == "all rows")]
            assert (risk.classes, risk.records) == (len(sizes), sum(sizes))
            assert risk.highest == (1 / min(sizes) if sizes else 0)
            compared += 1
        found = analyze(case.table, names, person="who", knows=knows, untouched=True)
        sizes = [len(group) for group in before.groups(all_rows=knows == "all rows")]
        assert found.attackers.prosecutor.highest == 1 / min(sizes)
        assert found.sample_uniques.records == sizes.count(1)
    assert compared > 10


def test_what_speaks_of_rows_does_not_go_with_people() -> None:
    table = pa.table({"who": ["a", "a", "b"], "sex": ["f", "f", "m"], "weight": [1.0, 2.0, 3.0]})
    with refused(PlanError, "row", "a person"):
        analyze(table, "sex", person="who", weights="weight")
    with refused(PlanError, "a person's rows"):
        veil.assess(table, quasi_identifiers="sex", person="who", subset=[0])
    assert analyze(table, "sex", person="who", population=100).population_uniques is None


def test_population_uniques_of_people_whose_rows_are_all_known() -> None:
    """Everybody twice: people who have the same rows are those who had the same row, and as many."""
    ages = [20, 20, 21, 22, 23, 23, 23, 24, 25, 25, 26, 27, 28, 28, 29, 30]
    once = pa.table({"age": ages})
    twice = pa.table({"who": list(range(len(ages))) * 2, "age": ages * 2})
    expected = analyze(once, "age", population=1000, untouched=True).population_uniques
    found = analyze(twice, "age", population=1000, untouched=True, person="who", knows="all rows")
    assert expected is not None
    assert found.population_uniques == expected
