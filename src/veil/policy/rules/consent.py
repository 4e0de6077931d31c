"""Consent: which parts of a policy a person has not agreed to, and the consequences for parts around them.

A part is refused if its `accepted` is false, and until its point of acceptance if that is yet to come.
Purposes, data and recipients can be left out of a policy; if a required one is refused, so is the part that
contains it. Any other part (retention, a model, how a value is generalized) cannot be left out without
changing the agreement: its refusal always refuses the part that contains it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

from veil.policy.documents.elements import ELEMENTS, Entity, Policy, Purpose, cached_by_identity, spellings
from veil.policy.rules.countries import COUNTRIES, ECONOMIC_AREA
from veil.policy.rules.retention import day

NEVER = date.max
"""The day from which a refused part is accepted."""

_SEPARABLE = ("data", "recipients", "purposes")
"""Fields whose elements can be left out, unless they are required."""

_LIMITING = re.compile(
    "accept|condition|consent|constrain|den(y|ied)|expir|forbid|forbidden|objection|opt-?_?(in|out)|prohibit|refus|"
    "reject|restrict|revo[ck]|until|valid|withdr",
    re.IGNORECASE,
)


def is_limiting(name: str) -> bool:
    """Return whether the name of an unknown element suggests that it allows less.

    >>> is_limiting("consentStatus"), is_limiting("icon")
    (True, False)
    """
    return _LIMITING.search(name) is not None


def accepted_from(part: Any) -> date:
    """Return the day from which a part and all that it requires is accepted; `NEVER` if it is refused.

    A part without a statement is accepted with the part that contains it.

    >>> from veil.policy.documents.elements import Data
    >>> accepted_from(Data("age", accepted=False)) == NEVER
    True
    >>> accepted_from(Purpose("p", data=(Data("age", required=True, point_of_acceptance="2027-01-01"),)))
    datetime.date(2027, 1, 1)
    >>> accepted_from(Purpose("research", data=(Data("age", required=False, accepted=False),))) == date.min
    True
    """
    latest = _own_day(part)
    for name, _, each in elements_in(part):
        if name not in _SEPARABLE or each.required:
            own = (accepted_from if isinstance(each, Purpose) else _cached_day)(each)
            latest = own if own > latest else latest
    return latest


@cached_by_identity
def _cached_day(part: Any) -> date:
    return accepted_from(part)


@functools.cache
def _fields(kind: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the fields that hold elements, each with its step of a path and whether there may be many."""
    fields = []
    for name, each in spellings(ELEMENTS[kind]).items():
        if each.kind in ("one", "many") and each.element not in ("Label", "Policy"):
            step = f"{each.name}List.{each.name}" if each.wrapped else each.name
            fields.append((name, step, each.kind == "many"))
    return tuple(fields)


def elements_in(element: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the elements in an element, each with its field and the step of a path to it.

    Labels are not among them, nor underlying policies, which are decided by themselves.
    """
    for name, step, many in _fields(type(element).__name__):
        value = getattr(element, name)
        if many:
            for at, each in enumerate(value):
                yield name, f"{step}[{at}]", each
        elif value is not None:
            yield name, step, value


def _own_day(part: Any) -> date:
    if getattr(part, "accepted", None) is False:
        return NEVER
    moment = getattr(part, "point_of_acceptance", None)
    return day(moment) if moment else date.min


def is_accepted(purpose: Purpose, on: date) -> bool:
    """Return whether a purpose is accepted by a day: by opt-in, or by opt-out without an objection.

    >>> is_accepted(Purpose("research", opt_out=False, point_of_acceptance="1735689600"), date(2026, 1, 1))
    True
    >>> is_accepted(Purpose("research", opt_out=False), date(2026, 1, 1))
    False
    """
    consents = purpose.accepted or purpose.point_of_acceptance or purpose.opt_out
    return bool(consents) and accepted_from(purpose) <= on


def relatives(policy: Policy, purpose: Purpose) -> list[Purpose]:
    """Return the purposes that a purpose is part of, and those that are part of it.

    A release for a purpose is one for its parts and for the whole, so a refusal of one refuses the others.
    """
    if not policy.hierarchy:
        return []
    names = {purpose.name}
    for above, below in (("super_purpose", "sub_purpose"), ("sub_purpose", "super_purpose")):
        reached = {purpose.name}
        while (
            further := {getattr(each, above) for each in policy.hierarchy if getattr(each, below) in reached}
            - reached
        ):
            reached |= further
        names |= reached
    return [each for each in policy.purposes if each.name in names and each is not purpose]


def refused_data(purpose: Purpose, on: date) -> set[str]:
    """Return the names of the data of a purpose that are not accepted on a day."""
    return {str(each.name) for each in purpose.data if _cached_day(each) > on}


def withheld_data(purpose: Purpose, refused: set[str]) -> frozenset[str]:
    """Return the names of data to withhold: refused ones, and those that share a pseudonym with one."""
    inputs = [each.data for each in purpose.pseudonymization if not refused.isdisjoint(map(str, each.data))]
    return frozenset(refused | {str(name) for names in inputs for name in names})


def is_abroad(recipient: Entity) -> bool:
    """Return whether a recipient is in a third country: outside the European Economic Area."""
    country = (recipient.country or "").strip().upper()
    return bool(recipient.third_country_transfer) or country in COUNTRIES - ECONOMIC_AREA


@cached_by_identity
def is_unprotected(recipient: Entity) -> bool:
    """Return whether data would go to a third country without an adequacy decision or safeguards.

    >>> is_unprotected(Entity("lab", country="US")), is_unprotected(Entity("lab", country="NO"))
    (True, False)
    """
    decided = bool(recipient.adequacy_decision) and (recipient.country or "").strip().upper() in COUNTRIES
    return is_abroad(recipient) and not decided and not recipient.has_safeguards


# Refusals


class Refusal(NamedTuple):
    """A part of a policy that was refused, with the path of its element and the consequence."""

    path: str
    text: str


def refusals(policy: Policy, on: date) -> list[Refusal]:
    """List every part that is refused on a day, also in underlying policies."""
    result = list(_refusals(policy, on, "", "policy"))
    for at, under in enumerate(policy.underlying):
        here = f"underlyingPrivacyPolicy[{at}]."
        result += [each._replace(path=here + each.path) for each in refusals(under, on)]
    return result


def _refusals(part: Any, on: date, path: str, field: str) -> Iterator[Refusal]:
    if _own_day(part) > on:
        text = f"{_title(part, field)} {_when(part)}: {_effect(part, field)}"
        yield Refusal(path or "accepted", text)
    for name, step, each in elements_in(part):
        yield from _refusals(each, on, f"{path}.{step}".lstrip("."), name)


_TITLES = {
    "data": "datum",
    "models": "privacy model",
    "pseudonymization": "pseudonymization",
    "source": "data source",
}


def _title(part: Any, field: str) -> str:
    words = _TITLES.get(field, field.removesuffix("s"))
    name = getattr(part, "name", None)
    return f"the {words} {name!r}" if name else f"the {words}"


def _when(part: Any) -> str:
    return "was refused" if _own_day(part) == NEVER else f"is not accepted before {_own_day(part)}"


_EFFECTS = {
    "policy": "nothing under it is released",
    "purposes": "nothing is released for it",
    "data": "its values are withheld",
    "recipients": "nothing is released to it",
}


def _effect(part: Any, field: str) -> str:
    own = _EFFECTS.get(field)
    further = "what it is part of is refused with it"
    if own is None:
        return further
    return f"{own}, and as it is required, {further}" if getattr(part, "required", None) else own
