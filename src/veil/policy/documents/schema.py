"""The JSON schema and the XML schema of LPL in its canonical shape, made of the declared elements.

The JSON schema allows unknown contents, as readers keep them. The XML schema allows unknown attributes, and
elements of other namespaces only: XSD 1.0 cannot allow further elements besides declared ones.
"""

from __future__ import annotations

from typing import Any

from veil.policy.documents.elements import ELEMENTS, Spelling, spellings
from veil.policy.documents.form import ROOT


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a policy.

    >>> json_schema()["required"]
    ['layeredPrivacyPolicy']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Layered Privacy Language policy",
        "type": "object",
        "required": [ROOT],
        "properties": {ROOT: {"$ref": "#/$defs/Policy"}},
        "$defs": {
            name: {
                "type": "object",
                "description": (element.__doc__ or "").splitlines()[0],
                "properties": dict(_property(field) for field in spellings(element).values()),
            }
            for name, element in ELEMENTS.items()
        },
    }


def _property(field: Spelling) -> tuple[str, dict[str, Any]]:
    if field.kind == "text":
        return field.name, {"type": "string"}
    if field.kind == "flag":
        return field.name, {"type": "boolean"}
    if field.kind == "one":
        return field.name, {"$ref": f"#/$defs/{field.element}"}
    if field.kind == "texts":
        item: dict[str, Any] = {
            "type": "object",
            "required": [field.element],
            "properties": {field.element: {"type": "string"}},
        }
    else:
        item = {"$ref": f"#/$defs/{field.element}"}
    if field.element == "Policy":
        item = {"type": "object", "required": [ROOT], "properties": {ROOT: item}}
    items = {"type": "array", "items": item}
    if not field.wrapped:
        return field.name, items
    return f"{field.name}List", {"type": "object", "properties": {_inner(field): items}}


def _inner(field: Spelling) -> str:
    return "label" if field.element == "Label" else field.name


def xml_schema() -> str:
    """Return the XML schema (XSD) of a policy."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">',
        f'  <xs:element name="{ROOT}" type="Policy"/>',
    ]
    for name, element in ELEMENTS.items():
        lines += [f'  <xs:complexType name="{name}">', '    <xs:choice minOccurs="0" maxOccurs="unbounded">']
        fields = list(spellings(element).values())
        for field in fields:
            if field.kind not in ("text", "flag"):
                lines += [f"      {line}" for line in _xml_element(field)]
        lines += ['      <xs:any processContents="skip" namespace="##other"/>', "    </xs:choice>"]
        for field in fields:
            if field.kind in ("text", "flag"):
                kind = "xs:string" if field.kind == "text" else "xs:boolean"
                lines.append(f'    <xs:attribute name="{field.name}" type="{kind}"/>')
        lines += ['    <xs:anyAttribute processContents="skip"/>', "  </xs:complexType>"]
    return "\n".join([*lines, "</xs:schema>", ""])


def _xml_element(field: Spelling) -> list[str]:
    if field.kind == "one":
        return [f'<xs:element name="{field.name}" type="{field.element}"/>']
    name = _inner(field) if field.wrapped else field.name
    if field.kind == "texts":
        inner = [
            f'<xs:element name="{name}" maxOccurs="unbounded"><xs:complexType>',
            f'  <xs:attribute name="{field.element}" type="xs:string" use="required"/>',
            '  <xs:anyAttribute processContents="skip"/>',
            "</xs:complexType></xs:element>",
        ]
    elif field.element == "Policy":
        inner = [
            f'<xs:element name="{name}"><xs:complexType><xs:sequence>',
            f'  <xs:element name="{ROOT}" type="Policy" minOccurs="0"/>',
            "</xs:sequence></xs:complexType></xs:element>",
        ]
    else:
        inner = [f'<xs:element name="{name}" type="{field.element}" maxOccurs="unbounded"/>']
    if not field.wrapped:
        return inner
    return [
        f'<xs:element name="{field.name}List"><xs:complexType><xs:sequence>',
        *(f"  {line}" for line in inner),
        "</xs:sequence></xs:complexType></xs:element>",
    ]
