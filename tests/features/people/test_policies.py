"""Policies that speak of people: several records of one person, populations, and columns that are two things at once."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.policies import attributes, datum, model, policy
from support.refusals import refused
from veil.errors import ImpossibleError, InputError, NoSolutionError, PlanError, Say
from veil.models import KAnonymity, Profitability
from veil.models.implication import weakest
from veil.policy import apply, check
from veil.policy.documents.elements import Entity, Policy, PolicyModel, PseudonymizationMethod
from veil.policy.release.population import others_of

ASKED: dict[str, Any] = {"purpose": "research", "recipient": "lab"}


def chain(age: int) -> tuple[str, str, str]:
    return str(age), f"{age // 10}*", "*"


def asks(name: str, age: int, *models: PolicyModel, least: int = 0, **more: Any) -> Policy:
    data = (datum("age", "QID", chain(age), least, 2), datum("ill", "SD"))
    return policy(name, data, models, **more)


# Several records of one person


def two_records_each(k: int = 2) -> tuple[pa.Table, dict[str, Policy]]:
    ages = [23, 24, 34, 35]
    policies = {f"p{at}": asks(f"p{at}", age, model("k-Anonymity", k=k)) for at, age in enumerate(ages)}
    ids = [name for name in policies for _ in range(2)]
    return pa.table({"age": np.repeat(ages, 2), "ill": ["flu", "cold"] * 4, "policy_id": ids}), policies


def test_records_of_one_person_are_no_crowd() -> None:
    table, policies = two_records_each()
    release = apply(table, policies, **ASKED)
    assert Counter(release.table["age"].to_pylist()) == {"2*": 4, "3*": 4}
    assert release.table.column_names == ["age", "ill"]
    assert release.people == 4
    alone = apply(table, policies, **ASKED, person=None)  # as whoever says so has to know
    assert Counter(alone.table["age"].to_pylist()) == {"23": 2, "24": 2, "34": 2, "35": 2}


def test_people_may_be_told_apart_by_another_column() -> None:
    table, policies = two_records_each()
    table = table.append_column("patient", pa.array(["a", "a", "b", "b", "c", "c", "c", "c"]))
    release = apply(table, policies, **ASKED, person="patient")
    assert Counter(release.table["age"].to_pylist()) == {"*": 8}  # c alone has an age in the thirties
    assert release.table.column_names == ["age", "ill"]
    with refused(PlanError, "mean 'patient'", "no column 'patiant'", "tells people apart"):
        apply(table, policies, **ASKED, person="patiant")


def test_more_people_than_there_are_cannot_be_asked_for() -> None:
    table, policies = two_records_each(5)
    with refused(ImpossibleError, "5 people", "only 4"):
        apply(table, policies, **ASKED)


def test_published_pseudonyms_tell_which_rows_belong_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever knows that somebody has rows of two ages finds the pseudonym that stands on both."""
    monkeypatch.setenv("KEY", "9f2c71e05ad84b36c1f7a40d2e8b95630b1d5e6a7c8f92a3b4c5d6e7f8091a2b")
    keyed = PseudonymizationMethod("HMAC-SHA-256", "pid", attributes(keyRef="vault:7"), ("name",))
    data = (datum("name", "EI"), datum("age", "QID"), datum("ill", "SD"))
    asked = (model("k-Anonymity", k=2),)
    ids = ["ada", "ada", "bob", "bob", "cem", "cem"]
    made = {name: policy(name, data, asked, pseudonymization=(keyed,)) for name in dict.fromkeys(ids)}
    table = pa.table({"name": ids, "age": [1, 2, 1, 1, 2, 2], "ill": list("abcdef"), "policy_id": ids})
    release = apply(table, made, **ASKED, keys={"vault:7": "env:KEY"})
    assert release.table.column_names == ["age", "ill", "pid"]
    assert set(release.table["age"].to_pylist()) == {"*"}  # two people have each age, and nobody else both


# Populations


