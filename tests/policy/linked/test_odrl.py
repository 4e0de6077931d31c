"""ODRL policies with terms of DPV: permissions, prohibitions, duties and constraints."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from support.refusals import refused
from veil.errors import InputError
from veil.policy import apply, check, parse, unmapped
from veil.policy.documents.elements import Attribute, Policy, PolicyModel, Purpose

pytest.importorskip("rdflib")

PREFIXES = """
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix dpv: <https://w3id.org/dpv#> .
@prefix pd: <https://w3id.org/dpv/pd#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix ex: <https://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
DATA = "ex:data dpv:hasPersonalData pd:Age, pd:Health ."
FOR_RESEARCH = (
    "[ odrl:leftOperand odrl:purpose ; odrl:operator odrl:isA ; odrl:rightOperand dpv:ScientificResearch ]"
)
K_5 = """odrl:duty [ odrl:action [ rdf:value odrl:anonymize ;
    odrl:refinement [ odrl:leftOperand ex:kAnonymity ; odrl:operator odrl:gteq ; odrl:rightOperand 5 ] ] ]"""


def odrl(permission: str = "", rest: str = "", kind: str = "odrl:Agreement") -> Policy:
    """A policy with one permission for research, and whatever else is said."""
    text = f"""ex:policy a {kind} ; dct:issued "2026-01-10"^^xsd:date ; odrl:assigner ex:ada ;
        odrl:permission [ odrl:action odrl:use ; odrl:target ex:data ; odrl:assignee ex:lab ;
            odrl:constraint {FOR_RESEARCH} {"; " + permission if permission else ""} ] {"; " + rest if rest else ""} . {DATA}"""
    return parse(PREFIXES + text, "policy.ttl")


def only(policy: Policy) -> Purpose:
    assert len(policy.purposes) == 1
    return policy.purposes[0]


def narrowing(policy: Policy) -> list[str]:
    return [each.text for each in unmapped(policy) if each.narrows]


def constraint(left: str, operator: str, right: str) -> str:
    return f"odrl:constraint [ odrl:leftOperand {left} ; odrl:operator odrl:{operator} ; odrl:rightOperand {right} ]"


def test_a_permission_is_a_purpose() -> None:
    policy = odrl(K_5)
    purpose = only(policy)
    assert (policy.name, purpose.name, purpose.accepted) == ("policy", "ScientificResearch", True)
    assert [each.name for each in purpose.recipients] == ["lab"]
    assert {each.name: each.privacy_group for each in purpose.data} == {"Age": "QID", "Health": "SD"}
    assert purpose.models == (PolicyModel("k-Anonymity", (Attribute("k", "5"),)),)
    assert purpose.retention is not None
    assert purpose.retention.type == "indefinite"  # as nothing limits it
    assert [each.super_purpose for each in policy.hierarchy] == ["researchAndDevelopment"]
    assert unmapped(policy) == []
    assert not [each for each in check(policy) if each.grave]


def test_a_policy_is_carried_out() -> None:
    table = pa.table(
        {"Age": [23] * 5, "Health": ["flu", "cold", "flu", "gout", "flu"], "policy_id": ["policy"] * 5}
    )
    asked: dict[str, Any] = {"purpose": "ScientificResearch", "recipient": "lab", "person": None}
    release = apply(table, odrl(K_5), **asked, on=date(2026, 6, 1))
    assert release.table.num_rows == 5
    assert [type(each).__name__ for each in release.plan.models] == ["KAnonymity"]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["odrl:Offer", "odrl:Request"])
def test_what_is_only_offered_or_asked_for_is_not_agreed(kind: str) -> None:
    purpose = only(odrl(kind=kind))
    assert (purpose.accepted, purpose.point_of_acceptance) == (None, None)


# Constraints


@pytest.mark.parametrize(
    ("said", "until"),
    [
        (constraint("odrl:dateTime", "lt", '"2026-12-31"^^xsd:date'), "2026-12-31"),
        (constraint("odrl:dateTime", "lteq", '"2026-12-31T10:00:00"^^xsd:dateTime'), "2026-12-31"),
        (constraint("odrl:elapsedTime", "lteq", '"P30D"^^xsd:duration'), "2026-02-09"),
        (
            "odrl:duty [ odrl:action odrl:delete ; "
            + constraint("odrl:dateTime", "lteq", '"2026-08-01"^^xsd:date')
            + " ]",
            "2026-08-01",
        ),
        (
            "odrl:duty [ odrl:action odrl:delete ; "
            + constraint("odrl:delayPeriod", "eq", '"P1Y"^^xsd:duration')
            + " ]",
            "2027-01-10",
        ),
    ],
)
def test_the_end_of_a_permission(said: str, until: str) -> None:
    retention = only(odrl(said)).retention
    assert retention is not None
    assert (retention.type, retention.point_in_time) == ("fixedDate", until)


