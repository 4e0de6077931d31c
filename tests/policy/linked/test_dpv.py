"""DPV documents as policies: what is mapped, what is listed, and that nothing lies between."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from support.refusals import refused
from veil.errors import InputError, PlanError
from veil.policy import apply, check, parse, read, read_all, to_json, to_xml, unmapped
from veil.policy.documents.elements import Attribute, Policy, PolicyModel, Purpose
from veil.policy.rules.decide import THIRD_COUNTRY, Request, decide
from veil.policy.rules.explain import explain

pytest.importorskip("rdflib")

PREFIXES = """
@prefix dpv: <https://w3id.org/dpv#> .
@prefix pd: <https://w3id.org/dpv/pd#> .
@prefix loc: <https://w3id.org/dpv/loc#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix ex: <https://example.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix time: <http://www.w3.org/2006/time#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def dpv(text: str) -> Policy:
    return parse(PREFIXES + text, "policy.ttl")


def only(text: str) -> Purpose:
    found = dpv(text).purposes
    assert len(found) == 1
    return found[0]


def narrowing(policy: Policy) -> list[str]:
    return [each.text for each in unmapped(policy) if each.narrows]


def record(name: str, **more: str) -> str:
    """A consent record in the shape of the examples of the vocabulary."""
    said = {
        "status": "dpv:ConsentGiven",
        "measure": '[ a dpv:Anonymisation ; dct:title "k-Anonymity (k = 2)" ]',
        "duration": "63115200",
        "more": "",
    } | more
    return f"""
    ex:{name} a dpv:ConsentRecord ;
        dpv:hasIdentifier "{name}" ;
        dpv:hasDataSubject "{name}" ;
        dpv:hasNotice <https://example.org/notice> ;
        dpv:hasProcess [
            a dpv:Process ;
            dpv:hasPurpose dpv:AcademicResearch ;
            dpv:hasLegalBasis dpv:Consent ;
            dpv:hasPersonalData ex:age, ex:city, ex:illness ;
            dpv:hasDataController ex:Clinic ;
            dpv:hasProcessing dpv:Collect, dpv:Share ;
            dpv:hasRecipient ex:lab ;
            dpv:hasStorageCondition [ dpv:hasLocation loc:IE ; dpv:hasDuration {said["duration"]} ] ;
            dpv:hasTechnicalMeasure {said["measure"]}
            {said["more"]}
        ] ;
        dpv:hasConsentStatus {said["status"]} ;
        dct:hasPart [ a dpv:ConsentGiven ; dpv:isIndicatedAtTime "2026-01-02T12:00:00"^^xsd:dateTime ] .
    ex:age a dpv:PersonalData ; skos:broader pd:Age ; dct:title "age" .
    ex:city a dpv:PersonalData ; skos:broader pd:City .
    ex:illness a dpv:PersonalData ; skos:broader pd:Health .
    """


def test_a_consent_record_is_a_policy() -> None:
    policy = dpv(record("ada"))
    assert policy.name == "ada"
    assert [each.name for each in policy.controllers] == ["Clinic"]
    assert policy.source is not None
    assert policy.source.name == "ada"
    purpose = policy.purposes[0]
    assert purpose.name == "AcademicResearch"
    assert (purpose.accepted, purpose.point_of_acceptance) == (True, "2026-01-02")
    assert [each.name for each in purpose.recipients] == ["lab"]
    assert purpose.legal_bases == ("consent",)
    assert {each.name: each.privacy_group for each in purpose.data} == {
        "age": "QID",
        "city": "QID",
        "illness": "SD",
    }
    assert purpose.models == (PolicyModel("k-Anonymity", (Attribute("k", "2"),)),)
    assert purpose.retention is not None
    assert (purpose.retention.type, purpose.retention.point_in_time) == ("fixedDate", "2028-01-02")
    assert [(each.super_purpose, each.sub_purpose) for each in policy.hierarchy] == [
        ("researchAndDevelopment", "AcademicResearch")
    ]
    assert not [each for each in check(policy) if each.grave]


