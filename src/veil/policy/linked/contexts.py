"""Contexts of JSON-LD, shipped because nothing is fetched. Derived from ODRL 2.2, see LICENSE-W3C.txt."""

from __future__ import annotations

from typing import Any

from veil.errors import InputError
from veil.policy.linked.terms import PREFIXES

UNKNOWN = "urn:unknown:"
"""The prefix of keys that no context knows, which JSON-LD would drop silently."""

_ODRL = PREFIXES["odrl"]
_NODES = (
    *("assignee", "assigner", "attributedParty", "attributingParty", "compensatedParty", "compensatingParty"),
    *("consentedParty", "consentingParty", "consequence", "constraint", "contractedParty"),
    *("contractingParty", "dataType", "duty", "failure", "hasPolicy", "informedParty", "informingParty"),
    *("inheritFrom", "obligation"),
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


def resolve(tree: Any, name: str) -> Any:
    """Write out every context in a document of JSON-LD; refuse one that would have to be fetched.

    >>> resolve({"@context": "https://example.org/context.jsonld"}, "policy.jsonld")
    Traceback (most recent call last):
    ...
    veil.errors.InputError: policy.jsonld: the context 'https://example.org/context.jsonld' would have to ...
    """
    if isinstance(tree, list):
        return [resolve(each, name) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if "@import" in tree:
        _refuse(tree["@import"], name)
    return {
        key: _context(each, name) if key == "@context" else resolve(each, name) for key, each in tree.items()
    }


def _context(context: Any, name: str) -> Any:
    if isinstance(context, list):
        return [_context(each, name) for each in context]
    if isinstance(context, str):
        shipped = _SHIPPED.get(context.removeprefix("http://").removeprefix("https://").rstrip("#/"))
        return _refuse(context, name) if shipped is None else shipped
    return resolve(context, name)


def _refuse(address: object, name: str) -> Any:
    raise InputError(
        f"{name}: the context {address!r} would have to be fetched, but Veil fetches nothing. Write the "
        "context out; those of ODRL and DPV are built in"
    )
