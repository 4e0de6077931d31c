"""The published schemas: canonical output and examples are valid by them, and what is wrong is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import xmlschema
from hypothesis import given, settings

from support.policies import every_policy, lecture
from veil.policy import json_schema, parse, to_json, to_xml, xml_schema
from veil.policy.documents.elements import Policy

DOCS = Path(__file__).parents[3] / "docs"
XSD = xmlschema.XMLSchema(xml_schema())
JSON = jsonschema.Draft202012Validator(json_schema())


def check(policy: Policy) -> None:
    XSD.validate(to_xml(policy))
    JSON.validate(json.loads(to_json(policy)))


def test_what_is_published_is_what_is_made() -> None:
    assert (DOCS / "policy.xsd").read_text(encoding="utf-8") == xml_schema()
    assert json.loads((DOCS / "policy.schema.json").read_text(encoding="utf-8")) == json_schema()
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_lecture_is_valid() -> None:
    for each in lecture().values():
        check(each)


@settings(max_examples=40)
@given(every_policy())
def test_canonical_output_is_valid(policy: Policy) -> None:
    check(policy)


def test_underlying_policies_are_valid() -> None:
    one, other, *_ = lecture().values()
    check(
        Policy(
            "new",
            purposes=one.purposes,
            underlying=(Policy("old", purposes=other.purposes, underlying=(one,)),),
        )
    )


def test_what_the_schemas_do_not_know() -> None:
    check(parse(json.dumps({"layeredPrivacyPolicy": {"name": "p", "colour": "red"}})))
    known = parse(json.dumps({"layeredPrivacyPolicy": {"name": "p", "colour": [{"hue": "red"}]}}))
    JSON.validate(json.loads(to_json(known)))
    assert not XSD.is_valid(to_xml(known))  # XSD 1.0 cannot allow for it
    foreign = '<layeredPrivacyPolicy xmlns:o="urn:other"><o:colour hue="red"/></layeredPrivacyPolicy>'
    assert XSD.is_valid(foreign)


@pytest.mark.parametrize(
    "text",
    [
        '<layeredPrivacyPolicy><purposeList><purpose optOut="perhaps"/></purposeList></layeredPrivacyPolicy>',
        "<layeredPrivacyPolicy><purposeList><data/></purposeList></layeredPrivacyPolicy>",
        "<layeredPrivacyPolicy><purposeList><purpose><legalBasisList><legalBasis/></legalBasisList></purpose></purposeList></layeredPrivacyPolicy>",
        "<policy/>",
    ],
)
def test_what_is_wrong_is_not_valid(text: str) -> None:
    assert not XSD.is_valid(text)


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"layeredPrivacyPolicy": {"name": 3}},
        {"layeredPrivacyPolicy": {"purposeList": {"purpose": [{"optOut": "yes"}]}}},
        {"layeredPrivacyPolicy": {"purposeList": [{"name": "x"}]}},
    ],
)
def test_what_is_wrong_is_not_valid_json(tree: dict[str, Any]) -> None:
    assert not JSON.is_valid(tree)