def test_what_has_no_place_is_listed() -> None:
    policy = dpv(record("ada"))
    assert sorted(
        (each.path.rpartition("/")[2], each.text.split(" ")[0], each.narrows) for each in unmapped(policy)
    ) == [
        ("ada", "dpv:hasNotice", False),
        ("ada dpv:hasProcess dpv:hasStorageCondition", "dpv:hasLocation", False),
    ]
    assert any("dpv:hasNotice" in line for line in explain(policy))


@pytest.mark.parametrize("write", [to_json, to_xml])
def test_what_was_listed_stays_listed_in_other_languages(write: object) -> None:
    policy = dpv(record("ada", measure="dpv:Anonymisation"))
    again = parse(write(policy))  # type: ignore[operator]
    assert unmapped(again) == unmapped(policy)
    assert narrowing(again)


def test_records_are_carried_out_as_they_ask(tmp_path: Path) -> None:
    people = ["ada", "bob", "cem", "dia"]
    for name in people:
        (tmp_path / f"{name}.ttl").write_text(PREFIXES + record(name), encoding="utf-8")
    assert list(read_all(tmp_path)) == people
    table = pa.table(
        {
            "age": [23, 23, 34, 34],
            "city": ["Ulm", "Ulm", "Ulm", "Ulm"],
            "illness": ["flu", "cold", "flu", "gout"],
            "secret": ["a", "b", "c", "d"],
            "policy_id": people,
        }
    )
    asked = {"purpose": "AcademicResearch", "recipient": "lab"}
    release = apply(table, tmp_path, **asked, on=date(2026, 6, 1))
    assert sorted(release.table.column_names) == ["age", "city", "illness"]
    assert sorted(release.table["age"].to_pylist()) == [23, 23, 34, 34]
    with refused(PlanError, "retention is over"):
        apply(table, tmp_path, **asked, on=date(2028, 1, 2))
    with refused(PlanError, "purpose", "not accepted"):
        apply(table, tmp_path, **asked, on=date(2026, 1, 1))


def test_a_measure_that_does_not_say_how_much_is_not_carried_out() -> None:
    policy = dpv(record("ada", measure="dpv:Anonymisation"))
    assert narrowing(policy) == [
        "Anonymisation does not say which guarantee is meant: give it a title such as 'k-Anonymity (k = 5)'"
    ]
    with refused(PlanError, "which guarantee"):
        apply(
            pa.table({"age": [1], "policy_id": ["ada"]}), policy, purpose="AcademicResearch", recipient="lab"
        )


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        (
            "dpv:DifferentialPrivacy",
            "which guarantee is meant: give it a title such as '(e,d)-Differential Privacy",
        ),
        ("dpv:DeterministicPseudonymisation", "is not what Veil makes"),
        ("[ a dpv:Anonymisation ; dct:title 'k-Anonimity (k = 5)' ]", "which guarantee"),
    ],
)
def test_measures_that_nobody_can_carry_out_are_listed(measure: str, told: str) -> None:
    assert any(told in each for each in narrowing(dpv(record("ada", measure=measure))))


def test_differential_privacy_says_how_much() -> None:
    title = "[ a dpv:DifferentialPrivacy ; dct:title '(e,d)-Differential Privacy (e = 1, d = 0.000001)' ]"
    models = dpv(record("ada", measure=title)).purposes[0].models
    assert models == (
        PolicyModel("(e,d)-Differential Privacy", (Attribute("e", "1"), Attribute("d", "0.000001"))),
    )


def test_pseudonyms_are_made_of_what_names_people() -> None:
    more = "; dpv:hasPersonalData pd:Name ; dpv:hasTechnicalMeasure dpv:Pseudonymisation"
    found = dpv(record("ada", more=more)).purposes[0].pseudonymization
    assert [(each.name, each.data) for each in found] == [("PID", ("Name",))]


@pytest.mark.parametrize(
    "status", ["dpv:ConsentWithdrawn", "dpv:ConsentRefused", "dpv:ConsentUnknown", "ex:Perhaps"]
)
def test_consent_that_is_not_given_is_no_consent(status: str) -> None:
    assert dpv(record("ada", status=status)).purposes[0].accepted is False


