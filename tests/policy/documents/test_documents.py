"""Policies as documents: both shapes in, one out, nothing lost, nothing fetched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.policies import every_policy, lecture
from support.refusals import refused
from veil.base.untrusted import MOST_BYTES
from veil.errors import InputError, OutputError
from veil.policy.documents.documents import as_policies, parse, read, read_all, to_json, to_xml, write
from veil.policy.documents.elements import Policy
from veil.policy.documents.form import from_tree, to_tree

SAMPLE = """<layeredPrivacyPolicy version="1.0" name="clinic-study" lang="en" privacyPolicyUri="https://example.org/pp">
  <dataSource name="alice" classification="Person" authInfo="sub:17" type="DataSource" publicAvailable="FALSE"/>
  <purposeList>
    <purpose name="research" optOut="false" required="False" pointOfAcceptance="1735689600">
      <descriptionList><label lang="en" value="Outcome study"/></descriptionList>
      <dataRecipientList>
        <dataRecipient name="lab" classification="Legal Entity" authInfo="cert:lab" type="DataRecipient" required="true"
          thirdCountryTransfer="false"/>
      </dataRecipientList>
      <retention type="AFTERPURPOSE" pointInTime="P2Y"/>
      <legalBasisList><legalBasis lbCategory="consent"/></legalBasisList>
      <privacyModelList><privacyModel name="k-Anonymity"><privacyModelAttribute key="k" value="3"/></privacyModel>
      </privacyModelList>
      <pseudonymizationMethodList>
        <pseudonymizationMethod name="HMAC-SHA-256" attrName="pid">
          <pseudonymizationMethodAttribute key="keyRef" value="vault:7"/><nameOfData name="name"/>
        </pseudonymizationMethod>
      </pseudonymizationMethodList>
      <dataList>
        <data name="name" dataType="Text" classification="EI" required="true"/>
        <data name="age" dataType="Number" privacyGroup="QID" required="true">
          <dataGroup name="person"/><dataCategory name="dc_demographic"/>
          <anonymizationMethod name="Generalization">
            <anonymizationMethodAttribute key="min" value="1"/><anonymizationMethodAttribute key="max" value="2"/>
            <HierarchyEntry value="25"/><HierarchyEntry value="20-30"/><HierarchyEntry value="&lt;50"/>
          </anonymizationMethod></data>
        <data name="disease" dataType="Text" privacyGroup="SA" required="true"><colour hue="red">deep</colour></data>
      </dataList>
    </purpose>
  </purposeList>
  <underlyingPrivacyPolicy/>