def test_of_several_ends_the_first_counts() -> None:
    said = (
        constraint("odrl:dateTime", "lt", '"2027-01-01"^^xsd:date')
        + " ; "
        + constraint("odrl:dateTime", "lt", '"2026-05-05"^^xsd:date')
    )
    retention = only(odrl(said)).retention
    assert retention is not None
    assert retention.point_in_time == "2026-05-05"


@pytest.mark.parametrize(
    ("operator", "moment", "since"),
    [
        ("gteq", '"2026-03-01"^^xsd:date', "2026-03-01"),
        ("gt", '"2026-03-01"^^xsd:date', "2026-03-02"),
        ("gteq", '"2026-03-01T12:00:00"^^xsd:dateTime', "2026-03-02"),
    ],
)
def test_the_beginning_of_a_permission(operator: str, moment: str, since: str) -> None:
    assert only(odrl(constraint("odrl:dateTime", operator, moment))).point_of_acceptance == since


def test_recipients_may_be_a_constraint() -> None:
    said = "odrl:constraint [ odrl:leftOperand odrl:recipient ; odrl:operator odrl:isAnyOf ; odrl:rightOperand (ex:a ex:b) ]"
    assert [each.name for each in only(odrl(said)).recipients] == ["a", "b"]


def test_constraints_that_hold_together() -> None:
    text = f"""ex:policy a odrl:Set ; odrl:permission [ odrl:action odrl:distribute ; odrl:target pd:Age ; odrl:assignee ex:lab ;
        odrl:constraint [ odrl:and ( {FOR_RESEARCH}
            [ odrl:leftOperand odrl:dateTime ; odrl:operator odrl:lt ; odrl:rightOperand "2026-09-09"^^xsd:date ] ) ] ] ."""
    purpose = only(parse(PREFIXES + text))
    assert purpose.name == "ScientificResearch"
    assert purpose.retention is not None
    assert purpose.retention.point_in_time == "2026-09-09"


def test_several_purposes() -> None:
    text = """ex:policy a odrl:Set ; odrl:target pd:Age ; odrl:assignee ex:lab ; odrl:permission [ odrl:action odrl:use ;
        odrl:constraint [ odrl:leftOperand odrl:purpose ; odrl:operator odrl:isAnyOf ;
            odrl:rightOperand dpv:Marketing, dpv:AcademicResearch ] ] ."""
    policy = parse(PREFIXES + text)
    assert [each.name for each in policy.purposes] == ["AcademicResearch", "Marketing"]
    assert all([each.name for each in purpose.data] == ["Age"] for purpose in policy.purposes)
    assert all([each.name for each in purpose.recipients] == ["lab"] for purpose in policy.purposes)


def test_without_a_purpose_the_action_is_its_name() -> None:
    policy = parse(
        PREFIXES
        + "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:use ; odrl:target pd:Age ; odrl:assignee ex:a ] ."
    )
    assert [each.name for each in policy.purposes] == ["use"]


@pytest.mark.parametrize(
    "said",
    [
        constraint("odrl:spatial", "eq", '"EU"'),
        constraint("odrl:purpose", "neq", "dpv:Marketing"),
        constraint("odrl:count", "lteq", "3"),
        "odrl:constraint [ odrl:or ( [ odrl:leftOperand odrl:count ; odrl:operator odrl:lt ; odrl:rightOperand 3 ] ) ]",
        constraint("odrl:purpose", "isAnyOf", "[]").replace("odrl:rightOperand []", ""),
        constraint("odrl:recipient", "eq", "[]").replace("odrl:rightOperand []", ""),
        constraint("dpv:hasPersonalData", "isAnyOf", "[]").replace("odrl:rightOperand []", ""),
        constraint("dpv:hasLegalBasis", "eq", "[]").replace("odrl:rightOperand []", ""),
        "odrl:duty [ odrl:action odrl:compensate ]",
        "odrl:duty [ odrl:action odrl:anonymize ]",
        "odrl:duty [ odrl:action odrl:delete ]",
        "odrl:duty [ odrl:target ex:data ]",
        constraint("odrl:dateTime", "lt", '"soon"'),
    ],
)
def test_what_limits_a_permission_and_cannot_be_carried_out_is_refused(said: str) -> None:
    policy = odrl(said)
    assert narrowing(policy)
    assert any(each.grave for each in check(policy))