@pytest.mark.parametrize(
    ("duration", "until"),
    [
        ('"P18M"^^xsd:duration', "2027-07-02"),
        (
            '[ a time:Duration ; time:numericDuration "1"^^xsd:decimal ; time:unitType time:unitYear ]',
            "2027-01-02",
        ),
        ('[ a dpv:UntilTimeDuration ; dct:valid "2026-09-30"^^xsd:date ]', "2026-09-30"),
        ("dpv:EndlessDuration", None),
    ],
)
def test_durations_count_from_the_consent(duration: str, until: str | None) -> None:
    retention = dpv(record("ada", duration=duration)).purposes[0].retention
    assert retention is not None
    assert retention.point_in_time == until


def test_a_duration_from_an_unknown_day_is_not_carried_out() -> None:
    text = """ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasPersonalData pd:Age ;
        dpv:hasStorageCondition [ dpv:hasDuration "P1Y"^^xsd:duration ] ."""
    policy = dpv(text)
    assert policy.purposes[0].retention is None
    assert any("P1Y" in each for each in narrowing(policy))


def test_the_event_that_ends_storage_is_listed() -> None:
    assert any(
        "cannot be told" in each for each in narrowing(dpv(record("ada", duration="dpv:UntilEventDuration")))
    )


# Shapes of the examples of the vocabulary


def test_processes_may_lie_in_others_and_are_under_what_those_say() -> None:
    policy = dpv("""
        ex:Acme a dpv:DataController .
        ex:Newsletters a dpv:Process ; dpv:hasProcess ex:Analytics, ex:Sending ; dpv:hasRule dpv:Permission ;
            dpv:hasTechnicalMeasure [ a dpv:Anonymisation ; dct:title "k-Anonymity (k = 3)" ] .
        ex:Analytics a dpv:Process ; dpv:hasPersonalData pd:EmailAddressPersonal ;
            dpv:hasProcessing dpv:Collect, dpv:Store ; dpv:hasPurpose dpv:InternalResourceOptimisation ;
            dpv:hasLegalBasis dpv:LegitimateInterestOfController .
        ex:Sending a dpv:Process ; dpv:hasPersonalData pd:EmailAddressPersonal ; dpv:hasProcessing dpv:Share ;
            dpv:hasPurpose dpv:Marketing ; dpv:hasRecipient ex:FooTech ; dpv:hasLegalBasis dpv:Consent .
    """)
    made = {each.name: each for each in policy.purposes}
    assert sorted(map(str, made)) == ["InternalResourceOptimisation", "Marketing"]
    assert made["InternalResourceOptimisation"].legal_bases == ("legitimateInterest",)
    assert made["InternalResourceOptimisation"].recipients == ()
    assert [each.name for each in made["Marketing"].recipients] == ["FooTech"]
    assert all(each.accepted and each.models for each in policy.purposes)
    assert {each.sub_purpose: each.super_purpose for each in policy.hierarchy} == {
        "InternalResourceOptimisation": "serviceProvision",
        "Marketing": "marketing",
    }


def test_purposes_of_one_name_do_not_borrow_from_each_other() -> None:
    policy = dpv("""
        ex:one a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasPersonalData pd:Age ; dpv:hasRecipient ex:a .
        ex:two a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasPersonalData pd:Health ; dpv:hasRecipient ex:b .
    """)
    found = {
        each.name: ([r.name for r in each.recipients], [d.name for d in each.data])
        for each in policy.purposes
    }
    assert found == {"Marketing (one)": (["a"], ["Age"]), "Marketing (two)": (["b"], ["Health"])}


def test_a_legal_basis_may_be_a_thing_of_its_own() -> None:
    purpose = only("""
        ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasLegalBasis ex:ConsentOfUser .
        ex:ConsentOfUser a dpv:LegalBasis ; skos:broader dpv:Consent ; dpv:hasConsentStatus dpv:ConsentGiven .
    """)
    assert purpose.legal_bases == ("consent",)
    assert purpose.accepted is True


def test_a_process_by_itself_is_nobodys_consent() -> None:
    purpose = only("ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasLegalBasis dpv:Consent .")
    assert purpose.accepted is None


