"""Usage policies of SPECIAL as concepts: classes of operations.

A policy is a union of authorizations, each an intersection of classes of data, purposes, processing, storage
and recipients: `∃hasData.Location ⊓ ∃hasStorage.(∃hasLocation.EU ⊓ ∃durationInDays.[0, 30])`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Union


class NamedClass(NamedTuple):
    """A class, by its name."""

    name: str


class EmptyClass(NamedTuple):
    """The class without members."""


class And(NamedTuple):
    """The intersection of classes; without any, the class of everything."""

    parts: tuple[Concept, ...]


class Or(NamedTuple):
    """The union of classes."""

    parts: tuple[Concept, ...]


class SomeValuesFrom(NamedTuple):
    """The class of all things whose role is filled by a member of a class."""

    role: str
    of: Concept


class Within(NamedTuple):
    """The class of all things whose feature is a whole number in an interval."""

    feature: str
    low: float
    high: float


Concept = Union[NamedClass, EmptyClass, And, Or, SomeValuesFrom, Within]  # noqa: UP007 (it refers to itself)


@dataclass(frozen=True)
class Ontology:
    """Axioms about names: subclasses, disjoint classes, and the ranges of roles.

    Every role and every number is functional: an operation has one purpose, one recipient and so on, each of
    which may belong to any number of classes.
    """

    above: dict[str, frozenset[str]] = field(default_factory=dict)
    """The direct superclasses of each class."""
    disjoint: frozenset[frozenset[str]] = frozenset()
    ranges: dict[str, str] = field(default_factory=dict)

    def all_above(self, name: str) -> frozenset[str]:
        """Return a class and all its superclasses."""
        classes, open_ = {name}, [name]
        while open_:
            for each in self.above.get(open_.pop(), ()):
                if each not in classes:
                    classes.add(each)
                    open_.append(each)
        return frozenset(classes)


_PURPOSES = (
    *("Account", "Admin", "AnyContact", "Arts", "AuxPurpose", "Browsing", "Charity", "Communicate", "Custom"),
)
_PROCESSING = ("Aggregate", "Anonymize", "Collect", "Copy", "Derive", "Move", "Query", "Transfer")
_DURATIONS = ("BusinessPractices", "Indefinitely", "LegalRequirement", "StatedPurpose")
_RECIPIENTS = ("Delivery", "OtherRecipient", "Ours", "Public", "Same", "Unrelated")
_DATA = (
    *("Activity", "Anonymized", "AudiovisualActivity", "Computer", "Content", "Demographic", "Derived"),
    *("Financial", "Government", "Health", "Interactive", "Judicial", "Location", "Navigation", "Online"),
    *("OnlineActivity", "Physical", "PhysicalActivity", "Political", "Preference", "Profile", "Purchase"),
    *("Social", "State", "Statistical", "TelecomActivity", "UniqueId"),
)

VOCABULARY = Ontology(
    above={
        **{each: frozenset({"AnyData"}) for each in _DATA},
        **{each: frozenset({"AnyPurpose"}) for each in _PURPOSES},
        **{each: frozenset({"AnyProcessing"}) for each in _PROCESSING},
        **{each: frozenset({"AnyDuration"}) for each in _DURATIONS},
        **{each: frozenset({"AnyRecipient"}) for each in _RECIPIENTS},
        "Analyze": frozenset({"Derive"}),
        "EU": frozenset({"EULike"}),
        "EULike": frozenset({"AnyLocation"}),
        "ThirdCountries": frozenset({"AnyLocation"}),
    },
    disjoint=frozenset(frozenset({one, other}) for one in _DURATIONS for other in _DURATIONS if one < other),
    ranges={
        "hasData": "AnyData",
        "hasPurpose": "AnyPurpose",
        "hasProcessing": "AnyProcessing",
        "hasRecipient": "AnyRecipient",
        "hasStorage": "AnyStorage",
        "hasLocation": "AnyLocation",
        "hasDuration": "AnyDuration",
    },
)
"""The names of SPECIAL's vocabularies, as far as policies need them."""
