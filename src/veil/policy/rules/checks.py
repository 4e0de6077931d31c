"""Problems of a policy, each with the path of its element.

A policy with a grave problem is refused, as carrying it out would take a guess. The others are legal gaps
that do not affect a table: a right that is missing, a controller without an officer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import NamedTuple

from veil.errors import PlanError, VeilError, did_you_mean
from veil.policy.documents.elements import Data, Entity, Policy, Purpose, cached_by_identity
from veil.policy.documents.unmapped_parts import unmapped
from veil.policy.rules.consent import is_unprotected, refusals
from veil.policy.rules.countries import COUNTRIES, ECONOMIC_AREA
from veil.policy.rules.levels import levels_of
from veil.policy.rules.names import plain, requirements
from veil.policy.rules.pseudonyms import check_method
from veil.policy.rules.retention import check_retention

RIGHTS = ("access", "rectification", "erasure", "restriction", "portability", "objection", "intervention")
LEGAL_BASES = (
    *("consent", "contract", "legalObligation", "vitalInterest", "publicTask", "legitimateInterest"),
)
CATEGORIES = (
    *("accountManagement", "communicationManagement", "customerManagement", "enforceSecurity"),
    *("humanResourceManagement", "legalCompliance", "marketing", "organisationGovernance", "personalisation"),
    *("recordManagement", "researchAndDevelopment", "serviceProvision", "vendorManagement", "other"),
    *("commercialInterest", "security", "serviceOptimization", "servicePersonalization"),
)
DATA_TYPES = ("Text", "Number", "Date", "Boolean", "Value Set", "Other")
ENTITY_KINDS = ("Person", "Legal Entity", "Public Authority")
_GROUPS = {"ei": "EI", "qid": "QID", "qi": "QID", "sd": "SD", "sa": "SD", "nsd": "NSD", "nsa": "NSD"}


class PolicyProblem(NamedTuple):
    """A problem of a policy."""

    path: str
    text: str
    grave: bool
    refused: bool = False
    """Whether it is no fault, but a part that the person has not agreed to."""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@cached_by_identity
def group_of(data: Data) -> str:
    """Return the privacy group of a datum: EI, QID, SD or NSD.

    >>> group_of(Data("age", privacy_group="qid")), group_of(Data("job", privacy_group="NSA"))
    ('QID', 'NSD')
    """
    group = _GROUPS.get(plain(data.privacy_group or ""))
    if group is None:
        raise PlanError(f"the privacy group should be EI, QID, SD or NSD, not {data.privacy_group!r}")
    return group


def sensitive_names(purpose: Purpose) -> tuple[str, ...]:
    """Return the names of the sensitive data of a purpose."""
    return tuple(str(each.name) for each in purpose.data if _is_sensitive(each))


@cached_by_identity
def _is_sensitive(data: Data) -> bool:
    return _GROUPS.get(plain(data.privacy_group or "")) == "SD"


def check(policy: Policy, *, secrets: bool = False, on: date | None = None) -> list[PolicyProblem]:
    """List the problems of a policy and of those under it, and the parts that are refused on a day (today).

    >>> purpose = Purpose("research", data=(Data("age", privacy_group="X"),))
    >>> for problem in check(Policy("p", purposes=(purpose,)))[:2]:
    ...     print(problem)
    purposeList.purpose[0].dataList.data[0]: the privacy group should be EI, QID, SD or NSD, not 'X'
    purposeList.purpose[0].retention: is missing. Say how long the data are kept: indefinite, afterPurpose or fixedDate
    """
    problems = list(_grave_problems(policy, secrets))
    if not any(_is_date(each) for each in problems):
        refused_parts = refusals(policy, on or date.today())
        problems += [PolicyProblem(*each, grave=False, refused=True) for each in refused_parts]
    return [*problems, *_gaps(policy)]


def _is_date(problem: PolicyProblem) -> bool:
    return problem.path.endswith("pointOfAcceptance")


def check_to_run(policy: Policy, name: str, *, secrets: bool = False) -> None:
    """Refuse a policy with a grave problem."""
    first = next(_grave_problems(policy, secrets), None)
    if first is not None:
        raise PlanError(f"policy {name!r}, {first}")


# Grave problems


def _grave_problems(policy: Policy, secrets: bool, start: str = "") -> Iterator[PolicyProblem]:
    def grave(path: str, text: str) -> PolicyProblem:
        return PolicyProblem(start + path, text, True)

    for path, text in _duplicates((each.name for each in policy.purposes), "purposeList.purpose", "purpose"):
        yield grave(path, text)
    if not policy.purposes:
        yield grave("purposeList", "the policy has no purpose, so that nothing is allowed. Add one")
    for at, purpose in enumerate(policy.purposes):
        for path, text in _purpose_problems(purpose, secrets):
            yield grave(f"purposeList.purpose[{at}]{path}", text)
    for path, text in _hierarchy_problems(policy):
        yield grave(path, text)
    for each in unmapped(policy):
        if each.narrows:
            yield grave(each.path, each.text)
    for at, under in enumerate(policy.underlying):
        yield from _grave_problems(under, secrets, f"{start}underlyingPrivacyPolicy[{at}].")


def _purpose_problems(purpose: Purpose, secrets: bool) -> Iterator[tuple[str, str]]:
    if not purpose.name:
        yield "", "the purpose has no name. Give it one"
    if not purpose.data:
        yield ".dataList", "the purpose has no data. Name at least one"
    yield from _duplicates((each.name for each in purpose.data), ".dataList.data", "datum")
    yield from _duplicates(
        (each.name for each in purpose.recipients), ".dataRecipientList.dataRecipient", "recipient"
    )
    names = {each.name for each in purpose.data}
    for at, data in enumerate(purpose.data):
        here = f".dataList.data[{at}]"
        yield from _errors_of(here, lambda data=data: group_of(data))  # type: ignore[misc]
        yield from _errors_of(f"{here}.anonymizationMethod", lambda data=data: levels_of(data))  # type: ignore[misc]
    sensitive = sensitive_names(purpose)
    for at, model in enumerate(purpose.models):
        here = f".privacyModelList.privacyModel[{at}]"
        yield from _errors_of(here, lambda model=model: requirements(model, sensitive))  # type: ignore[misc]
        yield from _unknown_data(model.data, names, here)
    for at, method in enumerate(purpose.pseudonymization):
        here = f".pseudonymizationMethodList.pseudonymizationMethod[{at}]"
        yield from _errors_of(here, lambda method=method: check_method(method, secrets=secrets))  # type: ignore[misc]
        if not method.data:
            yield here, "the method names no data. Add nameOfData"
        if len(method.data) > 1 and not method.attr_name:
            yield here, "several data become one pseudonym, which needs a name of its own. Add attrName"
        yield from _unknown_data(method.data, names, here)
    used = [name for method in purpose.pseudonymization for name in method.data]
    for name in used:
        if used.count(name) > 1:
            yield ".pseudonymizationMethodList", f"{name!r} has two methods. Leave one"
            break
    if purpose.retention is None:
        yield (
            ".retention",
            "is missing. Say how long the data are kept: indefinite, afterPurpose or fixedDate",
        )
    else:
        retention = purpose.retention
        yield from _errors_of(".retention", lambda: check_retention(retention))
    for at, recipient in enumerate(purpose.recipients):
        if recipient.third_country_transfer is None and _country(recipient) not in (*COUNTRIES, *_NO_PLACE):
            text = (
                f"{recipient.country!r} is not the code of a country, so it is unknown whether data leave the "
                "European Union. Write a code such as DE, or say thirdCountryTransfer"
            )
            yield f".dataRecipientList.dataRecipient[{at}].country", text


def _errors_of(path: str, act: Callable[[], object]) -> Iterator[tuple[str, str]]:
    try:
        act()
    except VeilError as error:
        yield path, str(error)


def _unknown_data(data: Iterable[str], names: set[str | None], path: str) -> Iterator[tuple[str, str]]:
    for at, name in enumerate(data):
        if name not in names:
            hint = did_you_mean(name, sorted(str(each) for each in names))
            yield f"{path}.nameOfData[{at}]", f"the purpose has no datum {str(name)!r}.{hint}"


def _duplicates(names: Iterable[str | None], path: str, what: str) -> Iterator[tuple[str, str]]:
    positions: dict[str | None, int] = {}
    for at, name in enumerate(names):
        if name in positions:
            yield (
                f"{path}[{at}]",
                f"there is another {what} {name!r}, at {path}[{positions[name]}]. Rename one of them",
            )
        positions.setdefault(name, at)


def _hierarchy_problems(policy: Policy) -> Iterator[tuple[str, str]]:
    """Check that each purpose has one parent and none is its own ancestor."""
    if not policy.hierarchy:
        return
    parents: dict[str, str] = {}
    by_name = {each.name: each for each in policy.purposes}
    for at, link in enumerate(policy.hierarchy):
        here = f"purposeHierarchyList.purposeHierarchy[{at}]"
        above, below = str(link.super_purpose), str(link.sub_purpose)
        if below in parents and parents[below] != above:
            yield here, f"{below!r} has the parents {parents[below]!r} and {above!r}. Leave one"
        parents[below] = above
        if below not in by_name:
            yield (
                here,
                f"there is no purpose {below!r}.{did_you_mean(below, [str(each) for each in by_name])}",
            )
        if above not in by_name and plain(above) not in _CATEGORIES:
            yield here, f"{above!r} is neither a purpose nor a category.{did_you_mean(above, CATEGORIES)}"
        if below in by_name and above in by_name:
            for text in _conflicts_with_parent(by_name[below], by_name[above]):
                yield here, text
    for start in parents:
        lineage, ancestor = {start}, parents[start]
        while ancestor in parents:
            if ancestor in lineage:
                yield "purposeHierarchyList", f"{start!r} lies under itself. Take one of its parents away"
                return
            lineage.add(ancestor)
            ancestor = parents[ancestor]


_CATEGORIES = {plain(each) for each in CATEGORIES}


def _conflicts_with_parent(below: Purpose, above: Purpose) -> Iterator[str]:
    """Check that a part of a purpose asks for no more than the whole."""
    for word, one, other in (
        ("optOut", below.opt_out, above.opt_out),
        ("required", below.required, above.required),
    ):
        if one != other:
            yield f"{below.name!r} has {word} {one}, and {above.name!r}, which it is part of, {other}. Make them alike"
    for what, few, many in (
        ("datum", [each.name for each in below.data], [each.name for each in above.data]),
        ("recipient", [each.name for each in below.recipients], [each.name for each in above.recipients]),
        ("legal basis", list(below.legal_bases), list(above.legal_bases)),
        ("automated decision", list(below.automated_decisions), list(above.automated_decisions)),
    ):
        for name in few:
            if name not in many:
                yield f"{below.name!r} has the {what} {name!r}, and {above.name!r}, which it is part of, has not"


# Gaps


def _gaps(policy: Policy, start: str = "") -> Iterator[PolicyProblem]:
    def gap(path: str, text: str) -> PolicyProblem:
        return PolicyProblem(start + path, text, False)

    for name, value in (("name", policy.name), ("version", policy.version), ("lang", policy.lang)):
        if not value:
            yield gap(name, "is missing")
    if not policy.controllers:
        yield gap("controllerList", "nobody is said to be responsible. Name a controller")
    authority = any(plain(each.classification or "") == "publicauthority" for each in policy.controllers)
    if authority and not policy.officers:
        yield gap("dataProtectionOfficerList", "a public authority needs a data protection officer. Name one")
    decides = any(purpose.automated_decisions for purpose in policy.purposes)
    rights = {plain(each) for each in policy.rights}
    for right in RIGHTS:
        needed = (right != "portability" or not authority) and (right != "intervention" or decides)
        if needed and right not in rights:
            yield gap("dataSubjectRightList", f"the right {right!r} is missing")
    for at, purpose in enumerate(policy.purposes):
        for path, text in _gaps_of_purpose(purpose):
            yield gap(f"purposeList.purpose[{at}]{path}", text)
    for each in unmapped(policy):
        if not each.narrows:
            yield gap(each.path, each.text)
    for at, under in enumerate(policy.underlying):
        yield from _gaps(under, f"{start}underlyingPrivacyPolicy[{at}].")


def _gaps_of_purpose(purpose: Purpose) -> Iterator[tuple[str, str]]:
    if not purpose.legal_bases:
        yield ".legalBasisList", "the purpose has no legal basis"
    legal_bases = {plain(each) for each in LEGAL_BASES}
    for at, basis in enumerate(purpose.legal_bases):
        if plain(basis) not in legal_bases:
            yield (
                f".legalBasisList.legalBasis[{at}]",
                f"{str(basis)!r} is no legal basis.{did_you_mean(basis, LEGAL_BASES)}",
            )
        if plain(basis) == "legalobligation" and not purpose.required:
            yield ".required", "what the law demands is required, and the purpose says that it is not"
    if purpose.required and not purpose.point_of_acceptance and not purpose.accepted:
        yield ".pointOfAcceptance", "the purpose is required and nobody has agreed to it"
    for at, data in enumerate(purpose.data):
        here = f".dataList.data[{at}]"
        if not data.categories:
            yield here, f"the datum {data.name!r} has no category"
        if data.data_type and plain(data.data_type) not in {plain(each) for each in DATA_TYPES}:
            yield (
                f"{here}.dataType",
                f"there is no type {data.data_type!r}.{did_you_mean(data.data_type, DATA_TYPES)}",
            )
    for at, recipient in enumerate(purpose.recipients):
        for text in _gaps_of_recipient(recipient):
            yield f".dataRecipientList.dataRecipient[{at}]", text


def _gaps_of_recipient(recipient: Entity) -> Iterator[str]:
    kind = recipient.classification
    if kind and plain(kind) not in {plain(each) for each in ENTITY_KINDS}:
        yield f"there is no kind of recipient {kind!r}.{did_you_mean(kind, ENTITY_KINDS)}"
    country = _country(recipient)
    if recipient.third_country_transfer and country not in COUNTRIES:
        yield f"a transfer to a third country needs its code, such as CH, not {recipient.country!r}"
    elif recipient.third_country_transfer and country in ECONOMIC_AREA:
        yield f"{country} is in the European Union or its Economic Area, and no third country"
    if is_unprotected(recipient):
        yield (
            "a transfer to a third country needs an adequacy decision or safeguards: nothing is released to "
            f"{recipient.name!r}"
        )


def _country(recipient: Entity) -> str:
    return (recipient.country or "").strip().upper()


_NO_PLACE = ("", *ECONOMIC_AREA)