def test_prohibited_data_are_left_out_with_all_that_lies_below() -> None:
    purpose = only("""
        ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasProhibition pd:MedicalHealth ;
            dpv:hasPersonalData pd:Age, pd:MentalHealth .
    """)
    assert [each.name for each in purpose.data] == ["Age"]


@pytest.mark.parametrize("what", ["dpv:Marketing", "dpv:Purpose", "dpv:Share"])
def test_prohibited_purposes_and_processing_are_not_accepted(what: str) -> None:
    purpose = only(
        f"ex:p a dpv:Process ; dpv:hasPurpose dpv:DirectMarketing ; dpv:hasRule dpv:Permission ; dpv:hasProhibition {what} ."
    )
    assert purpose.accepted is False


def test_other_prohibitions_are_not_carried_out() -> None:
    policy = dpv("ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasProhibition ex:Sundays .")
    assert any("Sundays" in each for each in narrowing(policy))


def test_data_marked_as_sensitive_are_sensitive_and_names_stay_names() -> None:
    purpose = only("""
        ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasPersonalData ex:ward, ex:patient, ex:hobby .
        ex:ward a dpv:PersonalData, dpv:SensitivePersonalData ; skos:broader pd:Location .
        ex:patient a dpv:SensitivePersonalData ; skos:broader pd:Identifier .
        ex:hobby a dpv:PersonalData .
    """)
    assert {each.name: each.privacy_group for each in purpose.data} == {
        "ward": "SD",
        "patient": "EI",
        "hobby": None,
    }


def test_what_no_rule_knows_a_person_has_to_say() -> None:
    policy = dpv("ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasPersonalData ex:hobby .")
    assert any("privacy group" in each.text for each in check(policy) if each.grave)


def test_json_ld_and_turtle_say_the_same() -> None:
    tree = """{"@context": {"dpv": "https://w3id.org/dpv#", "pd": "https://w3id.org/dpv/pd#"},
        "@id": "https://example.org/p", "@type": "dpv:Process", "dpv:hasPurpose": {"@id": "dpv:Marketing"},
        "dpv:hasPersonalData": [{"@id": "pd:Age"}], "dpv:hasRecipient": {"@id": "https://example.org/lab"}}"""
    turtle = "ex:p a dpv:Process ; dpv:hasPurpose dpv:Marketing ; dpv:hasPersonalData pd:Age ; dpv:hasRecipient ex:lab ."
    assert parse(tree) == dpv(turtle)


def test_reading_twice_gives_the_same() -> None:
    assert dpv(record("ada")) == dpv(record("ada"))


def test_several_records_are_several_policies() -> None:
    with refused(InputError, "policy.ttl", "2 consent records"):
        dpv(record("ada") + record("bob"))


def test_a_process_in_itself_is_refused() -> None:
    with pytest.raises(InputError, match="contains itself"):
        dpv(
            "ex:p dpv:hasProcess ex:q . ex:q dpv:hasProcess ex:r ; dpv:hasPurpose dpv:Marketing . ex:r dpv:hasProcess ex:q ."
        )


def test_other_documents_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.ttl").write_text(PREFIXES + "ex:a ex:b ex:c .", encoding="utf-8")
    with refused(InputError, "ODRL", "DPV"):
        read(tmp_path / "x.ttl")


