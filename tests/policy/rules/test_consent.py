"""Consent: every field that can say no decides, and every cell of a release is one that its person allows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support import refusals
from support.policies import datum, model, policy
from veil.errors import PlanError, VerificationError
from veil.policy import apply, parse, refused_cells, to_json, to_xml
from veil.policy.documents.elements import (
    ELEMENTS,
    AnonymizationMethod,
    Attribute,
    Data,
    Entity,
    Policy,
    PolicyModel,
    PseudonymizationMethod,
    Purpose,
    Retention,
    SubPurpose,
    spellings,
)
from veil.policy.rules.checks import check, check_to_run
from veil.policy.rules.decide import (
    NO_DATA,
    NOT_ACCEPTED,
    POLICY_REFUSED,
    RECIPIENT_REFUSED,
    RETENTION,
    THIRD_COUNTRY,
    Request,
    decide,
)
from veil.policy.rules.explain import explain
from veil.policy.rules.onward_transfer import check_chain

TODAY = date(2026, 6, 1)
LATER = "2027-01-01"
ASKED = Request("research", "lab", TODAY)
DATA = (
    Data("age", privacy_group="QID", required=False, method=AnonymizationMethod("Generalization", (), ("25", "*"))),
    Data("ill", privacy_group="SD", required=False),
    Data("name", privacy_group="EI", required=False),
)  # fmt: skip


def purpose(**more: Any) -> Purpose:
    given = {
        "point_of_acceptance": "2026-01-01",
        "recipients": (Entity("lab", type="DataRecipient"), Entity("ward")),
        "retention": Retention("indefinite"),
        "models": (PolicyModel("k-Anonymity", (Attribute("k", "2"),)),),
        "pseudonymization": (PseudonymizationMethod("PID", "pid", (), ("name",)),),
        "data": DATA,
    }
    return Purpose("research", **(given | more))


def person(*more: Purpose, **of_policy: Any) -> Policy:
    return Policy("ada", purposes=more or (purpose(),), controllers=(Entity("clinic"),), **of_policy)


def no(part: Any, **more: Any) -> Any:
    return dataclasses.replace(part, accepted=False, **more)


def later(part: Any, **more: Any) -> Any:
    return dataclasses.replace(part, point_of_acceptance=LATER, **more)


def first(parts: tuple[Any, ...], refuse: Callable[..., Any], **more: Any) -> tuple[Any, ...]:
    return (refuse(parts[0], **more), *parts[1:])


WHOLE = purpose()
PART = dataclasses.replace(WHOLE, name="part")
LINK = (SubPurpose("research", "part"),)
ROWS: dict[str, tuple[Callable[[Callable[..., Any]], Policy], str | set[str]]] = {
    "policy": (lambda refuse: refuse(person()), POLICY_REFUSED),
    "data source": (lambda refuse: person(source=refuse(Entity("ada"))), POLICY_REFUSED),
    "purpose": (lambda refuse: person(refuse(purpose())), NOT_ACCEPTED),
    "another purpose, required": (lambda refuse: person(purpose(), refuse(PART, required=True)), POLICY_REFUSED),
    "another purpose": (lambda refuse: person(purpose(), refuse(PART)), set()),
    "a part of the purpose": (lambda refuse: person(purpose(), refuse(PART), hierarchy=LINK), NOT_ACCEPTED),
    "the whole of the purpose": (lambda refuse: person(dataclasses.replace(WHOLE, name="whole", **vars_of(refuse)), WHOLE, hierarchy=(SubPurpose("whole", "research"),)), NOT_ACCEPTED),
    "recipient": (lambda refuse: person(purpose(recipients=first(WHOLE.recipients, refuse))), RECIPIENT_REFUSED),
    "another recipient": (lambda refuse: person(purpose(recipients=first(WHOLE.recipients[::-1], refuse))), set()),
    "another recipient, required": (lambda refuse: person(purpose(recipients=first(WHOLE.recipients[::-1], refuse, required=True))), NOT_ACCEPTED),
    "retention": (lambda refuse: person(purpose(retention=refuse(WHOLE.retention))), NOT_ACCEPTED),
    "privacy model": (lambda refuse: person(purpose(models=first(WHOLE.models, refuse))), NOT_ACCEPTED),
    "pseudonymization": (lambda refuse: person(purpose(pseudonymization=first(WHOLE.pseudonymization, refuse))), NOT_ACCEPTED),
    "datum": (lambda refuse: person(purpose(data=first(DATA, refuse))), {"age"}),
    "datum, required": (lambda refuse: person(purpose(data=first(DATA, refuse, required=True))), NOT_ACCEPTED),
    "datum with a pseudonym": (lambda refuse: person(purpose(data=first(DATA[::-1], refuse))), {"name"}),
    "every datum": (lambda refuse: person(purpose(data=tuple(map(refuse, DATA)))), NO_DATA),
    "anonymization method": (lambda refuse: person(purpose(data=(dataclasses.replace(DATA[0], method=refuse(DATA[0].method)), *DATA[1:]))), {"age"}),
    "datum in an underlying policy": (lambda refuse: person(underlying=(person(purpose(data=first(DATA, refuse))),)), {"age"}),
    "purpose in an underlying policy": (lambda refuse: person(underlying=(person(refuse(purpose())),)), NOT_ACCEPTED),
    "recipient in an underlying policy": (lambda refuse: person(underlying=(person(purpose(recipients=first(WHOLE.recipients, refuse))),)), RECIPIENT_REFUSED),
    "datum in a part of the purpose": (lambda refuse: person(purpose(), dataclasses.replace(PART, data=first(DATA, refuse)), hierarchy=LINK), {"age"}),
}  # fmt: skip


def vars_of(refuse: Callable[..., Any]) -> dict[str, Any]:
    return {"accepted": False} if refuse is no else {"point_of_acceptance": LATER}


@pytest.mark.parametrize("refuse", [no, later])
@pytest.mark.parametrize("row", ROWS)
def test_every_refusal_decides(row: str, refuse: Callable[..., Any]) -> None:
    """What is in the table of docs/policies.md, in every form of a document; and `check` and `explain` name it."""
    make, follows = ROWS[row]
    given = make(refuse)
    for found in (given, parse(to_json(given)), parse(to_xml(given))):
        verdict = decide(found, ASKED)
        if isinstance(follows, str):
            assert verdict.reason == follows
        else:
            assert (verdict.reason, verdict.withheld) == (None, follows)
        told = [str(each) for each in check(found, on=TODAY) if each.refused]
        assert told, row
        assert all(each in "\n".join(explain(found, TODAY)) for each in told)
        assert not any(each.refused for each in check(found, on=date(2028, 1, 1))) or refuse is no
    if refuse is later and follows != set():
        assert decide(given, ASKED._replace(on=date.fromisoformat(LATER))).reason is None


ABROAD: list[tuple[dict[str, Any], bool]] = [
    ({"third_country_transfer": True}, False),
    ({"third_country_transfer": True, "country": "CH"}, False),
    ({"third_country_transfer": True, "country": "CH", "adequacy_decision": True}, True),
    ({"third_country_transfer": True, "adequacy_decision": True}, False),  # of which country?
    ({"third_country_transfer": True, "country": "US", "safeguards": ("standard clauses",)}, True),
    ({"country": "US"}, False),
    ({"third_country_transfer": False, "country": "us "}, False),
    ({"country": "DE"}, True),
    ({"country": "NO"}, True),
    ({}, True),
]


@pytest.mark.parametrize(("said", "fine"), ABROAD, ids=range(len(ABROAD)))
def test_data_leave_the_union_only_under_protection(said: dict[str, Any], fine: bool) -> None:
    found = person(purpose(recipients=(Entity("lab", **said),)))
    assert decide(found, ASKED).reason == (None if fine else THIRD_COUNTRY)
    assert fine or any("to 'lab'" in str(each) for each in check(found))
    assert (refused_cells(pa.table({"ill": ["flu"]}), ["ada"], {"ada": found}, ASKED) == {}) is fine


def test_a_country_that_nobody_knows_is_asked_for() -> None:
    with refusals.refused(PlanError, "'Germany'", "country"):
        check_to_run(person(purpose(recipients=(Entity("lab", country="Germany"),))), "ada")
    check_to_run(
        person(purpose(recipients=(Entity("lab", country="Germany", third_country_transfer=False),))), "p"
    )


def test_what_is_passed_on_is_no_more_than_was_accepted() -> None:
    for under in (person(no(WHOLE)), person(purpose(data=first(DATA, no))), no(person())):
        assert check_chain(person(underlying=(under,)))
    moved = person(purpose(recipients=(Entity("lab", country="US", safeguards=("clauses",)),)))
    assert any(
        "'lab' in US" in str(each) for each in check_chain(dataclasses.replace(moved, underlying=(person(),)))
    )


@pytest.mark.parametrize(
    "tree",
    [
        {"consent": "no"},
        {"purposeList": {"purpose": [{"name": "research", "isRefused": True}]}},
        {"purposeList": {"purpose": [{"name": "research", "dataList": [{"name": "ill", "validUntil": "2020"}]}]}},
        {"purposeList": {"purpose": [{"name": "research", "legalBasis": [{"lbCategory": "consent", "accepted": False}]}]}},
        {"purposeList": {"purpose": [{"name": "research", "dataList": [{"name": "a", "dataGroup": [{"name": "g", "accepted": False}]}]}]}},
        {"purposeList": {"purpose": [{"name": "research", "note": {"deep": [{"withdrawnAt": "2020"}]}}]}},
        {"purposeList": {"purpose": [{"name": "research", "dataRecipient": [{"name": "lab", "pointOfAcceptance": "soon"}]}]}},
    ],
    ids=range(7),
)  # fmt: skip
def test_a_limit_in_words_that_nobody_knows_stops_the_release(tree: dict[str, Any]) -> None:
    found = parse(json.dumps({"layeredPrivacyPolicy": {"name": "ada", **tree}}))
    told = [each.text for each in check(found) if each.grave]
    assert any("may allow less" in each or "'soon' is not a date" in each for each in told), told


def test_methods_that_nobody_knows_are_not_passed_over() -> None:
    for method, fact in (
        (AnonymizationMethod("Encryption"), "method 'Encryption'"),
        (AnonymizationMethod("Generalization", (Attribute("grain", "3"),)), "attribute 'grain'"),
    ):
        with refusals.refused(PlanError, fact):
            check_to_run(
                person(purpose(data=(dataclasses.replace(DATA[0], method=method),), pseudonymization=())), "p"
            )
    with refusals.refused(PlanError, "pointInTime", "'2020-01-01'"):
        check_to_run(person(purpose(retention=Retention("indefinite", "2020-01-01"))), "p")
    removed = dataclasses.replace(DATA[0], method=AnonymizationMethod("Deletion", (), ("25", "20-30", "*")))
    people = {name: person(purpose(data=(removed, DATA[1]), pseudonymization=(), models=())) for name in "ab"}
    table = pa.table({"age": [25, 25], "ill": ["flu", "cold"], "policy_id": list(people)})
    assert set(
        apply(table, people, purpose="research", recipient="lab", on=TODAY).table["age"].to_pylist()
    ) == {"*"}


def test_withdrawals_are_of_policies_that_exist() -> None:
    table = pa.table({"age": [25], "ill": ["flu"], "name": ["A"], "policy_id": ["ada"]})
    asked: dict[str, Any] = {"purpose": "research", "recipient": "lab", "on": "2026-06-01"}
    with refusals.refused(PlanError, "mean 'ada'", "no such policy"):
        apply(table, {"ada": person()}, **asked, withdrawn={"Ada": TODAY})
    with refusals.refused(PlanError, "consent was withdrawn"):
        apply(table, {"ada": person()}, **asked, withdrawn={"ada": "2026-05-31"})


# Every field decides, or is known to document only

DECIDES = {
    "accepted": "a refusal",
    "pointOfAcceptance": "a refusal until that day",
    "required": "whether a refusal refuses more",
    "optOut": "whether silence is consent",
    "purpose": "what may be done",
    "data": "which cells",
    "dataRecipient": "who",
    "retention": "until when",
    "authInfo": "the credential",
    "thirdCountryTransfer": "protection abroad",
    "country": "protection abroad",
    "adequacyDecision": "protection abroad",
    "safeguard": "protection abroad",
    "underlyingPrivacyPolicy": "the chain allows no more",
    "purposeHierarchy": "relatives are refused together",
    "superPurpose": "relatives are refused together",
    "subPurpose": "relatives are refused together",
    "privacyGroup": "the role of the column",
    "privacyModel": "the guarantee",
    "privacyModelAttribute": "the guarantee",
    "nameOfData": "the columns of a guarantee or pseudonym",
    "pseudonymizationMethod": "pseudonyms",
    "pseudonymizationMethodAttribute": "pseudonyms",
    "attrName": "where pseudonyms go",
    "anonymizationMethod": "the personal minimum",
    "anonymizationMethodAttribute": "the personal minimum",
    "HierarchyEntry": "the personal minimum",
    "pointInTime": "until when",
    "key": "a parameter",
    "value": "a parameter, or words for people",
    "name": "what is meant; of a label, nothing",
    "dataSource": "refused, the policy is",
    "controller": "refused, the policy is",
    "dataProtectionOfficer": "refused, the policy is",
    "lodgeComplaint": "refused, the policy is",
}
DOCUMENTS = {
    "header": "words for people",
    "description": "words for people",
    "lang": "words for people",
    "version": "which edition it is",
    "privacyPolicyUri": "where it is published",
    "icon": "a picture",
    "classification": "whether somebody is a person or an authority: gaps of `check`",
    "publicAvailable": "whether the source is public",
    "dataSubjectRight": "rights are exercised elsewhere: withdrawals are given by hand",
    "legalBasis": "goes into the record of processing; a refusal counts whatever the basis is",
    "automatedDecisionMaking": "a release decides about nobody",
    "dataType": "the type is that of the table",
    "dataCategory": "a topic",
    "dataGroup": "a topic",
    **dict.fromkeys(("firstName", "lastName", "address", "phoneNumber", "email"), "a contact"),
}
BOTH = {"type": "decides for a retention, documents for somebody"}


def test_every_field_of_every_element_has_its_place() -> None:
    """A field that is added must be put into one of the lists, by somebody who has thought about it."""
    fields = {field.name for element in ELEMENTS.values() for field in spellings(element).values()}
    assert fields == {*DECIDES, *DOCUMENTS, *BOTH}
    assert not set(DECIDES) & set(DOCUMENTS)


def test_what_documents_only_does_not_decide() -> None:
    """Changed at random, the fields that only document change no verdict."""
    told = {"Entity": {"classification": "Person", "public_available": True, "email": "a@b.c", "first_name": "A"},
            "Data": {"data_type": "Text", "categories": ("x",), "groups": ("y",)},
            "Purpose": {"legal_bases": ("contract",), "automated_decisions": ("score",)}}  # fmt: skip
    found = person(purpose(
        recipients=(Entity("lab", **told["Entity"]),), data=tuple(dataclasses.replace(each, **told["Data"]) for each in DATA),
        **told["Purpose"]), version="2", lang="de", uri="u", rights=("objection",), icons=("i",))  # fmt: skip
    verdict = decide(found, ASKED)
    assert (verdict.reason, verdict.withheld) == (None, frozenset())


# A brute-force twin reads the JSON of policies and decides each cell; the release shows no other

COLUMNS = ("age", "ill", "job")
SAID: list[dict[str, Any]] = [
    {"accepted": True},
    {"accepted": False},
    {"point_of_acceptance": LATER},
    {"point_of_acceptance": "2026-06-01"},
    {"accepted": True, "point_of_acceptance": LATER},
]
acceptance = st.sampled_from([*[{}] * 45, *SAID])
flags = st.sampled_from([None, None, None, None, False, True])


def built(element: type[Any], *given: Any, **more: Any) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda said, args, kw: element(*args, **kw, **said),
        acceptance,
        st.tuples(*given),
        st.fixed_dictionaries(more),
    )


def policies_at_random() -> st.SearchStrategy[Policy]:
    roles = {"age": "QID", "ill": "SD", "job": "NSD"}
    data = st.tuples(
        *(built(Data, st.just(name), privacy_group=st.just(roles[name]), required=flags) for name in COLUMNS)
    )
    data = st.tuples(data, st.sets(st.sampled_from(COLUMNS), min_size=1)).map(
        lambda pair: tuple(each for each in pair[0] if each.name in pair[1])
    )
    recipients = st.tuples(
        built(Entity, st.just("lab"), required=flags, third_country_transfer=flags, country=st.sampled_from([None, None, None, "DE", "US"]),
              adequacy_decision=flags, safeguards=st.sampled_from([(), (), ("clauses",)])),
        built(Entity, st.just("ward"), required=flags),
    )  # fmt: skip
    retention = built(Retention, st.sampled_from(["indefinite"])) | built(
        Retention, st.just("fixedDate"), st.sampled_from(["2026-06-01", *["2030-01-01"] * 5])
    )
    purposes = built(
        Purpose, st.just("research"), st.sampled_from([*[True] * 6, False]), flags,
        recipients=recipients, retention=retention, data=data,
        models=st.tuples(built(PolicyModel, st.just("k-Anonymity"), st.just((Attribute("k", "1"),)))),
    )  # fmt: skip
    other = built(
        Purpose, st.just("part"), st.just(True), flags, recipients=recipients, retention=retention, data=data
    )
    own = built(
        Policy, st.just("p"), purposes=st.tuples(purposes) | st.tuples(purposes, other),
        hierarchy=st.just(()), underlying=st.just(()),
    )  # fmt: skip
    return st.tuples(own, st.booleans(), own, st.sampled_from([False, False, True])).map(_joined)


def _joined(drawn: tuple[Policy, bool, Policy, bool]) -> Policy:
    found, linked, under, below = drawn
    if linked and len(found.purposes) > 1:
        found = dataclasses.replace(found, hierarchy=LINK)
    return dataclasses.replace(found, underlying=(under,)) if below else found


def twin(tree: dict[str, Any], column: str) -> bool:
    """Decide one cell from the text of a policy, by looking for anything that says no."""

    def no(part: dict[str, Any]) -> bool:
        return part.get("accepted") is False or part.get("pointOfAcceptance", "")[:10] > TODAY.isoformat()

    def refused(one: dict[str, Any]) -> bool:
        must = [
            each
            for each in [*one["dataList"]["data"], *one["dataRecipientList"]["dataRecipient"]]
            if each.get("required")
        ]
        models = one.get("privacyModelList", {}).get("privacyModel", [])
        return any(map(no, [one, one["retention"], *models, *must]))

    purposes = {each["name"]: each for each in tree["purposeList"]["purpose"]}
    asked = purposes["research"]
    related = list(purposes.values()) if "purposeHierarchyList" in tree else [asked]
    lab = [
        each for one in related for each in one["dataRecipientList"]["dataRecipient"] if each["name"] == "lab"
    ]
    says_nothing = not (asked.get("optOut") or asked.get("accepted") or asked.get("pointOfAcceptance"))
    over = asked["retention"].get("pointInTime", "9999") <= TODAY.isoformat()
    abroad = any(
        (each.get("thirdCountryTransfer") or each.get("country") == "US")
        and not (each.get("adequacyDecision") and each.get("country"))
        and "safeguardList" not in each
        for each in lab
    )
    if no(tree) or says_nothing or over or abroad or any(map(no, lab)) or any(map(refused, related)):
        return False
    if any(each.get("required") and refused(each) for each in purposes.values()):
        return False
    own = [each for each in asked["dataList"]["data"] if each["name"] == column]
    everywhere = [each for one in related for each in one["dataList"]["data"] if each["name"] == column]
    below = [each["layeredPrivacyPolicy"] for each in tree.get("underlyingPrivacyPolicy", [])]
    return bool(own) and not any(map(no, everywhere)) and all(twin(each, column) for each in below)


@settings(max_examples=100, deadline=None)
@given(policies_at_random())
def test_the_decision_is_that_of_the_twin(found: Policy) -> None:
    tree = json.loads(to_json(found))["layeredPrivacyPolicy"]
    verdict = decide(found, ASKED)
    listed = (
        set()
        if verdict.purpose is None
        else {str(each.name) for each in verdict.purpose.data} - verdict.withheld
    )
    for (
        under
    ) in found.underlying:  # what is passed on beyond the policy below is refused before anything is decided
        listed &= {str(each.name) for each in under.purposes[0].data}
    assert listed == {name for name in COLUMNS if twin(tree, name)}
    shown = pa.table({name: ["x"] for name in COLUMNS})
    assert set(refused_cells(shown, ["p"], {"p": found}, ASKED)) == set(COLUMNS) - listed


@settings(max_examples=15, deadline=None)
@given(st.lists(policies_at_random(), min_size=2, max_size=5))
def test_a_release_shows_what_the_twin_allows_and_nothing_else(drawn: list[Policy]) -> None:
    fine = [
        each for each in drawn if not check_chain(each) and not any(p.grave for p in check(each, on=TODAY))
    ]
    people = {f"p{at}": each for at, each in enumerate(fine)}
    assume(people)
    allowed = {
        name: {
            column for column in COLUMNS if twin(json.loads(to_json(each))["layeredPrivacyPolicy"], column)
        }
        for name, each in people.items()
    }
    table = pa.table(
        {**{name: [f"{name} of {who}" for who in people] for name in COLUMNS}, "policy_id": list(people)}
    )
    try:
        release = apply(table, people, purpose="research", recipient="lab", on=TODAY)
    except PlanError:  # nobody allows anything, or nobody a quasi-identifier
        assert not any("age" in each for each in allowed.values())
        return
    seen = {cell for name in release.table.column_names for cell in release.table[name].to_pylist()} - {
        None,
        "*",
    }
    wanted = {f"{column} of {who}" for who, columns in allowed.items() for column in columns}
    assert seen <= wanted
    assert {each for each in wanted if not each.startswith("age")} <= seen
    assert len(release.table) == sum(bool(each) for each in allowed.values())


# The verifier


@pytest.mark.parametrize("column", ["ill", "age", "pid", "other"])
def test_planted_cells_are_found(column: str) -> None:
    """One cell that was refused, or that no policy lists, among many that are fine."""
    people = {f"p{at}": person() for at in range(5)}
    people["p3"] = person(
        purpose(
            data=tuple(
                no(each) if each.name in (column, "name" * (column == "pid")) else each for each in DATA
            )
        )
    )
    owners = [f"p{at % 5}" for at in range(20)]
    cells = [None if owner == "p3" else "x" for owner in owners]
    table = pa.table({column: cells})
    expected = {} if column != "other" else {"other": 16}
    assert refused_cells(table, owners, people, ASKED) == expected
    planted = pa.table({column: [*cells[:18], "x", *cells[19:]]})
    assert owners[18] == "p3"
    assert refused_cells(planted, owners, people, ASKED) == {column: expected.get(column, 0) + 1}
    assert refused_cells(planted, owners, people, ASKED, {"p0": TODAY})[column] >= 4
    assert refused_cells(table, owners, people, ASKED._replace(recipient="ward")) == expected
    assert refused_cells(table, owners, people, ASKED._replace(recipient="stranger")) == {column: 16}


def test_a_release_with_a_refused_cell_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    people = {
        f"p{at}": policy(f"p{at}", (datum("age", "QID"), datum("ill", "SD")), (model("k-Anonymity", k=2),))
        for at in range(4)
    }
    own = people["p0"].purposes[0]
    people["p0"] = dataclasses.replace(
        people["p0"],
        purposes=(dataclasses.replace(own, data=(own.data[0], no(own.data[1], required=False))),),
    )
    table = pa.table({"age": [1] * 4, "ill": list("abcd"), "policy_id": list(people)})
    asked: dict[str, Any] = {"purpose": "research", "recipient": "lab"}
    release = apply(table, people, **asked)
    assert sorted(release.table["ill"].to_pylist(), key=str) == [None, "b", "c", "d"]
    assert release.account is not None
    assert release.account.withheld == {"ill": 1}
    monkeypatch.setattr(
        "veil.policy.release.carry_out.decide_all",
        lambda given, *_: {name: decide(policy(name, own.data), ASKED) for name in given},
    )
    with refusals.refused(VerificationError, "no cell"):
        apply(table, people, **asked)


def test_a_cell_that_is_withheld_has_no_label_but_the_root() -> None:
    """Missing values join the label that all others share; one that was refused must not be said to be below 50."""
    chain = ("25", "20-30", "<50")
    people = {
        f"p{at}": policy(
            f"p{at}", (datum("age", "QID", chain, 0, 2), datum("ill", "SD")), (model("k-Anonymity", k=4),)
        )
        for at in range(4)
    }
    own = people["p0"].purposes[0]
    people["p0"] = dataclasses.replace(
        people["p0"],
        purposes=(dataclasses.replace(own, data=(no(own.data[0], required=False), own.data[1])),),
    )
    table = pa.table({"age": [25] * 4, "ill": list("abcd"), "policy_id": list(people)})
    release = apply(table, people, purpose="research", recipient="lab")
    assert release.table["age"].to_pylist() == ["*"] * 4


def test_retention_that_is_over_in_an_underlying_policy_is_over() -> None:
    under = person(purpose(retention=Retention("fixedDate", "2026-05-01")))
    assert decide(person(underlying=(under,)), ASKED).reason == RETENTION
