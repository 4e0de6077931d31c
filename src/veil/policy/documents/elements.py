"""The elements of a Layered Privacy Language policy.

Each class is one element, and each of its fields declares how documents spell it: the single source for
readers, writers and both schemas. All else in a document is kept in `extra` and written back.

Elements that are no more than a name or a value (data categories, rights, entries of a hierarchy …) are text.
"""

# ruff: noqa: RUF009 (these calls declare fields)
from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

Kind = Literal["text", "flag", "one", "many", "texts"]


class Spelling(NamedTuple):
    """The spelling of a field in documents."""

    name: str
    kind: Kind
    aliases: tuple[str, ...] = ()
    element: str = ""
    """The name of the class of an element; for texts, the attribute that holds the text."""
    wrapped: bool = False
    """Whether the canonical form has a list around the elements."""


class Text(str):
    """A name or value with the other contents of its element."""

    extra: dict[str, Any]
    __slots__ = ("extra",)

    def __new__(cls, text: str, extra: dict[str, Any]) -> Text:
        """Return the text with the other contents of its element."""
        result = super().__new__(cls, text)
        result.extra = extra
        return result


def _text(name: str, *aliases: str) -> Any:
    return dataclasses.field(default=None, metadata={"spelling": Spelling(name, "text", aliases)})


def _flag(name: str, *aliases: str) -> Any:
    return dataclasses.field(default=None, metadata={"spelling": Spelling(name, "flag", aliases)})


def _one(element: str, name: str, *aliases: str) -> Any:
    return dataclasses.field(default=None, metadata={"spelling": Spelling(name, "one", aliases, element)})


def _many(element: str, name: str, *aliases: str, wrapped: bool = True) -> Any:
    return dataclasses.field(
        default=(), metadata={"spelling": Spelling(name, "many", aliases, element, wrapped)}
    )


def _texts(name: str, *aliases: str, key: str = "name", wrapped: bool = False) -> Any:
    return dataclasses.field(
        default=(), metadata={"spelling": Spelling(name, "texts", aliases, key, wrapped)}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """The common part of all elements: room for unknown contents."""

    extra: dict[str, Any] = dataclasses.field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described(Element):
    """The common part of most elements: labels for readers."""

    header: tuple[Label, ...] = _many("Label", "header", "head")
    description: tuple[Label, ...] = _many("Label", "description", "desc", "descr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Described):
    """An element that may be accepted or refused by itself, besides purposes and data."""

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
    """A person or body: data source, recipient, controller, data protection officer or authority."""

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
        """Whether a safeguard is named; blanks and words such as "none" do not count."""
        return any(each.strip().casefold() not in _NO_SAFEGUARD for each in self.safeguards)


@dataclass(frozen=True, slots=True)
class Retention(Part):
    """How long data are kept: `indefinite`, `afterPurpose` with a duration, or `fixedDate` with a date."""

    type: str | None = _text("type")
    point_in_time: str | None = _text("pointInTime")


@dataclass(frozen=True, slots=True)
class PolicyModel(Part):
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
    models: tuple[PolicyModel, ...] = _many("PolicyModel", "privacyModel")
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
        *(Label, Attribute, Entity, Retention, PolicyModel, PseudonymizationMethod, AnonymizationMethod),
        *(Data, Purpose, SubPurpose, Policy),
    )
}


_spellings: dict[type[Any], dict[str, Spelling]] = {}


def spellings(element: type[Any]) -> dict[str, Spelling]:
    """Return the spelling of each field of an element."""
    if element not in _spellings:
        fields = sorted(dataclasses.fields(element), key=lambda each: each.kw_only is True)  # own ones first
        declared = [each for each in fields if "spelling" in each.metadata]
        _spellings[element] = {each.name: each.metadata["spelling"] for each in declared}
    return _spellings[element]


_MOST = 200_000
_Result = TypeVar("_Result")
_Element = TypeVar("_Element")


def cached_by_identity(function: Callable[[_Element], _Result]) -> Callable[[_Element], _Result]:
    """Cache the results of a function of an element, by the identity of the element.

    Readers return equal parts of many policies as one object, so that one result serves all of them. Hashing
    an element would take longer than most such functions do. Errors are not cached.
    """
    cache: dict[int, tuple[_Element, _Result]] = {}

    @functools.wraps(function)
    def with_cache(element: _Element) -> _Result:
        entry = cache.get(id(element))
        if entry is not None:
            return entry[1]  # the cache holds the element, so that no other has its id
        result = function(element)
        if len(cache) >= _MOST:
            cache.clear()
        cache[id(element)] = (element, result)
        return result

    return with_cache