def test_records_of_the_first_version_are_read_as_well() -> None:
    """A consent record in the shape that the vocabulary's own examples have had since its first version."""
    policy = parse(
        """
        @prefix dpv: <https://w3id.org/dpv#> .
        @prefix dpv-pd: <https://w3id.org/dpv/dpv-pd#> .
        @prefix dpv-legal: <https://w3id.org/dpv/dpv-legal#> .
        @prefix dct: <http://purl.org/dc/terms/> .
        @prefix ex: <https://example.org/> .
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        ex:r7 a dpv:ConsentRecord ;
            dct:hasVersion "27560" ;
            dpv:hasIdentifier "r7" ;
            dpv:hasDataSubject "subject-9" ;
            dpv:hasPersonalDataHandling [
                a dpv:PersonalDataHandling ;
                dct:title "Clinic letter"@en ;
                dpv:hasPurpose dpv:ScientificResearch ;
                dpv:hasLegalBasis dpv:Consent ;
                dpv:hasPersonalData dpv-pd:EmailAddress, dpv-pd:Health ;
                dpv:hasDataController ex:Clinic ;
                dpv:hasProcessing dpv:Collect, dpv:Share ;
                dpv:hasStorageCondition [ dpv:hasLocation dpv-legal:IE ; dpv:hasDuration 63115200 ] ;
                dpv:hasJurisdiction dpv-legal:EU ;
                dpv:hasRecipient ex:Lab, ex:Registry
            ] ;
            dpv:hasConsentStatus dpv:ConsentGiven ;
            dct:hasPart [
                a dpv:ConsentGiven, dpv:ExplicitlyExpressedConsent ;
                dpv:isIndicatedAtTime "2025-05-28T12:24:00"^^xsd:dateTime ;
                dpv:hasDuration 31557600
            ] .
        """,
        "record.ttl",
    )
    (purpose,) = policy.purposes
    assert (purpose.name, purpose.accepted, purpose.legal_bases) == ("ScientificResearch", True, ("consent",))
    assert [each.name for each in purpose.recipients] == ["Lab", "Registry"]
    assert {each.name: each.privacy_group for each in purpose.data} == {"EmailAddress": "EI", "Health": "SD"}
    assert purpose.retention is not None
    assert purpose.retention.point_in_time == "2026-05-28"  # what ends first: consent, before storage
    assert not narrowing(policy)
    told = {each.text for each in unmapped(policy)}
    assert any("dpv:hasLocation" in each for each in told)
    assert any("dpv:hasJurisdiction" in each for each in told)
    assert any("dct:hasVersion 27560" in each for each in told)


def test_a_process_without_a_purpose_is_listed_and_allows_nothing() -> None:
    policy = dpv("""
    ex:contract a dpv:ControllerProcessorAgreement ; dpv:hasDataController ex:Acme ; dpv:hasProcess ex:sending, ex:counting .
    ex:sending a dpv:Process ; dpv:hasPersonalData ex:calls ; dpv:hasProcessing dpv:Transfer ; dpv:hasRecipient ex:Beta .
    ex:counting a dpv:Process ; dpv:hasPersonalData ex:calls ; dpv:hasPurpose dpv:ServiceProvision .
    ex:calls a dpv:PersonalData ; skos:broader pd:CallLog .
    """)
    assert [each.name for each in policy.purposes] == ["ServiceProvision"]
    (purpose,) = policy.purposes
    assert not purpose.recipients  # nothing is borrowed from the other process
    assert [each.text for each in unmapped(policy) if each.path == "contract sending"] == [
        "the process has no purpose, so that it allows nothing"
    ]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("ex:illness dpv:hasConsentStatus dpv:ConsentRefused .", "dpv:hasConsentStatus"),
        ("ex:lab ex:refusedBy ex:ada .", "refusedBy"),
        ("ex:age dct:valid '2020-01-01' .", "dct:valid"),
        ("ex:lab dpv:hasLocation loc:IE, loc:US .", "is a third country cannot be told"),
    ],
)
def test_a_refusal_beside_the_process_is_not_passed_over(more: str, told: str) -> None:
    assert any(told in each for each in narrowing(dpv(record("ada") + more)))


def test_a_recipient_in_a_third_country_gets_nothing_without_safeguards() -> None:
    asked = Request("AcademicResearch", "lab", date(2026, 6, 1))
    assert decide(dpv(record("ada") + "ex:lab dpv:hasLocation loc:IE ."), asked).reason is None
    assert decide(dpv(record("ada") + "ex:lab dpv:hasLocation loc:US ."), asked).reason == THIRD_COUNTRY


def test_the_last_of_several_days_of_consent_counts() -> None:
    more = 'ex:ada dct:hasPart [ a dpv:ConsentGiven ; dpv:isIndicatedAtTime "2026-03-04"^^xsd:date ] .'
    assert dpv(record("ada") + more).purposes[0].point_of_acceptance == "2026-03-04"
