"""What a Layered Privacy Language policy consists of.

Each class is one element, and each of its fields says how documents spell it: that is the single source for readers,
writers and both schemas. What a document has beyond that is kept in `extra` and written back.

Elements that are no more than a name or a value (data categories, rights, entries of a hierarchy …) are text.
"""

# ruff: noqa: RUF009 (what is called here declares a field)
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

Kind = Literal["text", "flag", "one", "many", "texts"]


class Spelled(NamedTuple):
    """How documents spell a field."""

    name: str
    kind: Kind
    aliases: tuple[str, ...] = ()
    element: str = ""
    """The class of an element, by its name; of texts, the attribute that holds the text."""
    wrapped: bool = False
    """Whether the canonical form has a list around the elements."""


class Text(str):
    """A name or value whose element has more to say."""

    extra: dict[str, Any]
    __slots__ = ("extra",)

    def __new__(cls, text: str, extra: dict[str, Any]) -> Text:
        """Return the text with what else its element says."""
        made = super().__new__(cls, text)
        made.extra = extra
        return made


def _text(name: str, *aliases: str) -> Any:
    return dataclasses.field(default=None, metadata={"spelled": Spelled(name, "text", aliases)})


def _flag(name: str, *aliases: str) -> Any:
    return dataclasses.field(default=None, metadata={"spelled": Spelled(name, "flag", aliases)})


def _one(element: str, name: str, *aliases: str) -> Any:
    return dataclasses.field(default=None, metadata={"spelled": Spelled(name, "one", aliases, element)})


def _many(element: str, name: str, *aliases: str, wrapped: bool = True) -> Any:
    return dataclasses.field(
        default=(), metadata={"spelled": Spelled(name, "many", aliases, element, wrapped)}
    )