def chosen(*models: PolicyModel, least: int = 0) -> tuple[pa.Table, dict[str, Policy]]:
    ages = [23, 24, 34]
    policies = {
        f"p{at}": asks(f"p{at}", age, *models, least=least if at == 0 else 0) for at, age in enumerate(ages)
    }
    return pa.table({"age": ages, "ill": ["flu", "cold", "gout"], "policy_id": list(policies)}), policies


EVERYBODY = pa.table({"age": [23, 23, 23, 24, 24, 34, 34, 34, 34]})


def test_k_map_counts_those_who_are_not_released() -> None:
    table, policies = chosen(model("k-Map", k=2))
    release = apply(table, policies, **ASKED, population=EVERYBODY)
    assert sorted(release.table["age"].to_pylist()) == ["23", "24", "34"]
    table, policies = chosen(model("k-Map", k=3))
    release = apply(table, policies, **ASKED, population=EVERYBODY)
    assert sorted(release.table["age"].to_pylist()) == ["2*", "2*", "3*"]
    assert release.table.num_rows == 3  # nobody of the population goes along
    assert any("3-map" in each for each in release.account.findings)  # type: ignore[union-attr]


def test_delta_presence_is_a_share_of_the_population() -> None:
    table, policies = chosen(model("delta-Presence", minimum=0.1, maximum=0.4))
    release = apply(table, policies, **ASKED, population=EVERYBODY)
    assert sorted(release.table["age"].to_pylist()) == [
        "2*",
        "2*",
        "3*",
    ]  # 2 of 5 and 1 of 4; 24 alone is 1 of 2
    table, policies = chosen(model("delta-Presence", minimum=0.5, maximum=1))
    with pytest.raises(NoSolutionError):
        apply(table, policies, **ASKED, population=EVERYBODY)


def test_inclusion_releases_those_who_were_chosen() -> None:
    table, policies = chosen(model("Inclusion"))
    release = apply(table, policies, **ASKED, population=EVERYBODY)
    assert sorted(release.table["age"].to_pylist()) == ["23", "24", "34"]


def test_nobody_is_released_where_a_stronger_model_was_searched_for() -> None:
    """k-anonymity implies k-map, and then no model of the search speaks of who is chosen."""
    table, policies = chosen(model("k-Map", k=2), model("k-Anonymity", k=2))
    release = apply(table, policies, **ASKED, population=EVERYBODY)
    assert release.table.num_rows == 3
    assert sorted(release.table["ill"].to_pylist()) == ["cold", "flu", "gout"]


def test_beside_a_population_those_who_look_alike_look_alike() -> None:
    """One person's minimum would else make a class of its own, in which nobody of the population is counted."""
    table, policies = chosen(model("delta-Presence", minimum=0.3, maximum=1), least=1)
    release = apply(table, policies, **ASKED, population=EVERYBODY)
    assert sorted(release.table["age"].to_pylist()) == ["*", "*", "*"]  # 2 of 5 would do, 1 of 4 does not


def test_the_population_has_to_be_told() -> None:
    table, policies = chosen(model("k-Map", k=2))
    with refused(PlanError, "the population", Say("population")):
        apply(table, policies, **ASKED)
    with refused(InputError, "row 2", "population", "'age'"):
        apply(table, policies, **ASKED, population=pa.table({"age": [23, 34]}))
    with refused(PlanError, "no column 'age'", "mean 'ages'", "population"):
        apply(table, policies, **ASKED, population=pa.table({"ages": [23, 34]}))
    mixed = {**policies, "p2": policy("p2", (datum("ill", "SD"),), (model("k-Map", k=2),))}
    with refused(PlanError, "'age'", "blanked"):
        apply(table, mixed, **ASKED, population=EVERYBODY)


def test_a_size_of_the_population_needs_no_people() -> None:
    table, policies = chosen(model("k-Map", k=2, population=1000))
    release = apply(table, policies, **ASKED, suppression_limit=1.0)
    assert release.verification.holds