</layeredPrivacyPolicy>
"""

FIRST_SHAPE = {
    "layeredPrivacyPolicy": {
        "name": "viewer",
        "headerList": {"label": [{"lang": "en", "value": "Hello"}]},
        "purposeList": {
            "purpose": [
                {
                    "name": "research",
                    "accepted": True,
                    "retention": {"type": "AFTERPURPOSE", "pointInTime": {"type": "year", "value": 2}},
                    "dataList": {
                        "data": [
                            {
                                "name": "age",
                                "privacyGroup": "QID",
                                "anonymizationMethod": {
                                    "name": "Generalization",
                                    "hierarchy": {
                                        "HierarchyEntryList": {
                                            "HierarchyEntry": [{"value": 25}, {"value": "*"}]
                                        }
                                    },
                                },
                            }
                        ]
                    },
                }
            ]
        },
    }
}

SECOND_SHAPE = {
    "layeredPrivacyPolicy": {
        "name": "editor",
        "purposeList": [
            {
                "name": "research",
                "optOut": "True",
                "retention": {"type": "fixedDate", "pointInTime": "2026-12-31"},
                "legalBasisList": [{"lbCategory": "consent"}],
                "dataList": [
                    {
                        "name": "age",
                        "privacyGroup": "QID",
                        "dataCategoryList": [{"name": "dc_demographic"}],
                        "anonymizationMethod": {
                            "name": "Generalization",
                            "anonymizationMethodAttributeList": [
                                {"key": "Minimum Level", "value": 0},
                                {"key": "Maximum Level", "value": 1},
                            ],
                            "hierarchyEntityList": [{"value": "25"}, {"value": "*"}],
                        },
                    }
                ],
            }
        ],
        "underlyingLayeredPrivacyPolicy": [{"layeredPrivacyPolicy": {"name": "below", "purposeList": []}}],
    }
}

DUMP = """<root><layeredPrivacyPolicy type="dict"><name type="str">editor</name><purposeList type="list"><item type="dict">
<name type="str">research</name><optOut type="bool">True</optOut><retention type="dict"><type type="str">fixedDate</type>
<pointInTime type="str">2026-12-31</pointInTime></retention><legalBasisList type="list"><item type="dict">
<lbCategory type="str">consent</lbCategory></item></legalBasisList><dataList type="list"><item type="dict">
<name type="str">age</name><privacyGroup type="str">QID</privacyGroup><dataCategoryList type="list"><item type="dict">
<name type="str">dc_demographic</name></item></dataCategoryList><anonymizationMethod type="dict">
<name type="str">Generalization</name><anonymizationMethodAttributeList type="list"><item type="dict">
<key type="str">Minimum Level</key><value type="int">0</value></item><item type="dict"><key type="str">Maximum Level</key>
<value type="int">1</value></item></anonymizationMethodAttributeList><hierarchyEntityList type="list"><item type="dict">
<value type="str">25</value></item><item type="dict"><value type="str">*</value></item></hierarchyEntityList>
</anonymizationMethod></item></dataList></item></purposeList><underlyingLayeredPrivacyPolicy type="list"><item type="dict">
<layeredPrivacyPolicy type="dict"><name type="str">below</name><purposeList type="list"></purposeList></layeredPrivacyPolicy>
</item></underlyingLayeredPrivacyPolicy></layeredPrivacyPolicy></root>"""


def test_the_sample_is_read_whatever_its_case() -> None:
    found = parse(SAMPLE)
    purpose = found.purposes[0]
    assert found.source is not None
    assert found.source.public_available is False
    assert purpose.required is False
    assert purpose.data[0].privacy_group == "EI"
    assert purpose.data[1].method is not None
    assert purpose.data[1].method.entries == ("25", "20-30", "<50")
    assert found.underlying == ()


def test_both_shapes_and_the_dump_say_the_same() -> None:
    first, second, dumped = (
        parse(json.dumps(FIRST_SHAPE)),
        parse(json.dumps(SECOND_SHAPE)),
        parse(DUMP),
    )
    assert first.header[0].value == "Hello"
    assert first.purposes[0].accepted is True
    retention = first.purposes[0].retention
    assert retention is not None
    assert retention.point_in_time == "P2Y"
    method = first.purposes[0].data[0].method
    assert method is not None
    assert method.entries == ("25", "*")
    assert second == dumped
    assert second.underlying[0].name == "below"
    assert second.purposes[0].opt_out is True


def test_xml_to_json_to_xml_is_equal_and_keeps_what_nobody_knows() -> None:
    found = parse(SAMPLE)
    text = to_xml(found)
    assert parse(to_json(parse(text))) == found
    assert to_xml(parse(to_json(found))) == text
    assert '<colour hue="red">deep</colour>' in text
    assert parse(to_json(found)) == found


@settings(max_examples=25, deadline=None)
@given(every_policy())
def test_any_policy_survives_both_forms(policy: Policy) -> None:
    assert parse(to_json(policy)) == policy
    assert parse(to_xml(policy)) == policy


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><layeredPrivacyPolicy name="&b;"/>'
FETCH = (
    '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><layeredPrivacyPolicy>&a;</layeredPrivacyPolicy>'
)
REMOTE = '<!DOCTYPE l SYSTEM "http://example.org/lpl.dtd"><layeredPrivacyPolicy/>'
DEEP_XML = "<layeredPrivacyPolicy>" + "<a>" * 200 + "</a>" * 200 + "</layeredPrivacyPolicy>"
DEEP_JSON = '{"layeredPrivacyPolicy": ' + '{"a":[' * 200 + "]}" * 200 + "}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LAUGHS, "document type"),
        (FETCH, "document type"),
        (REMOTE, "document type"),
        (DEEP_XML, "nested more than 100 deep"),
        (DEEP_JSON, "nested more than 100 deep"),
        ("[" * 1_000_000, "nested more than 100 deep"),
        ("<a>" * 1000, "nested more than 100 deep"),
        ("<layeredPrivacyPolicy>&undefined;</layeredPrivacyPolicy>", "undefined entity"),
        ("<other/>", "begins with 'layeredPrivacyPolicy', not 'other'"),
        ('{"a": 1, "a": 2}', "appears twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"layeredPrivacyPolicy": [1, 2]}', "a policy should be an element with parts"),
        (
            '{"layeredPrivacyPolicy": {"purposeList": [{"optOut": "maybe"}]}}',
            r"purposeList\[0\].optOut: should be true",
        ),
        (
            '{"layeredPrivacyPolicy": {"purposeList": ["research"]}}',
            r"purposeList\[0\]: should be an element",
        ),
        (b"\xff\xfe{", "not"),
    ],
    ids=range(15),
)
def test_what_is_hostile_or_broken_is_refused(text: str | bytes, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse(text)


def test_large_documents_are_refused_before_they_are_read(tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    with file.open("wb") as opened:
        opened.truncate(100_000_000)  # a hole: nothing is on the disk
    with refused(InputError, "document may have"):
        read(file)
    lines = tmp_path / "large.jsonl"
    with lines.open("wb") as opened:
        opened.truncate(MOST_BYTES + 2)
    with refused(InputError, "document may have"):
        read_all(lines)


def test_many_policies_come_from_folders_lines_and_lists(tmp_path: Path) -> None:
    people = lecture()
    for name, each in people.items():
        write(each, tmp_path / f"{name}.xml")
    assert read_all(tmp_path) == people
    with pytest.raises(OutputError, match="already exists"):
        write(people["Bob"], tmp_path / "Bob.xml")
    write(people["Bob"], tmp_path / "Bob.json")
    with refused(InputError, "another policy", "this id"):
        read_all(tmp_path)
    lines = tmp_path / "people.jsonl"
    lines.write_text(
        "\n".join(json.dumps({"layeredPrivacyPolicy": to_tree(each)}) for each in people.values())
    )
    assert read_all(lines) == people
    assert as_policies(list(people.values())) == people
    with refused(InputError, "another policy", "'Bob'"):
        as_policies([people["Bob"], people["Bob"]])


def test_a_policy_is_the_same_however_it_is_written() -> None:
    found = from_tree(FIRST_SHAPE)
    assert found == parse(to_xml(found))
    assert found != parse(SAMPLE)
