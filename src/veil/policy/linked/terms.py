"""Terms of W3C's Data Privacy Vocabulary (DPV 2.1): their names, broader terms, and counterparts in LPL."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from veil.policy.rules.checks import CATEGORIES
from veil.policy.rules.names import plain

_TERMS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

PREFIXES: dict[str, str] = _TERMS["prefixes"]
_PLACES = [
    *((prefix, re.compile(re.escape(place))) for prefix, place in PREFIXES.items()),
    *((prefix, re.compile(pattern)) for prefix, pattern in _TERMS["other_places"].items()),
]


def short(iri: str) -> str:
    """Return an IRI with the prefix of its vocabulary, of any version; any other IRI unchanged.

    >>> [short(f"https://w3id.org/{each}") for each in ("dpv/2.0#Marketing", "dpv/pd#Age", "x")]
    ['dpv:Marketing', 'pd:Age', 'https://w3id.org/x']
    """
    for prefix, place in _PLACES:
        match = place.match(iri)
        if match is not None:
            name = f"{prefix}:{iri[match.end() :]}"
            return _FORMER.get(name, name)
    return iri


_FORMER = {"dpv:hasPersonalDataHandling": "dpv:hasProcess", "dpv:PersonalDataHandling": "dpv:Process"}
"""Terms of the first version of DPV, with their names in the second."""


def local(name: str) -> str:
    """Return the last part of a name.

    >>> local("dpv:Marketing"), local("https://example.org/purposes/trials"), local("urn:uuid:7f3a")
    ('Marketing', 'trials', '7f3a')
    """
    return re.split(r"[#/:]", name.rstrip("#/:"))[-1] or name


def _broader_terms(text: str) -> dict[str, tuple[str, ...]]:
    """Return the broader terms of each term, from lines of a term and its narrower terms."""
    parents: dict[str, tuple[str, ...]] = {}
    for line in text.strip().splitlines():
        parent, _, children = line.partition(":")
        for child in children.split():
            parents[child] = (*parents.get(child, ()), parent.strip())
    return parents


PURPOSES = _broader_terms(_TERMS["purposes"])

PERSONAL_DATA = _broader_terms(_TERMS["personal_data"])

GROUPS: dict[str, str] = _TERMS["groups"]
"""Categories with the privacy group proposed for them and narrower ones. On others a person decides."""

_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}

LEGAL_BASES: dict[str, str] = _TERMS["legal_bases"]
KINDS_OF_ENTITY = {name: kind for kind, names in _TERMS["entities"].items() for name in names.split()}

ANONYMISATION = ("Anonymisation", "Anonymise", "anonymize", "Deidentification")
DIFFERENTIAL_PRIVACY = ("DifferentialPrivacy",)
RANDOM_PSEUDONYMS = ("Pseudonymisation", "Pseudonymise", "RNGPseudonymisation")
OTHER_PSEUDONYMS = (
    *("DeterministicPseudonymisation", "DocumentRandomisedPseudonymisation"),
    *("FullyRandomisedPseudonymisation", "MonotonicCounterPseudonymisation"),
)
"""Pseudonyms that a policy of Veil has no name for, or that need a key without naming it."""
DEIDENTIFICATION = (*ANONYMISATION, *DIFFERENTIAL_PRIVACY, *RANDOM_PSEUDONYMS, *OTHER_PSEUDONYMS)

CONSENT_GIVEN = ("ConsentGiven", "RenewedConsentGiven")
CONSENT_MISSING = (
    *("ConsentExpired", "ConsentInvalidated", "ConsentRefused", "ConsentRequestDeferred", "ConsentRequested"),
    *("ConsentRevoked", "ConsentUnknown", "ConsentWithdrawn"),
)


def with_broader(start: Iterable[str], above: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """Yield terms and then all broader ones, the nearest first, each once."""
    queue = list(dict.fromkeys(start))
    names = set(queue)
    while queue:
        name = queue.pop(0)
        yield name
        for each in above(name):
            if each not in names:
                names.add(each)
                queue.append(each)


def broader_in(vocabulary: Mapping[str, tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    """Return a function from a term to its directly broader terms."""
    return lambda name: vocabulary.get(name, ())


def group_of_category(names: Iterable[str]) -> str | None:
    """Return the privacy group of the nearest category that has one; None if there is none.

    >>> [group_of_category([each]) for each in ("EmailAddressPersonal", "PostalCode", "Health")]
    ['EI', 'QID', 'SD']
    >>> group_of_category(["FavouriteIceCream"])
    """
    for name in with_broader(names, broader_in(PERSONAL_DATA)):
        if name in _GROUP_OF:
            return _GROUP_OF[name]
    return None


_CATEGORIES = {plain(each): each for each in CATEGORIES}


def category_of_purpose(names: Iterable[str]) -> str:
    """Return the category of LPL that purposes fall under.

    >>> category_of_purpose(["AcademicResearch"]), category_of_purpose(["ImproveHealthcare"])
    ('researchAndDevelopment', 'other')
    """
    for name in with_broader(names, broader_in(PURPOSES)):
        if plain(name) in _CATEGORIES:
            return _CATEGORIES[plain(name)]
    return "other"
