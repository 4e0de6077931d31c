"""Usage policies as documents, in all spellings."""

from __future__ import annotations

import itertools

import pytest

from veil.errors import InputError
from veil.policy.special import complies, parse
from veil.policy.special.concepts import (
    And,
    Concept,
    NamedClass,
    Or,
    SomeValuesFrom,
    Within,
)

# ruff: noqa: ISC004
SPELLINGS = [
    "ObjectIntersectionOf(ObjectSomeValuesFrom(spl:hasProcessing svpr:Analyse) ObjectSomeValuesFrom(spl:hasLocation svl:EU))",
    "ObjectIntersectionOf(ObjectSomeValuesFrom(spl:has_processing <https://www.specialprivacy.eu/vocabs/processing#Analyze>) "
    "ObjectSomeValuesFrom(spl:hasStorage ObjectSomeValuesFrom(spl:hasLocation <http://www.specialprivacy.eu/vocabs/locations#EU>)))",
    """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#">
    <owl:Class rdf:about="http://example.org/p"><owl:equivalentClass><owl:Class><owl:intersectionOf rdf:parseType="Collection">
    <owl:Restriction><owl:onProperty rdf:resource="http://www.specialprivacy.eu/langs/usage-policy#hasProcessing"/>
    <owl:someValuesFrom rdf:resource="http://www.specialprivacy.eu/vocabs/processing#Analyse"/></owl:Restriction>
    <owl:Restriction><owl:onProperty rdf:resource="http://www.specialprivacy.eu/langs/usage-policy#hasLocation"/>
    <owl:someValuesFrom rdf:resource="https://www.specialprivacy.eu/vocabs/locationsEU"/></owl:Restriction>
    </owl:intersectionOf></owl:Class></owl:equivalentClass></owl:Class></rdf:RDF>""",
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), list(itertools.product(range(3), range(3))))
def test_spellings_are_one(one: int, other: int) -> None:
    assert complies(parse(SPELLINGS[one]), parse(SPELLINGS[other]))


def days(inner: str) -> Concept:
    return parse(f"ObjectSomeValuesFrom(spl:hasStorage {inner})")


BOUNDS = (
    'DatatypeRestriction(xsd:integer xsd:minInclusive "0"^^xsd:integer xsd:maxExclusive "31"^^xsd:integer)'
)


def test_days_are_one_wherever_they_stand() -> None:
    forms = [
        days(f"DataSomeValuesFrom(spl:durationInDays {BOUNDS})"),
        days(f"DataSomeValuesFrom(spl:has_duration {BOUNDS})"),
        days(f"ObjectSomeValuesFrom(spl:hasDuration DataSomeValuesFrom(spl:durationInDays {BOUNDS}))"),
        parse(f"ObjectSomeValuesFrom(spl:hasDuration DataSomeValuesFrom(spl:durationInDays {BOUNDS}))"),
    ]
    expected = SomeValuesFrom("hasStorage", Within("durationInDays", 0, 30))
    assert all(form == expected for form in forms)


RDF_DAYS = """<rdf:RDF xmlns:rdf="r" xmlns:owl="o" xmlns:xsd="x"><owl:Class><owl:unionOf rdf:parseType="Collection">
<owl:Restriction><owl:onProperty rdf:resource="http://x#durationInDays"/><owl:someValuesFrom><rdfs:Datatype xmlns:rdfs="s">
<owl:onDatatype rdf:resource="xsd:integer"/><owl:withRestrictions rdf:parseType="Collection">
<rdf:Description><xsd:minInclusive>0</xsd:minInclusive></rdf:Description>
<rdf:Description><xsd:maxInclusive>30</xsd:maxInclusive></rdf:Description></owl:withRestrictions></rdfs:Datatype>
</owl:someValuesFrom></owl:Restriction><rdf:Description rdf:about="http://x#Null"/></owl:unionOf></owl:Class></rdf:RDF>"""


def test_intervals_of_rdf_are_read() -> None:
    assert parse(RDF_DAYS) == Or(
        (SomeValuesFrom("hasStorage", Within("durationInDays", 0, 30)), NamedClass("Null"))
    )


def test_the_lecture_writes_a_value() -> None:
    found = parse('ObjectIntersectionOf(Demographic kAnonymous DataSomeValueFrom(has_k "10"/xsd:integer))')
    assert found == And((NamedClass("Demographic"), NamedClass("kAnonymous"), Within("has_k", 10, 10)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ObjectIntersectionOf(",
        "ObjectSomeValuesFrom(a b c)",
        "ObjectAllValuesFrom(a b)",
        'DataSomeValuesFrom(f "many")',
        "ObjectUnionOf(" * 200,
        '<!DOCTYPE rdf:RDF [<!ENTITY a "b">]><rdf:RDF/>',
        "<rdf:RDF xmlns:rdf='r'/>",
    ],
    ids=range(8),
)
def test_what_is_no_usage_policy_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)