def _texts(name: str, *aliases: str, key: str = "name", wrapped: bool = False) -> Any:
    return dataclasses.field(default=(), metadata={"spelled": Spelled(name, "texts", aliases, key, wrapped)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What every element has: room for what nobody knows."""

    extra: dict[str, Any] = dataclasses.field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described(Element):
    """What most elements have: words for people."""

    header: tuple[Label, ...] = _many("Label", "header", "head")
    description: tuple[Label, ...] = _many("Label", "description", "desc", "descr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Described):
    """What may be accepted or refused by itself, beside purposes and data."""

    accepted: bool | None = _flag("accepted")
    point_of_acceptance: str | None = _text("pointOfAcceptance")


@dataclass(frozen=True, slots=True)
class Label(Element):
    """Words for people in one language."""

    lang: str | None = _text("lang")
    value: str | None = _text("value")


@dataclass(frozen=True, slots=True)
class Attribute(Element):
    """A parameter of a method or model."""

    key: str | None = _text("key")
    value: str | None = _text("value")


_NO_SAFEGUARD = frozenset(("", "-", "none", "no", "null", "n/a", "keine", "nein"))


@dataclass(frozen=True, slots=True)
class Entity(Part):
    """Somebody: the data source, a recipient, a controller, a data protection officer or an authority."""

    name: str | None = _text("name")
    classification: str | None = _text("classification")
    auth_info: str | None = _text("authInfo")
    type: str | None = _text("type")
    public_available: bool | None = _flag("publicAvailable")
    required: bool | None = _flag("required")
    third_country_transfer: bool | None = _flag("thirdCountryTransfer")
    country: str | None = _text("country")
    adequacy_decision: bool | None = _flag("adequacyDecision")
    first_name: str | None = _text("firstName")
    last_name: str | None = _text("lastName")
    address: str | None = _text("address")
    phone_number: str | None = _text("phoneNumber")
    email: str | None = _text("email")
    safeguards: tuple[str, ...] = _texts("safeguard", wrapped=True)

    @property
    def has_safeguards(self) -> bool:
        """Whether a safeguard is named: a blank, or a word that says there is none, names nothing."""
        return any(each.strip().casefold() not in _NO_SAFEGUARD for each in self.safeguards)


@dataclass(frozen=True, slots=True)
class Retention(Part):
    """How long data are kept: `indefinite`, `afterPurpose` with a duration, or `fixedDate` with a date."""

    type: str | None = _text("type")
    point_in_time: str | None = _text("pointInTime")


@dataclass(frozen=True, slots=True)
class PrivacyModel(Part):
    """A guarantee for the whole table."""

    name: str | None = _text("name")
    attributes: tuple[Attribute, ...] = _many(
        "Attribute", "privacyModelAttribute", "attribute", wrapped=False
    )
    data: tuple[str, ...] = _texts("nameOfData")


@dataclass(frozen=True, slots=True)
class PseudonymizationMethod(Part):
    """How names become pseudonyms; `attr_name` is the column that holds them."""

    name: str | None = _text("name")
    attr_name: str | None = _text("attrName")
    attributes: tuple[Attribute, ...] = _many(
        "Attribute", "pseudonymizationMethodAttribute", "attribute", wrapped=False
    )
    data: tuple[str, ...] = _texts("nameOfData")


@dataclass(frozen=True, slots=True)
class AnonymizationMethod(Part):
    """How one value becomes coarser: entry 0 is the value, each further one a level."""

    name: str | None = _text("name")
    attributes: tuple[Attribute, ...] = _many(
        "Attribute", "anonymizationMethodAttribute", "attribute", wrapped=False
    )
    entries: tuple[str, ...] = _texts(
        "HierarchyEntry", "hierarchy", "hierarchyEntity", "hierarchyEntry", key="value"
    )


@dataclass(frozen=True, slots=True)
class Data(Described):
    """One attribute of a person, for one purpose."""

    name: str | None = _text("name")
    data_type: str | None = _text("dataType")
    privacy_group: str | None = _text("privacyGroup", "pGroup", "classification")
    required: bool | None = _flag("required")
    point_of_acceptance: str | None = _text("pointOfAcceptance")
    accepted: bool | None = _flag("accepted")
    groups: tuple[str, ...] = _texts("dataGroup", "dGroup")
    categories: tuple[str, ...] = _texts("dataCategory")
    method: AnonymizationMethod | None = _one("AnonymizationMethod", "anonymizationMethod")


@dataclass(frozen=True, slots=True)
class Purpose(Described):
    """What data may be used for: which, by whom, how long and with which guarantees."""

    name: str | None = _text("name")
    opt_out: bool | None = _flag("optOut")
    required: bool | None = _flag("required")
    point_of_acceptance: str | None = _text("pointOfAcceptance")
    accepted: bool | None = _flag("accepted")
    recipients: tuple[Entity, ...] = _many("Entity", "dataRecipient")
    retention: Retention | None = _one("Retention", "retention")
    legal_bases: tuple[str, ...] = _texts("legalBasis", key="lbCategory", wrapped=True)
    automated_decisions: tuple[str, ...] = _texts("automatedDecisionMaking", wrapped=True)
    models: tuple[PrivacyModel, ...] = _many("PrivacyModel", "privacyModel")
    pseudonymization: tuple[PseudonymizationMethod, ...] = _many(
        "PseudonymizationMethod", "pseudonymizationMethod"
    )
    data: tuple[Data, ...] = _many("Data", "data")


@dataclass(frozen=True, slots=True)
class SubPurpose(Element):
    """A purpose that is part of another one, or of a category."""

    super_purpose: str | None = _text("superPurpose")
    sub_purpose: str | None = _text("subPurpose")


@dataclass(frozen=True, slots=True)
class Policy(Part):
    """A Layered Privacy Language policy: what one person, or a template, allows."""

    name: str | None = _text("name")
    version: str | None = _text("version")
    lang: str | None = _text("lang")
    uri: str | None = _text("privacyPolicyUri")
    source: Entity | None = _one("Entity", "dataSource")
    controllers: tuple[Entity, ...] = _many("Entity", "controller")
    officers: tuple[Entity, ...] = _many("Entity", "dataProtectionOfficer")
    complaint: Entity | None = _one("Entity", "lodgeComplaint")
    rights: tuple[str, ...] = _texts("dataSubjectRight", wrapped=True)
    icons: tuple[str, ...] = _texts("icon", wrapped=True)
    hierarchy: tuple[SubPurpose, ...] = _many("SubPurpose", "purposeHierarchy")
    purposes: tuple[Purpose, ...] = _many("Purpose", "purpose")
    underlying: tuple[Policy, ...] = _many(
        "Policy", "underlyingPrivacyPolicy", "underlyingLayeredPrivacyPolicy", wrapped=False
    )

    def purpose(self, name: str) -> Purpose | None:
        """Return the purpose of a name, if the policy has it."""
        return next((each for each in self.purposes if each.name == name), None)


ELEMENTS: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        *(Label, Attribute, Entity, Retention, PrivacyModel, PseudonymizationMethod, AnonymizationMethod),
        *(Data, Purpose, SubPurpose, Policy),
    )
}


_spelled: dict[type[Any], dict[str, Spelled]] = {}


def spelled(element: type[Any]) -> dict[str, Spelled]:
    """Return how documents spell each field of an element."""
    if element not in _spelled:
        fields = sorted(
            dataclasses.fields(element), key=lambda each: each.kw_only is True
        )  # its own come first
        _spelled[element] = {
            each.name: each.metadata["spelled"] for each in fields if "spelled" in each.metadata
        }
    return _spelled[element]


_MOST = 200_000
_Made = TypeVar("_Made")
_Element = TypeVar("_Element")


def once(function: Callable[[_Element], _Made]) -> Callable[[_Element], _Made]:
    """Let a function of an element remember its results, by identity.

    Readers hand out equal parts of many policies as one object, so what is found out of it once holds for all of them. To
    hash an element would take longer than most such functions do. What fails is tried again.
    """
    known: dict[int, tuple[_Element, _Made]] = {}

    @functools.wraps(function)
    def remembering(element: _Element) -> _Made:
        found = known.get(id(element))
        if found is not None:
            return found[1]  # the element is held, so that nobody else has its id
        made = function(element)
        if len(known) >= _MOST:
            known.clear()
        known[id(element)] = (element, made)
        return made

    return remembering
