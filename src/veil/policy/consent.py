"""Consent: which parts of a policy a person has not agreed to, and what follows for the parts around them.

A part is refused if it says `accepted` false, and until its point of acceptance if that is yet to come. Purposes, data
and recipients can be left out of a policy; a refused one that is required refuses whatever it is part of. Anything else
(retention, a model, how a value is generalized) cannot be left out without changing what the person agreed to, so it
always refuses what it is part of.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

from veil.policy.countries import COUNTRIES, ECONOMIC_AREA
from veil.policy.elements import ELEMENTS, Entity, Policy, Purpose, once, spelled
from veil.policy.retention import day

NEVER = date.max
"""The day from which something is accepted that was refused."""

_SEPARABLE = ("data", "recipients", "purposes")
"""Fields whose elements can be left out, unless they are required."""

_LIMITING = re.compile(
    "accept|condition|consent|constrain|den(y|ied)|expir|forbid|forbidden|objection|opt-?_?(in|out)|prohibit|refus|"
    "reject|restrict|revo[ck]|until|valid|withdr",
    re.IGNORECASE,
)


def is_limiting(name: str) -> bool:
    """Say whether the name of something that Veil does not know sounds as if it allowed less.

    >>> is_limiting("consentStatus"), is_limiting("icon")
    (True, False)
    """
    return _LIMITING.search(name) is not None


def accepted_from(part: Any) -> date:
    """Return the day from which a part and everything that belongs to it is accepted; `NEVER`, if it is refused.

    A part that says nothing is accepted with what it is part of.

    >>> from veil.policy.elements import Data
    >>> accepted_from(Data("age", accepted=False)) == NEVER
    True
    >>> accepted_from(Purpose("research", data=(Data("age", required=True, point_of_acceptance="2027-01-01"),)))
    datetime.date(2027, 1, 1)
    >>> accepted_from(Purpose("research", data=(Data("age", required=False, accepted=False),))) == date.min
    True
    """
    found = _own_day(part)
    for name, _, each in inner(part):
        if name not in _SEPARABLE or each.required:
            own = (accepted_from if isinstance(each, Purpose) else _remembered)(each)
            found = own if own > found else found
    return found


@once
def _remembered(part: Any) -> date:
    return accepted_from(part)


@functools.cache
def _fields(kind: str) -> tuple[tuple[str, str, bool], ...]:
    """Return which fields of an element hold elements, the step of a path to them, and whether there may be many."""
    made = []
    for name, each in spelled(ELEMENTS[kind]).items():
        if each.kind in ("one", "many") and each.element not in ("Label", "Policy"):
            step = f"{each.name}List.{each.name}" if each.wrapped else each.name
            made.append((name, step, each.kind == "many"))
    return tuple(made)


def inner(element: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the elements in an element, each with the field that holds it and the step of a path to it.

    Not among them are words for people, and policies under it, which are decided by themselves.
    """
    for name, step, many in _fields(type(element).__name__):
        held = getattr(element, name)
        if many:
            for at, each in enumerate(held):
                yield name, f"{step}[{at}]", each
        elif held is not None:
            yield name, step, held


def _own_day(part: Any) -> date:
    if getattr(part, "accepted", None) is False:
        return NEVER
    moment = getattr(part, "point_of_acceptance", None)
    return day(moment) if moment else date.min


def is_accepted(purpose: Purpose, on: date) -> bool:
    """Whether somebody has agreed to a purpose by a day: said so, or not said no where that is asked for.

    >>> is_accepted(Purpose("research", opt_out=False, point_of_acceptance="1735689600"), date(2026, 1, 1))
    True
    >>> is_accepted(Purpose("research", opt_out=False), date(2026, 1, 1))
    False
    """
    said = purpose.accepted or purpose.point_of_acceptance or purpose.opt_out
    return bool(said) and accepted_from(purpose) <= on


def relatives(policy: Policy, purpose: Purpose) -> list[Purpose]:
    """Return the purposes that a purpose is part of, and those that are part of it.

    What is released for a purpose is released for its parts, and for the whole, so a refusal of one refuses the others.
    """
    if not policy.hierarchy:
        return []
    names = {purpose.name}
    for above, below in (("super_purpose", "sub_purpose"), ("sub_purpose", "super_purpose")):
        reached = {purpose.name}
        while (
            found := {getattr(each, above) for each in policy.hierarchy if getattr(each, below) in reached}
            - reached
        ):
            reached |= found
        names |= reached
    return [each for each in policy.purposes if each.name in names and each is not purpose]


def refused_data(purpose: Purpose, on: date) -> set[str]:
    """Return the names of data of a purpose that are not accepted on a day."""
    return {str(each.name) for each in purpose.data if _remembered(each) > on}


def withheld_data(purpose: Purpose, refused: set[str]) -> frozenset[str]:
    """Return the names of data that stay back: a pseudonym of a refused datum is not made, nor its other data shown."""
    lost = [each.data for each in purpose.pseudonymization if not refused.isdisjoint(map(str, each.data))]
    return frozenset(refused | {str(name) for names in lost for name in names})


def is_abroad(recipient: Entity) -> bool:
    """Say whether somebody is in a third country: outside of the European Union and its Economic Area."""
    country = (recipient.country or "").strip().upper()
    return bool(recipient.third_country_transfer) or country in COUNTRIES - ECONOMIC_AREA


@once
def is_unprotected(recipient: Entity) -> bool:
    """Say whether data would go to a third country without an adequacy decision or safeguards.

    >>> is_unprotected(Entity("lab", country="US")), is_unprotected(Entity("lab", country="NO"))
    (True, False)
    """
    decided = bool(recipient.adequacy_decision) and (recipient.country or "").strip().upper() in COUNTRIES
    return is_abroad(recipient) and not decided and not recipient.has_safeguards


# What is told


class Refusal(NamedTuple):
    """A part of a policy that was refused, with the path of its element and what follows."""

    path: str
    text: str


def refusals(policy: Policy, on: date) -> list[Refusal]:
    """List every part that is refused on a day, also in the policies under it."""
    found = list(_refusals(policy, on, "", "policy"))
    for at, under in enumerate(policy.underlying):
        here = f"underlyingPrivacyPolicy[{at}]."
        found += [each._replace(path=here + each.path) for each in refusals(under, on)]
    return found


def _refusals(part: Any, on: date, path: str, field: str) -> Iterator[Refusal]:
    if _own_day(part) > on:
        told = f"{_title(part, field)} {_when(part)}: {_effect(part, field)}"
        yield Refusal(path or "accepted", told)
    for name, step, each in inner(part):
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
