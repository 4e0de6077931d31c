"""What plans leave open: columns without a model, unseen and emptied ones, pseudonyms, several rows a person."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil import DistinctLDiversity, KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.dp import SafePub
from veil.masking import KeyedPseudonyms, RandomPseudonyms, RandomSampling
from veil.risk.concerns.concern import Concern


def visits(people: int, rows: int) -> pa.Table:
    """Several rows for each of some people, who have an age and a diagnosis."""
    chance = np.random.default_rng(1)
    who = np.sort(chance.integers(0, people, rows))
    return pa.table(
        {
            "patient id": [f"p{each}" for each in who],
            "age": who % 70,
            "diagnosis": [f"d{each}" for each in chance.integers(0, 4, rows)],
        }
    )


def concern(release: Release, kind: str) -> Concern | None:
    return next((each for each in release.concerns if each.kind == kind), None)


def anonymized(table: pa.Table, *models: Any, **options: Any) -> Release:
    options = {"identifying": "patient id", "sensitive": "diagnosis", "person": None, **options}
    return veil.anonymize(
        table, quasi_identifiers={"age": h.intervals(10, 20)}, models=[KAnonymity(5), *models], **options
    )


def test_a_sensitive_column_without_a_model() -> None:
    found = concern(anonymized(visits(1000, 1000)), "no model")
    assert found is not None
    assert found.key == "no model: diagnosis"
    assert "DistinctLDiversity('diagnosis', 2)" in found.step
    assert concern(anonymized(visits(1000, 1000), DistinctLDiversity("diagnosis", 2)), "no model") is None


def test_a_promise_that_every_table_keeps() -> None:
    table = pa.table({"age": [1, 2, 3]})
    made = veil.anonymize(table, quasi_identifiers={"age": "suppression"}, models=KAnonymity(1))
    found = concern(made, "no model")
    assert found is not None
    assert "nobody is protected" in found.statement
    assert made.acknowledge(found.key).concerns[-1].acknowledged
    made = veil.anonymize(table, quasi_identifiers={"age": "suppression"}, models=KAnonymity(2))
    assert concern(made, "no model") is None


def test_classes_of_many_rows_may_be_of_one_person() -> None:
    found = concern(anonymized(visits(70, 1500)), "several rows a person")
    assert found is not None
    assert found.columns == ("patient id",)
    assert "1,500 rows" in found.statement
    assert "70 people" in found.statement
    assert concern(anonymized(visits(100_000, 1500)), "several rows a person") is None  # a few namesakes
    counted = anonymized(visits(70, 1500), person="patient id")
    assert concern(counted, "several rows a person") is None


def test_the_fewest_people_of_a_class_are_counted() -> None:
    table = pa.table({"patient id": ["a"] * 6 + ["b", "c", "d", "e", "f"] * 2, "age": [10] * 6 + [20] * 10})
    made = veil.anonymize(
        table,
        quasi_identifiers={"age": h.identity()},
        identifying="patient id",
        models=KAnonymity(5),
        person=None,
    )
    found = concern(made, "several rows a person")
    assert found is not None
    assert "16 rows" in found.statement
    assert "6 people" in found.statement
    assert "smallest has 6" in found.statement
    assert "only 1 of" in found.statement


def test_a_code_of_something_else_is_no_person() -> None:
    table = visits(70, 1500).rename_columns(["occupation id", "age", "diagnosis"])
    made = anonymized(table, identifying="occupation id")
    assert concern(made, "several rows a person") is None


def test_columns_that_say_nothing_any_more() -> None:
    table = pa.table({"sex": ["f", "m"] * 5, "age": list(range(10)), "same": ["x"] * 10})
    made = veil.anonymize(
        table,
        quasi_identifiers={"sex": h.suppression(), "age": h.suppression()},
        insensitive="same",
        models=KAnonymity(5),
    )
    found = concern(made, "emptied")
    assert found is not None
    assert found.columns == ("age",)  # `same` never said anything, `sex` still does


def test_pseudonyms_link_rows_and_tables() -> None:
    table = visits(100, 1000)
    made = veil.mask(table, KeyedPseudonyms("patient id", key="9f2c71e05ad84b36c1f7a40d2e8b9563"))
    found = concern(made, "pseudonyms")
    assert found is not None
    different = len(set(table["patient id"].to_pylist()))
    assert f"{different} of them stand for 1,000 records" in found.statement
    alone = veil.mask(pa.table({"name": [f"n{each}" for each in range(50)]}), RandomPseudonyms("name"))
    again = concern(alone, "pseudonyms")
    assert again is not None
    assert "100 %" in again.statement
    assert concern(veil.mask(table, RandomSampling(size=500)), "pseudonyms") is None


def test_what_an_engine_writes_unseen_is_named() -> None:
    ibis = pytest.importorskip("ibis")
    table = visits(1000, 1000).append_column("weight", pa.array(np.arange(1000.0)))
    held = ibis.duckdb.connect().create_table("visits", table)
    made = anonymized(held, DistinctLDiversity("diagnosis", 2), others="keep")
    found = concern(made, "not looked at")
    assert found is not None
    assert found.columns == ("weight",)
    assert (
        concern(anonymized(held, DistinctLDiversity("diagnosis", 2), others="drop"), "not looked at") is None
    )


def test_of_a_private_release_only_the_release_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the report of a differentially private release learns nothing that the table does not tell."""
    table = pa.table({"sex": ["f", "m", "m"] * 400, "state": ["a", "b"] * 600})
    hierarchies = {
        "sex": h.table([["f", "*"], ["m", "*"], ["NULL", "*"]]),
        "state": h.table([["a", "*"], ["b", "*"], ["NULL", "*"]]),
    }
    made = veil.anonymize(
        table, quasi_identifiers=hierarchies, models=SafePub(1, 1e-4), for_testing_seed=1, person=None
    )

    def refuse(*_: object) -> None:
        raise AssertionError("the input was looked at")

    monkeypatch.setattr("veil.outcome.outcome.Outcome.original", property(refuse))
    constant = {name for name in ("sex", "state") if len(made.outcome.table[name].unique()) == 1}
    assert {each.kind for each in made.concerns} == ({"emptied"} if constant else set())
    assert {name for each in made.concerns for name in each.columns} == constant


@pytest.mark.parametrize(("k", "said"), [(2, True), (3, False)])
def test_the_mean_of_two_is_said(k: int, said: bool) -> None:
    """Each of both knows one value, and computes the other one."""
    table = pa.table({"sex": ["f", "f", "m", "m", "m"], "pay": [10, 20, 1, 2, 3]})
    made = veil.anonymize(
        table,
        quasi_identifiers={"sex": "suppression"},
        microaggregated={"pay": "mean"},
        models=veil.KAnonymity(k),
    )
    found = [each for each in made.concerns if each.kind == "aggregates of two"]
    assert [each.key for each in found] == (["aggregates of two: pay"] if said else [])
    assert all("1 class" in each.statement for each in found)


def test_a_class_of_two_people_is_one_of_two_however_many_rows_they_have() -> None:
    """Four rows of two people: each of the two can compute the mean of the other."""
    table = pa.table({"who": list("aabbcde"), "age": [20] * 4 + [30] * 3, "pay": [1, 3, 5, 7, 2, 4, 9]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"age": "identity"},
        models=KAnonymity(2),
        microaggregated={"pay": "mean"},
        identifying=["who"],
        person="who",
    )
    found = concern(release, "aggregates of two")
    assert found is not None
    assert "2 people" in found.statement