def test_beside_a_population_nobody_may_have_several_records() -> None:
    table, policies = chosen(model("k-Map", k=2))
    twice, everybody = pa.concat_tables([table, table]), pa.concat_tables([EVERYBODY, EVERYBODY])
    with refused(PlanError, "'policy_id'", "several records") as found:
        apply(twice, policies, **ASKED, population=everybody)
    assert "one record per" in str(found.value)
    assert "person=None" in str(found.value)
    assert apply(twice, policies, **ASKED, population=everybody, person=None).table.num_rows == 6
    named = table.append_column("who", pa.array(["a", "b", "c"]))  # of whom each has one
    release = apply(named, policies, **ASKED, population=EVERYBODY, person="who")
    assert sorted(release.table["age"].to_pylist()) == ["23", "24", "34"]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8))
def test_others_are_the_population_without_the_table(here: list[int], more: list[int]) -> None:
    table, population = (
        pa.table({"a": pa.array(here, pa.int64())}),
        pa.table({"a": pa.array([*more, *here], pa.int64())}),
    )
    assert Counter(others_of(table, population, ["a"])["a"].to_pylist()) == Counter(more)


# A column that is a quasi-identifier for some and sensitive for others


def both(jobs: list[str], *, level: dict[str, str], k: int, l: int) -> tuple[pa.Table, dict[str, Policy]]:
    """The first half calls the job sensitive, the others a quasi-identifier."""
    made = {}
    for at, job in enumerate(jobs):
        name = f"p{at}"
        group = "SD" if at < len(jobs) // 2 else "QID"
        data = (datum("age", "QID"), datum("job", group, (job, level[job], "*"), 0, 2))
        asked = (model("l-Diversity", "job", l=l),) if group == "SD" else (model("k-Anonymity", k=k),)
        made[name] = policy(name, data, asked)
    return pa.table({"age": [30] * len(jobs), "job": jobs, "policy_id": list(made)}), made


LEVEL = {"nurse": "medical", "doctor": "medical", "smith": "craft", "baker": "craft"}


def test_a_column_may_be_known_to_some_and_sensitive_to_others() -> None:
    table, policies = both(["nurse", "doctor", "smith", "baker"], level=LEVEL, k=2, l=2)
    release = apply(table, policies, **ASKED)
    assert release.table.column_names == ["age", "job"]
    assert Counter(release.table["job"].to_pylist()) == {"medical": 2, "craft": 2}
    told = str(release.account)
    assert "'job'" in told
    assert "QID for some" in told
    assert "2-diversity" in told
    assert "job before generalization" not in json.dumps(release.table.to_pydict())


def test_what_was_sensitive_is_still_diverse_where_it_is_generalized() -> None:
    table, policies = both(["nurse", "nurse", "smith", "baker"], level=LEVEL, k=2, l=2)
    release = apply(table, policies, **ASKED)  # all who are medical are nurses
    assert set(release.table["job"].to_pylist()) == {"*"}
    bare = both(["nurse", "nurse", "nurse", "nurse"], level=LEVEL, k=2, l=2)
    with refused(ImpossibleError, "'job before generalization'"):
        apply(*bare, **ASKED)


def test_files_do_not_hold_what_cells_were(tmp_path: Path) -> None:
    table, policies = both(["nurse", "doctor", "smith", "baker"], level=LEVEL, k=2, l=2)
    release = apply(table, policies, **ASKED)
    release.save(tmp_path / "release.csv")
    release.certificate(tmp_path / "certificate.json")
    release.report(tmp_path / "report.json")
    for each in tmp_path.iterdir():
        text = each.read_text(encoding="utf-8")
        assert not [job for job in LEVEL if f'"{job}"' in text or f",{job}" in text]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(sorted(LEVEL)), min_size=2, max_size=8), st.integers(1, 3), st.integers(1, 3))
