"""Risks of people who may have several rows, against sets of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import veil
from support.longitudinal import anonymized, draw, owners
from support.oracle.people import Longitudinal
from support.refusals import refused
from veil.api.open import count_combinations
from veil.engines.relation import relation_of
from veil.errors import PlanError
from veil.risk import analyze, individual_risk


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


VISITS = pa.table(
    {
        "who": list("aabbccddeeff"),
        "age": [20] * 6 + [30] * 6,
        "weight": [2.0] * 12,
        "home": list("xxxxxxyyyyyy"),
    }
)


def released(knows: str = "one row") -> veil.Release:
    return veil.anonymize(
        VISITS,
        quasi_identifiers={"age": "identity"},
        models=veil.KAnonymity(2),
        identifying=["who"],
        person="who",
        knows=knows,
        others="keep",
    )


def test_a_release_counts_people_beside_a_table_of_the_population_too() -> None:
    """Six people have twelve rows; the population has the same and one more for each age."""
    more = pa.table({"who": list("gghh"), "age": [20, 20, 30, 30], "weight": [1.0] * 4, "home": list("xxyy")})
    everybody = pa.concat_tables([VISITS, more])
    expected = analyze(VISITS, "age", person="who", population=everybody, untouched=True).attackers
    assert analyze(released(), "age", population=everybody).attackers == expected
    assert expected.prosecutor.highest == 1 / 3
    assert expected.journalist.highest == 1 / 4
    with refused(PlanError, "no column 'who'"):
        analyze(released(), "age", population=everybody.drop_columns("who"))
    with refused(PlanError, "same rows"):
        analyze(released("all rows"), "age", population=everybody)


@pytest.mark.parametrize("options", [{"weights": "weight"}, {"household": "home"}, {"subset": [0, 1]}])
def test_single_records_of_a_release_that_counts_people_are_not_judged(options: dict[str, Any]) -> None:
    """Their classes would have people, and their weights or populations rows: risks would look smaller."""
    with refused(PlanError, "every row is a person"):
        analyze(released(), "age", **options)
    with refused(PlanError, "every row is a person"):
        individual_risk(released(), "age")


def test_the_strongest_promise_of_a_release_that_counts_people_is_in_people() -> None:
    def largest_k(**options: Any) -> float:
        strengths = veil.assess(released(), sensitive=[], **options).strengths
        return next(each.value for each in strengths if each.model == "KAnonymity")

    assert largest_k() == 3
    assert largest_k(person=None) == 6  # who says that every row is a person
    with refused(PlanError, "a person's rows"):
        veil.assess(released(), subset=[0, 1])


@pytest.mark.parametrize(("method", "tail"), [("TopCoding", 1000), ("BottomCoding", -1000)])
def test_the_mean_of_a_tail_that_is_one_persons_is_not_shown(method: str, tail: int) -> None:
    """Three cells are enough for a mean, unless all of them are those of one person."""
    table = pa.table({"who": list("aaabcd"), "pay": [tail, tail * 2, tail * 3, 1, 2, 3]})
    coding = getattr(veil.masking, method)("pay", tail, replacement="mean")
    for person, shown in (("who", tail), (None, tail * 2)):
        release = veil.mask(table, [coding], person=person, order="random")
        assert set(release.table["pay"].to_pylist()) - {1, 2, 3} == {shown}
        assert release.verification.holds


def test_an_engine_counts_people_beside_a_table_of_the_population_too() -> None:
    ibis = pytest.importorskip("ibis")
    relation = relation_of(ibis.duckdb.connect().create_table("visits", VISITS))
    options = {"marker": "*", "untouched": True, "person": "who", "knows": "one row"}
    published, size = count_combinations(relation, ["age"], VISITS, **options)
    assert size is None
    attackers = analyze(published).attackers
    assert attackers.journalist.highest == attackers.prosecutor.highest == 1 / 3
    with refused(PlanError, "no column 'who'"):
        count_combinations(relation, ["age"], VISITS.select(["age"]), **options)