def test_elapsed_time_from_an_unknown_day() -> None:
    text = f"""ex:policy a odrl:Agreement ; odrl:permission [ odrl:action odrl:use ; odrl:target pd:Age ; odrl:assignee ex:lab ;
        {constraint("odrl:elapsedTime", "lteq", '"P30D"^^xsd:duration')} ] ."""
    assert any("P30D" in each for each in narrowing(parse(PREFIXES + text)))


def test_policies_that_would_have_to_be_fetched_are_refused() -> None:
    assert any(
        "odrl:inheritFrom" in each
        for each in narrowing(odrl(rest="odrl:inheritFrom <https://example.org/parent>"))
    )


# Duties


def test_pseudonyms_as_a_duty() -> None:
    policy = parse(
        PREFIXES
        + "ex:p a odrl:Set ; odrl:permission [ odrl:action odrl:use ; odrl:target ex:d ; odrl:assignee ex:a ;"
        " odrl:duty [ odrl:action dpv:Pseudonymise ] ] . ex:d dpv:hasPersonalData pd:Name, pd:Age ."
    )
    assert [each.data for each in only(policy).pseudonymization] == [("Name",)]


def test_an_obligation_holds_for_every_permission() -> None:
    assert only(odrl(rest=K_5.replace("odrl:duty", "odrl:obligation", 1))).models


@pytest.mark.parametrize("action", ["odrl:anonymize", "odrl:derive"])
def test_a_permission_to_anonymize_or_derive_lets_a_table_be_made(action: str) -> None:
    policy = parse(
        PREFIXES
        + f"ex:p a odrl:Set ; odrl:permission [ odrl:action {action} ; odrl:target pd:Age ; odrl:assignee ex:a ] ."
    )
    assert only(policy).extra["processing"] == [{"name": action.partition(":")[2]}]
    assert bool(narrowing(policy)) == (action == "odrl:anonymize")  # which guarantee is meant?


@pytest.mark.parametrize("action", ["odrl:aggregate", "odrl:delete", "odrl:print"])
def test_permissions_that_no_table_can_be_handed_out_by_are_listed(action: str) -> None:
    policy = parse(
        PREFIXES
        + f"ex:p a odrl:Set ; odrl:permission [ odrl:action {action} ; odrl:target pd:Age ; odrl:assignee ex:a ] ."
    )
    assert policy.purposes == ()
    assert any(action.partition(":")[2] in each.text for each in unmapped(policy))


# Prohibitions


@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        ("odrl:action odrl:use", False),
        (f"odrl:action odrl:use ; odrl:constraint {FOR_RESEARCH}", False),
        ("odrl:action odrl:use ; " + constraint("odrl:purpose", "isA", "dpv:ResearchAndDevelopment"), False),
        ("odrl:action odrl:use ; " + constraint("odrl:purpose", "isA", "dpv:Marketing"), True),
        ("odrl:action odrl:distribute", True),
    ],
)
def test_prohibitions_win(said: str, accepted: bool) -> None:
    assert only(odrl(rest=f"odrl:prohibition [ {said} ]")).accepted is accepted


def test_prohibited_recipients_and_data_are_left_out() -> None:
    policy = odrl(rest="odrl:prohibition [ odrl:action odrl:use ; odrl:assignee ex:lab ]")
    assert only(policy).recipients == ()
    policy = odrl(
        rest=f"odrl:prohibition [ odrl:action odrl:use ; {constraint('dpv:hasPersonalData', 'isA', 'pd:MedicalHealth')} ]"
    )
    assert [each.name for each in only(policy).data] == ["Age"]


def test_a_prohibition_that_holds_now_and_then_is_refused() -> None:
    said = constraint("odrl:dateTime", "gt", '"2026-12-31"^^xsd:date')
    assert narrowing(odrl(rest=f"odrl:prohibition [ odrl:action odrl:use ; {said} ]"))


def test_a_prohibition_that_binds_the_recipient_is_told() -> None:
    policy = odrl(rest="odrl:prohibition [ odrl:action odrl:distribute ]")
    assert [each.text for each in unmapped(policy)] == [
        "the prohibition to distribute binds the recipient: nothing that Veil does"
    ]


# JSON-LD