def test_both_hold_of_every_class(jobs: list[str], k: int, l: int) -> None:
    table, policies = both(jobs, level=LEVEL, k=k, l=l)
    try:
        release = apply(table, policies, **ASKED)
    except (NoSolutionError, ImpossibleError):
        assert len(jobs) < max(k, l) or len(set(jobs)) < l
        return
    key = release.origins
    before = dict(zip(key["release row"].to_pylist(), key["input row"].to_pylist(), strict=True))
    classes = defaultdict(list)
    for at, row in enumerate(release.table.to_pylist()):
        classes[row["age"], row["job"]].append(jobs[before[at]])
    assert all(len(each) >= k and len(set(each)) >= l for each in classes.values())


# Ties, chains, absent columns


NO_PROFIT = Profitability(attacker="prosecutor", no_attack=True, adversary_gain=8, cost=4)
"""The same as 3-anonymity: each follows from the other."""


@pytest.mark.parametrize("better", [KAnonymity(3), NO_PROFIT])
def test_ties_are_decided_by_what_is_lost(better: Any) -> None:
    found = weakest([KAnonymity(3), NO_PROFIT], trial=lambda models: 0.1 if models == (better,) else 0.2)
    assert found.models == (better,)
    assert len(found.others) == 1


def test_what_is_no_tie_is_not_tried() -> None:
    tried: list[Any] = []
    assert weakest(
        [KAnonymity(3), KAnonymity(2)], trial=lambda models: tried.append(models) or 0.0
    ).models == (KAnonymity(3),)  # type: ignore[func-returns-value]
    assert tried == []


def test_a_tie_is_tried_out_on_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two models implies the other, so that either will do, and both are tried, each once."""
    searched: list[Any] = []

    def noted(*given: Any, **more: Any) -> Any:
        searched.append(more["models"])
        return veil.anonymize(*given, **more)

    monkeypatch.setattr("veil.policy.release.run.anonymize", noted)
    money = model("Profitability Prosecutor No Attack", gain=8, cost=4, benefit=1200, loss=300)
    ages = [23, 24, 25, 34, 35, 36]
    policies = {
        f"p{at}": asks(f"p{at}", age, model("k-Anonymity", k=3), money) for at, age in enumerate(ages)
    }
    table = pa.table({"age": ages, "ill": list("abcdef"), "policy_id": list(policies)})
    release = apply(table, policies, **ASKED)
    assert release.account is not None
    assert len(searched) == 2
    assert any("follows" in each for each in release.account.substituted)
    assert Counter(release.table["age"].to_pylist()) == {"2*": 3, "3*": 3}


def test_what_is_passed_on_must_not_be_widened() -> None:
    old = asks("old", 25, model("k-Anonymity", k=3))
    fine = {
        f"p{at}": dataclasses.replace(asks(f"p{at}", 25, model("k-Anonymity", k=3)), underlying=(old,))
        for at in range(3)
    }
    table = pa.table({"age": [25] * 3, "ill": ["a", "b", "c"], "policy_id": list(fine)})
    assert len(apply(table, fine, **ASKED).table) == 3
    weaker = {**fine, "p1": dataclasses.replace(asks("p1", 25, model("k-Anonymity", k=2)), underlying=(old,))}
    with refused(PlanError, "'p1'", "purpose[0].privacyModelList", "underlying policy"):
        apply(table, weaker, **ASKED)
    purpose = dataclasses.replace(fine["p2"].purposes[0], recipients=(Entity("lab"), Entity("friend")))
    wider = {**fine, "p2": dataclasses.replace(fine["p2"], purposes=(purpose,))}
    with refused(PlanError, "'p2'", "recipient 'friend'"):
        apply(table, wider, **ASKED)


def test_columns_that_the_table_lacks_are_told() -> None:
    data = (datum("age", "QID"), datum("agge", "QID"), datum("salary", "SD"))
    policies = {name: policy(name, data, (model("k-Anonymity", k=2),)) for name in ("a", "b")}
    assert not [each for each in check(policies["a"]) if each.grave]
    release = apply(pa.table({"age": [1, 1], "policy_id": ["a", "b"]}), policies, **ASKED)
    assert release.account is not None
    assert (
        "policies list 'agge', and the table has no such column. Did you mean 'age'?" in release.account.notes
    )
    assert any("'salary'" in each for each in release.account.notes)
