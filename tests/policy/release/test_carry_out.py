"""Policies carried out: what the recipient gets, and what the holder is told."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.policies import PEOPLE, attributes, datum, lecture, model, policy
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import HierarchyError, ImpossibleError, InputError, NoSolutionError, PlanError
from veil.masking import GlobalRecoding, RandomPseudonyms
from veil.policy import apply, processing_record
from veil.policy.documents.elements import Entity, Policy, PseudonymizationMethod, Retention
from veil.policy.release.chains import Chains
from veil.policy.release.combined import terms_of
from veil.policy.release.personal_minimum import lift
from veil.policy.rules.decide import (
    CREDENTIAL,
    NO_PURPOSE,
    NOT_ACCEPTED,
    NOT_ALLOWED,
    RETENTION,
    UNKNOWN,
    WITHDRAWN,
)

PATIENTS = pa.table(
    {
        "Name": list(PEOPLE),
        "Age": [int(each[0]) for each in PEOPLE.values()],
        "Zipcode": [each[1] for each in PEOPLE.values()],
        "Disease": [each[2] for each in PEOPLE.values()],
        "policy_id": list(PEOPLE),
    }
)
ASKED: dict[str, Any] = {"purpose": "research", "recipient": "lab"}


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


# The lecture


def test_the_second_step_of_the_lecture() -> None:
    policies = lecture()
    terms = [terms_of(each.purposes[0]) for each in policies.values()]
    made = {
        name: lift(PATIENTS[name], name, [each.levels[name] for each in terms], list(policies), np.arange(3))
        for name in ("Age", "Zipcode")
    }
    assert made["Age"].values is not None
    assert made["Zipcode"].values is not None
    assert made["Age"].values.to_pylist() == ["20-30", "25", "26"]
    assert made["Zipcode"].values.to_pylist() == ["53711", "537**", "53711"]


def test_the_release_of_the_lecture() -> None:
    release = apply(PATIENTS, lecture(), **ASKED)
    assert release.transformation == {"Age": 1, "Zipcode": 2}
    assert rows(release.table) == [
        ("20-30", "537**", disease) for disease in ("Bronchitis", "Flu", "Hepatitis")
    ]
    mapping = release.apart["pseudonyms"]
    assert sorted(mapping["value"].to_pylist()) == ["Alice", "Axel", "Bob"]
    assert len(set(mapping["pseudonym"].to_pylist())) == 3
    assert "pseudonyms" in release.secret
    assert release.account is not None
    assert release.account.coarser == {"Age": 1, "Zipcode": 1}


def test_pseudonyms_are_kept_where_the_policy_asks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLINIC_KEY", "9f2c71e05ad84b36c1f7a40d2e8b95630b1d5e6a7c8f92a3b4c5d6e7f8091a2b")
    keyed = PseudonymizationMethod("HMAC-SHA-256", "pid", attributes(keyRef="vault:7"), ("Name",))
    release = apply(PATIENTS, lecture(keyed), **ASKED, keys={"vault:7": "env:CLINIC_KEY"})
    again = apply(PATIENTS, lecture(keyed), **ASKED, keys={"vault:7": "env:CLINIC_KEY"})
    assert release.table.column_names == ["Age", "Zipcode", "Disease", "pid"]
    assert len(set(release.table["pid"].to_pylist())) == 3
    assert rows(release.table) == rows(again.table)
    assert not release.apart


def test_the_wrong_order_is_refused() -> None:
    recoding = GlobalRecoding("Name", mapping={"Alice": "Ali**", "Bob": "B**", "Axel": "Ax**"})
    with refused(PlanError, "Make pseudonyms first"):
        veil.mask(PATIENTS, [recoding, RandomPseudonyms("Name")])
    veil.mask(PATIENTS, [RandomPseudonyms("Name")])


def test_a_name_for_pseudonyms_must_not_be_somebodys_value() -> None:
    for value, column in (("Alice", "Name"), ("Flu", "Disease")):
        with refused(PlanError, "attrName", f"'{value}'", f"'{column}'"):
            apply(PATIENTS, lecture(PseudonymizationMethod("PID", value, (), ("Name",))), **ASKED)


def test_the_wrong_order_is_refused_in_recipes_too(tmp_path: Path) -> None:
    pd.DataFrame(PATIENTS.to_pydict()).to_csv(tmp_path / "patients.csv", index=False)
    for name in ("out", "secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "steps.yaml").write_text(
        "input: patients.csv\noutput: out/out.csv\napart: secret\nsteps:\n"
        "  - {kind: GlobalRecoding, column: Name, mapping: {Alice: Ali**, Bob: B**, Axel: Ax**}}\n"
        "  - {kind: RandomPseudonyms, columns: [Name]}\n"
    )
    with refused(PlanError, "Make pseudonyms first"):
        veil.run(tmp_path / "steps.yaml")
    assert not list((tmp_path / "out").iterdir())


def test_any_kind_of_table_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame(PATIENTS.to_pydict())
    release = apply(frame, lecture(), **ASKED)
    assert isinstance(release.table, pd.DataFrame)
    assert set(release.table["Age"]) == {"20-30"}
    file, folder = tmp_path / "patients.csv", tmp_path / "policies"
    frame.to_csv(file, index=False)
    folder.mkdir()
    for name, each in lecture().items():
        veil.policy.write(each, folder / f"{name}.json")
    released = apply(file, folder, **ASKED)
    (tmp_path / "out").mkdir()
    released.save(tmp_path / "out" / "release.csv")
    text = (tmp_path / "out" / "release.csv").read_text()
    for secret in ("Alice", "Bob", "Axel", "25", "26", "53711", "53712", "policy_id"):
        assert secret not in text


# Who may have which records


def changed(found: Policy, **more: Any) -> Policy:
    return dataclasses.replace(found, purposes=(dataclasses.replace(found.purposes[0], **more),))


def many(count: int = 4, **more: Any) -> dict[str, Policy]:
    """Policies of people who all agree, with ages that can be generalized."""
    return {
        f"p{at}": policy(
            f"p{at}",
            (datum("age", "QID", ("25", "20-30", "*"), 0, 2), datum("ill", "SD")),
            (model("k-Anonymity", k=2),),
            **more,
        )
        for at in range(count)
    }


def table_of(policies: dict[str, Policy]) -> pa.Table:
    return pa.table(
        {"age": [25] * len(policies), "ill": ["flu"] * len(policies), "policy_id": list(policies)}
    )


@pytest.mark.parametrize(
    ("more", "asked", "reason"),
    [
        ({"recipients": ()}, {}, UNKNOWN),
        ({"recipients": (Entity("lab", auth_info="cert:lab"),)}, {}, CREDENTIAL),
        ({"recipients": (Entity("lab", auth_info="cert:lab"),)}, {"credential": "cert:la"}, CREDENTIAL),
        ({"name": "billing"}, {}, NO_PURPOSE),
        ({"point_of_acceptance": None}, {}, NOT_ACCEPTED),
        ({"accepted": False}, {}, NOT_ACCEPTED),
        ({"point_of_acceptance": "4102444800"}, {}, NOT_ACCEPTED),
        ({"retention": Retention("fixedDate", "2026-12-31")}, {"on": date(2026, 12, 31)}, RETENTION),
        ({"retention": Retention("afterPurpose", "P2Y")}, {"on": date(2026, 12, 31), "ended": date(2024, 12, 31)}, RETENTION),
        ({}, {"withdrawn": {"p0": date(2026, 1, 1)}, "on": date(2026, 1, 1)}, WITHDRAWN),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_policy_that_says_no_leaves_its_record_out(
    more: dict[str, Any], asked: dict[str, Any], reason: str
) -> None:
    policies = many()
    policies["p0"] = changed(policies["p0"], **more)
    release = apply(table_of(policies), policies, **ASKED, **asked)
    assert release.account is not None
    assert release.account.left_out == {reason: 1}
    assert len(release.table) == 3
    assert release.account.rows is not None
    assert release.account.rows.tolist() == [1, 2, 3]


def test_a_recipient_of_another_purpose_is_not_allowed() -> None:
    policies = many()
    other = dataclasses.replace(policies["p0"].purposes[0], name="billing")
    own = dataclasses.replace(policies["p0"].purposes[0], recipients=(Entity("ward"),))
    policies["p0"] = dataclasses.replace(policies["p0"], purposes=(own, other))
    release = apply(table_of(policies), policies, **ASKED)
    assert release.account is not None
    assert release.account.left_out == {NOT_ALLOWED: 1}


@pytest.mark.parametrize(
    ("asked", "on"),
    [({"recipient": "lab", "purpose": "marketing"}, None), ({"recipient": "me", "purpose": "research"}, None),
     (ASKED, date(2027, 1, 1))],
)  # fmt: skip
def test_nothing_is_released_if_nobody_agrees(asked: dict[str, str], on: date | None) -> None:
    policies = many(retention=Retention("fixedDate", "2026-12-31"))
    with refused(PlanError, "no record", "(4)"):
        apply(table_of(policies), policies, on=on, **asked)


def test_credentials_open_the_door() -> None:
    policies = many(auth="cert:lab")
    assert len(apply(table_of(policies), policies, **ASKED, credential="cert:lab").table) == 4


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (["p0", "p1", "p2", None], "row 4: the record has no policy"),
        (["p0", "p1", "p2", "p9"], "row 4: the record is under policy 'p9', which is not given"),
        ([["p0"], ["p1", "p2"], ["p2"], ["p3"]], "a record has 2 policies"),
        ([["p0"], ["p1"], ["p2"], ["p3"]], "holds lists"),
    ],
)
def test_every_record_is_under_one_policy(column: list[Any], told: str) -> None:
    policies = many()
    table = table_of(policies).drop_columns("policy_id").append_column("policy_id", pa.array(column))
    with pytest.raises(InputError, match=told):
        apply(table, policies, **ASKED)
    with refused(PlanError, "no column 'policy'"):
        apply(table, policies, **ASKED, link="policy")


def test_only_what_the_purpose_lists_goes_out() -> None:
    policies = many()
    policies["p3"] = changed(policies["p3"], data=policies["p3"].purposes[0].data[:1])
    table = table_of(policies).append_column("note", pa.array(["secret"] * 4))
    release = apply(table, policies, **ASKED)
    assert release.table.column_names == ["age", "ill"]
    assert sorted(release.table["ill"].to_pylist(), key=str) == [None, "flu", "flu", "flu"]


def test_a_broken_policy_is_named_with_the_path() -> None:
    policies = many()
    policies["p2"] = changed(policies["p2"], models=(model("k-anonimity", k=3),))
    with refused(PlanError, "'p2'", "purpose[0].privacyModelList.privacyModel[0]"):
        apply(table_of(policies), policies, **ASKED)


# The common guarantee


def people(*rows: tuple[str, int, int, int], k: int = 2, **more: Any) -> tuple[pa.Table, dict[str, Policy]]:
    """A table of ages, each with the least and greatest level, and with k."""
    policies = {
        f"p{at}": policy(
            f"p{at}",
            (datum("age", "QID", (age, age[0] + "*", "*"), least, most), datum("ill", "SD")),
            (model("k-Anonymity", k=own or k),),
            **more,
        )
        for at, (age, least, most, own) in enumerate(rows)
    }
    ill = [f"i{at}" for at in range(len(rows))]
    return pa.table({"age": [row[0] for row in rows], "ill": ill, "policy_id": list(policies)}), policies


def test_the_strictest_k_and_the_least_cap_count() -> None:
    table, policies = people(("21", 0, 2, 2), ("22", 0, 2, 3), ("23", 0, 1, 2), ("24", 0, 2, 2))
    release = apply(table, policies, **ASKED)
    assert release.plan is not None
    assert release.plan.models == (KAnonymity(3),)
    assert release.plan.maximum_levels == {"age": 1}
    assert set(release.table["age"].to_pylist()) == {"2*"}


def test_privacy_wins_where_a_floor_is_above_the_cap() -> None:
    table, policies = people(("21", 2, 2, 1), ("22", 0, 1, 1), ("23", 0, 1, 1), k=1)
    release = apply(table, policies, **ASKED)
    assert sorted(release.table["age"].to_pylist()) == ["*", "22", "23"]
    assert release.account is not None
    assert any("privacy wins" in each for each in release.account.notes)


def test_generalized_values_form_classes_by_what_is_published() -> None:
    table, policies = people(("21", 1, 2, 0), ("22", 0, 2, 0), ("23", 0, 2, 0))
    release = apply(table, policies, **ASKED)
    assert release.table["age"].to_pylist() == ["2*"] * 3
    assert release.transformation == {"age": 1}
    alone, lone = people(("21", 2, 2, 0), ("22", 0, 2, 0), ("23", 0, 2, 0))
    assert apply(alone, lone, **ASKED).table["age"].to_pylist() == ["*"] * 3


def test_what_cannot_be_met_stops_or_leaves_the_demanding_out() -> None:
    table, policies = people(("21", 0, 1, 2), ("22", 0, 1, 2), ("23", 0, 1, 9))
    with refused(ImpossibleError, "classes of 9"):
        apply(table, policies, **ASKED)
    release = apply(table, policies, **ASKED, if_impossible="leave out")
    assert release.account is not None
    assert release.account.left_out == {"they ask for more than can be met together": 1}
    assert release.plan is not None
    assert release.plan.models == (KAnonymity(2),)
    table, policies = people(("21", 0, 1, 9), ("22", 0, 1, 9), ("23", 0, 1, 9))
    with pytest.raises(ImpossibleError):
        apply(table, policies, **ASKED, if_impossible="leave out")
    table, policies = people(("21", 0, 1, 2), ("22", 0, 1, 2), ("33", 0, 1, 2))
    with pytest.raises(NoSolutionError):
        apply(table, policies, **ASKED, if_impossible="leave out")


def test_groups_are_joined_and_what_names_people_goes() -> None:
    policies = many()
    data = policies["p1"].purposes[0].data
    policies["p1"] = changed(policies["p1"], data=(data[0], dataclasses.replace(data[1], privacy_group="EI")))
    assert apply(table_of(policies), policies, **ASKED).table.column_names == ["age"]
    both = many()
    data = both["p1"].purposes[0].data
    both["p1"] = changed(both["p1"], data=(data[0], dataclasses.replace(data[1], privacy_group="QID")))
    release = apply(table_of(both), both, **ASKED)
    assert release.plan is not None
    assert set(release.plan.quasi_identifiers) == {"age", "ill"}
    assert release.account is not None
    assert any("QID for some" in each for each in release.account.notes)


def test_what_follows_is_not_searched_for_and_still_checked() -> None:
    policies = {
        f"p{at}": policy(
            f"p{at}",
            (datum("age", "QID", (str(20 + at), "2*", "*"), 0, 2), datum("ill", "SD")),
            (model("k-Anonymity", k=3), model("l-Diversity", l=4)),
        )
        for at in range(8)
    }
    table = pa.table(
        {"age": [str(20 + at) for at in range(8)], "ill": list("abcdabcd"), "policy_id": list(policies)}
    )
    release = apply(table, policies, **ASKED)
    assert [str(each.promise) for each in release.verification.findings][:2] == [
        "3-anonymity",
        "distinct 4-diversity of 'ill'",
    ]
    assert release.account is not None
    assert any("l values need l records" in each for each in release.account.substituted)
    assert any("bare l-diversity" in each for each in release.account.notes)


def test_contradictions_are_named() -> None:
    one = model("delta-Presence", dMin=0.5, dMax=0.9)
    other = model("delta-Presence", dMin=0.1, dMax=0.2)
    policies = many()
    for name, each in (("p0", one), ("p1", other)):
        policies[name] = changed(policies[name], models=(each,))
    with refused(PlanError, "'p0'", "'p1'", "contradict"):
        apply(table_of(policies), policies, **ASKED)
    named = lecture()
    named["Bob"] = changed(
        named["Bob"], pseudonymization=(PseudonymizationMethod("SHA-256", None, (), ("Name",)),)
    )
    with refused(PlanError, "'Alice'", "'Bob'", "'Name' is pseudonymized"):
        apply(PATIENTS, named, **ASKED)


# Lists of different people


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (("25", "20-30", "*"), ("25", "20-29", "*"), "the value '25' has one list"),
        (("25", "20-30", "*"), ("26", "20-30", "+"), "'20-30' has one parent"),
        (("25", "20-30", "*"), ("26", "25", "*"), "'25' belongs to one level"),
        (("25", "20-30", "*"), ("20-30", "25", "*"), "belongs to one level"),
        (("25", "20-30", "*"), ("26", "20-30"), "a shorter list ends in the same top"),
    ],
)
def test_lists_that_do_not_fit_name_both_policies_and_both_chains(
    one: tuple[str, ...], other: tuple[str, ...], why: str
) -> None:
    with refused(HierarchyError, "not fit together") as caught:
        Chains("age", {one: "Alice", other: "Bob"})
    told = str(caught.value)
    assert why in told
    for each in ("Alice", "Bob", " → ".join(one), " → ".join(other)):
        assert each in told


def test_a_shorter_list_ends_in_the_same_top() -> None:
    chains = Chains(
        "age",
        {("25", "20-30", "<50", "*"): "Alice", ("61", "60-70", "*"): "Bob", ("26", "20-30", "*"): "Eve"},
    )
    assert [chains.at("61", level) for level in range(4)] == ["61", "60-70", "*", "*"]
    assert [chains.at("26", level) for level in range(4)] == ["26", "20-30", "<50", "*"]
    assert chains.cap(2, ("61", "60-70", "*")) == 3
    assert chains.hierarchy(["25", "20-30", "*"]).to_rows() == [
        ("25", "20-30", "<50", "*"), ("20-30", "20-30", "<50", "*"), ("*", "*", "*", "*"),
    ]  # fmt: skip


def test_values_that_nobody_lists_need_a_hierarchy() -> None:
    policies = many()
    table = table_of(policies).set_column(0, "age", pa.array([25, 25, 31, 32]))
    with refused(HierarchyError, "'31'", "no policy"):
        apply(table, policies, **ASKED)
    own = h.table([["25", "20-30", "*"], ["31", "30-40", "*"], ["32", "30-40", "*"]])
    release = apply(table, policies, **ASKED, hierarchies={"age": own})
    assert sorted(release.table["age"].to_pylist()) == ["20-30", "20-30", "30-40", "30-40"]


# What is told


def test_nothing_that_is_told_names_a_person_a_key_or_a_value(tmp_path: Path) -> None:
    secret = "9f2c71e05ad84b36c1f7a40d2e8b9563"
    keyed = PseudonymizationMethod("HMAC-SHA-256", "pid", attributes(keyRef="vault:7"), ("Name",))
    (tmp_path / "clinic.key").write_text(secret)
    release = apply(PATIENTS, lecture(keyed), **ASKED, keys={"vault:7": tmp_path / "clinic.key"})
    assert release.account is not None
    told = str(release.account) + json.dumps(release.account.as_data())
    for ending in ("html", "json"):
        release.report(tmp_path / f"report.{ending}")
        told += (tmp_path / f"report.{ending}").read_text()
    release.certificate(tmp_path / "certificate.json")
    told += (tmp_path / "certificate.json").read_text()
    for word in ("Alice", "Axel", "53711", "53712", secret, "clinic.key"):
        assert word not in told, word


def test_no_document_tells_a_guess_apart_from_a_miss(tmp_path: Path) -> None:
    """Two tables of people whose policies differ in what nobody sees have the same certificate and record."""
    told = []
    for at, last in enumerate(("2031-01-01", "2032-02-02")):
        policies = many(retention=Retention("fixedDate", last))
        release = apply(table_of(policies), policies, **ASKED, on=date(2026, 1, 1))
        certificate = json.loads(release.certificate(tmp_path / f"c{at}.json").read_text())
        for name in ("date", "checksum"):  # the checksum is of the rest, with the second it was written
            del certificate[name]
        told.append((certificate, processing_record(release, tmp_path / f"r{at}.jsonld").read_text()))
    assert told[0] == told[1]


# Releases over time


def test_who_withdraws_does_not_show_in_the_difference() -> None:
    table, policies = people(*(("21", 0, 1, 2) for _ in range(6)))
    first = apply(table, policies, **ASKED)
    gone: dict[str, Any] = {"withdrawn": {"p0": date(2026, 1, 1)}, "on": date(2026, 2, 1)}
    with refused(PlanError, "1 class ", "earlier release", "fewer than 2"):
        apply(table, policies, **ASKED, **gone, previous=first)
    release = apply(table, policies, **ASKED, **gone, previous=[first], although_differences_tell=True)
    assert release.account is not None
    assert any("its difference" in each for each in release.account.notes)
    same = apply(table, policies, **ASKED, previous=first)
    assert same.account is not None
    assert same.account.notes == ()
    key = release.origins
    assert sorted(key["input row"].to_pylist()) == [1, 2, 3, 4, 5]


# Any policies, judged row by row


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(20, 43), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3), st.booleans()
        ),
        min_size=1,
        max_size=12,
    )
)
def test_whatever_people_ask_is_met_row_by_row(asked: list[tuple[int, int, int, int, bool]]) -> None:
    policies = {
        f"p{at}": policy(
            f"p{at}",
            (datum("age", "QID", chain(age), min(one, other), max(one, other)), datum("ill", "SD")),
            (model("k-Anonymity", k=k),),
            accepted="1735689600" if agrees else None,
        )
        for at, (age, one, other, k, agrees) in enumerate(asked)
    }
    table = pa.table(
        {
            "age": [each[0] for each in asked],
            "ill": [f"i{at}" for at in range(len(asked))],
            "policy_id": list(policies),
        }
    )
    agreeing = [at for at, each in enumerate(asked) if each[4]]
    strictest = max((asked[at][3] for at in agreeing), default=0)
    caps = min((max(asked[at][1:3]) for at in agreeing), default=0)
    try:
        release = apply(table, policies, **ASKED)
    except ImpossibleError:
        assert strictest > len(agreeing)
        return
    except PlanError:
        assert not agreeing
        return
    except NoSolutionError:
        for level in range(caps + 1):
            labels = Counter(chain(asked[at][0])[max(level, min(asked[at][1:3]))] for at in agreeing)
            assert min(labels.values()) < strictest
        return
    key = release.origins
    released = dict(zip(key["input row"].to_pylist(), key["release row"].to_pylist(), strict=True))
    assert sorted(released) == agreeing
    rows = release.table.to_pylist()
    sizes = Counter(row["age"] for row in rows)
    for at in agreeing:
        age, one, other, _, _ = asked[at]
        row = rows[released[at]]
        level = chain(age).index(row["age"])
        assert level >= min(one, other)
        assert level <= max(caps, min(one, other))
        assert row["ill"] == f"i{at}"
        assert sizes[row["age"]] >= strictest


def chain(age: int) -> tuple[str, str, str]:
    return str(age), f"{age // 10}*", "*"
