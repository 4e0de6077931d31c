"""Contexts of JSON-LD that documents name: shipped, as nothing is fetched. Derived from ODRL 2.2, see LICENSE-W3C.txt."""

from __future__ import annotations

from typing import Any

from veil.errors import InputError
from veil.policy.linked.terms import PREFIXES

UNKNOWN = "urn:unknown:"
"""What keys become that no context knows: JSON-LD would drop them without a word."""

_ODRL = PREFIXES["odrl"]
_NODES = (
    *("assignee", "assigner", "attributedParty", "attributingParty", "compensatedParty", "compensatingParty"),
    *(
        "consentedParty",
        "consentingParty",
        "consequence",
        "constraint",
        "contractedParty",
        "contractingParty",
    ),
    *(
        "dataType",
        "duty",
        "failure",
        "hasPolicy",
        "informedParty",
        "informingParty",
        "inheritFrom",
        "obligation",
    ),
    *("output", "partOf", "permission", "profile", "prohibition", "refinement", "relation", "remedy"),
    *("rightOperandReference", "source", "target", "trackedParty", "trackingParty", "unit"),
)
_WORDS = ("action", "conflict", "function", "implies", "includedIn", "leftOperand", "operator", "scope")
_LISTS = ("and", "andSequence", "or", "xone")

ODRL_CONTEXT: dict[str, Any] = {
    **PREFIXES,
    "@vocab": _ODRL,
    "uid": "@id",
    "type": "@type",
    **{name: {"@id": _ODRL + name, "@type": "@id"} for name in _NODES},
    **{name: {"@id": _ODRL + name, "@type": "@vocab"} for name in _WORDS},
    **{name: {"@id": _ODRL + name, "@type": "@id", "@container": "@list"} for name in _LISTS},
}
DPV_CONTEXT: dict[str, Any] = {**PREFIXES, "@vocab": PREFIXES["dpv"]}

_SHIPPED = {
    "www.w3.org/ns/odrl.jsonld": ODRL_CONTEXT,
    "www.w3.org/ns/odrl": ODRL_CONTEXT,
    "w3id.org/dpv": DPV_CONTEXT,
    "w3id.org/dpv/dpv.jsonld": DPV_CONTEXT,
}


def resolved(tree: Any, name: str) -> Any:
    """Return a document of JSON-LD in which every context is written out; refuse one that would have to be fetched.

    >>> resolved({"@context": "https://example.org/context.jsonld"}, "policy.jsonld")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.jsonld: the context 'https://example.org/context.jsonld' would have to be fetched, ...
    """
    if isinstance(tree, list):
        return [resolved(each, name) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if "@import" in tree:
        _refuse(tree["@import"], name)
    return {
        key: _context(each, name) if key == "@context" else resolved(each, name) for key, each in tree.items()
    }


def _context(given: Any, name: str) -> Any:
    if isinstance(given, list):
        return [_context(each, name) for each in given]
    if isinstance(given, str):
        shipped = _SHIPPED.get(given.removeprefix("http://").removeprefix("https://").rstrip("#/"))
        return _refuse(given, name) if shipped is None else shipped
    return resolved(given, name)


def _refuse(address: object, name: str) -> Any:
    raise InputError(
        f"{name}: the context {address!r} would have to be fetched, but Veil fetches nothing. Write the "
        "context out; those of ODRL and DPV are built in"
    )