def test_json_ld_with_the_context_of_the_recommendation() -> None:
    tree = {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            {"dpv": "https://w3id.org/dpv#", "pd": "https://w3id.org/dpv/pd#"},
        ],
        "@type": "Agreement",
        "uid": "https://example.org/policy:66",
        "profile": "https://w3id.org/dpv/mappings/odrl",
        "permission": [
            {
                "target": "pd:Age",
                "assigner": "https://example.org/ada",
                "assignee": "https://example.org/lab",
                "action": "distribute",
                "constraint": [
                    {"leftOperand": "purpose", "operator": "eq", "rightOperand": "dpv:AcademicResearch"},
                    {
                        "leftOperand": "dateTime",
                        "operator": "lteq",
                        "rightOperand": {"@value": "2026-12-31", "@type": "xsd:date"},
                    },
                ],
                "surprise": {"of": "some kind"},
            }
        ],
    }
    policy = parse(json.dumps(tree))
    purpose = only(policy)
    assert (policy.name, purpose.name) == ("66", "AcademicResearch")
    assert purpose.retention is not None
    assert purpose.retention.point_in_time == "2026-12-31"
    told = {each.text.split(" ")[0]: each.narrows for each in unmapped(policy)}
    assert told == {"odrl:profile": False, "odrl:assigner": False, "odrl:surprise": True, "odrl:of": True}


def test_keys_that_no_context_knows_are_not_dropped() -> None:
    tree = {
        "@context": {"odrl": "http://www.w3.org/ns/odrl/2/"},
        "@id": "https://example.org/p",
        "odrl:permission": {
            "odrl:action": {"@id": "odrl:use"},
            "odrl:assignee": {"@id": "https://example.org/a"},
        },
        "butOnlyOn": "Sundays",
    }
    assert any("urn:unknown:butOnlyOn Sundays" in each.text for each in unmapped(parse(json.dumps(tree))))


def test_two_policies_in_one_document() -> None:
    text = " ".join(f"ex:p{at} a odrl:Set ; odrl:permission [ odrl:action odrl:use ] ." for at in range(2))
    with refused(InputError, "2 ODRL policies"):
        parse(PREFIXES + text)


def test_documents_in_the_shapes_of_the_recommendation() -> None:
    """A collection with a refinement, a logical constraint, a duty with a consequence and a remedy: all of it is listed."""
    tree = {
        "@context": ["http://www.w3.org/ns/odrl.jsonld", {"dpv": "https://w3id.org/dpv#"}],
        "@type": "Agreement",
        "uid": "https://example.org/policy:44",
        "profile": "https://example.org/profile:11",
        "assigner": "https://example.org/ada",
        "permission": [
            {
                "assignee": {
                    "@type": "PartyCollection",
                    "source": "https://example.org/team",
                    "refinement": [{"leftOperand": "event", "operator": "gt", "rightOperand": "graduation"}],
                },
                "target": {
                    "@type": "AssetCollection",
                    "source": "https://example.org/archive",
                    "refinement": [{"leftOperand": "count", "operator": "lt", "rightOperand": 60}],
                },
                "action": [{"rdf:value": {"@id": "odrl:use"}}],
                "constraint": [
                    {
                        "leftOperand": "purpose",
                        "operator": "isA",
                        "rightOperand": {"@id": "dpv:ScientificResearch"},
                    },
                    {
                        "xone": {
                            "@list": [
                                {"leftOperand": "spatial", "operator": "eq", "rightOperand": "DE"},
                                {"leftOperand": "spatial", "operator": "eq", "rightOperand": "IE"},
                            ]
                        }
                    },
                ],
                "duty": [{"action": "compensate", "consequence": [{"action": "delete"}]}],
            }
        ],
        "prohibition": [
            {
                "target": "https://example.org/archive",
                "action": "index",
                "remedy": [{"action": "anonymize", "target": "https://example.org/archive"}],
            }
        ],
    }
    policy = parse(json.dumps(tree), "policy.jsonld")
    assert [each.name for each in policy.purposes] == ["ScientificResearch"]
    told = " | ".join(f"{each.path} {each.text}" for each in unmapped(policy))
    for each in (
        "profile:11",
        "refinement",
        "graduation",
        "60",
        "xone",
        "DE",
        "IE",
        "compensate",
        "consequence",
        "remedy",
    ):
        assert each in told, each  # fmt: skip
    assert narrowing(policy)
    assert [each for each in check(policy) if each.grave]  # so that it is not carried out as it stands


def test_a_title_of_the_action_says_how_far_to_anonymize() -> None:
    said = 'odrl:duty [ odrl:action [ rdf:value odrl:anonymize ; dct:title "k-Anonymity (k = 4)" ] ]'
    assert only(odrl(said)).models == (PolicyModel("k-Anonymity", (Attribute("k", "4"),)),)
    vague = odrl('odrl:duty [ odrl:action [ rdf:value odrl:anonymize ; dct:title "well" ] ]')
    assert any("which guarantee" in each for each in narrowing(vague))
