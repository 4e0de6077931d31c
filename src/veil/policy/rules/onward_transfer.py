"""Onward transfer: whether a policy is at least as strict as its underlying policy.

A recipient of data may not use them for more purposes, pass them to more recipients, keep them longer or
protect them less. Models are compared by proof: a model that does not follow counts as a lower protection.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from veil.errors import VeilError
from veil.models import PrivacyModel
from veil.models.implication import implied
from veil.policy.documents.elements import Policy, Purpose
from veil.policy.release.combined import terms_of
from veil.policy.rules.checks import PolicyProblem, group_of
from veil.policy.rules.consent import NEVER, accepted_from, is_abroad
from veil.policy.rules.levels import levels_of
from veil.policy.rules.names import Requirement
from veil.policy.rules.retention import day, duration, kind_of

_STRICTNESS = {"EI": 3, "QID": 2, "SD": 2, "NSD": 0}


def widened(policy: Policy, under: Policy) -> list[PolicyProblem]:
    """List where a policy allows more than another one, each with the path of its element.

    >>> from veil.policy.documents.elements import Data, Retention
    >>> age = Data("age", privacy_group="QID")
    >>> old = Policy("old", purposes=(Purpose("research", data=(age,), retention=Retention("indefinite")),))
    >>> new = Policy("new", purposes=(Purpose("marketing", data=(age,), retention=Retention("indefinite")),))
    >>> print(widened(new, old)[0])
    purposeList.purpose[0]: the underlying policy has no purpose 'marketing'. Leave it out
    >>> widened(old, old)
    []
    """
    return [PolicyProblem(path, text, True) for path, text in _widened(policy, under)]


def check_chain(policy: Policy) -> list[PolicyProblem]:
    """List where a policy, or one under it, allows more than its underlying policy."""
    problems = []
    for at, under in enumerate(policy.underlying):
        problems += widened(policy, under)
        here = f"underlyingPrivacyPolicy[{at}]."
        problems += [each._replace(path=here + each.path) for each in check_chain(under)]
    return problems


def _widened(policy: Policy, under: Policy) -> Iterator[tuple[str, str]]:
    old = {each.name: each for each in under.purposes if accepted_from(each) < NEVER}
    if accepted_from(under) == NEVER:
        yield "policy", "the underlying policy was refused, so nothing may be passed on"
    for at, purpose in enumerate(policy.purposes):
        here = f"purposeList.purpose[{at}]"
        below = old.get(purpose.name)
        if below is None:
            yield here, f"the underlying policy has no purpose {purpose.name!r}. Leave it out"
            continue
        yield from _wider_purpose(purpose, below, here)


def _wider_purpose(purpose: Purpose, below: Purpose, here: str) -> Iterator[tuple[str, str]]:
    recipients = {each.name: each for each in below.recipients if accepted_from(each) < NEVER}
    for at, each in enumerate(purpose.recipients):
        path = f"{here}.dataRecipientList.dataRecipient[{at}]"
        if each.name not in recipients:
            yield path, f"the underlying policy does not allow the recipient {each.name!r}. Leave it out"
        elif is_abroad(each) and (recipients[each.name].country, is_abroad(recipients[each.name])) != (
            each.country,
            True,
        ):
            yield (
                path,
                f"the underlying policy does not allow {each.name!r} in {each.country or 'a third country'}",
            )
    if not _keeps_no_longer(purpose, below):
        one, other = purpose.retention, below.retention
        yield (
            f"{here}.retention",
            f"data are kept longer ({_words(one)}) than the underlying policy allows ({_words(other)}). Shorten it",
        )
    yield from _wider_data(purpose, below, here)
    yield from _lower_models(purpose, below, here)
    yield from _lost_pseudonyms(purpose, below, here)


def _words(retention: object) -> str:
    kind = getattr(retention, "type", None)
    point = getattr(retention, "point_in_time", None)
    return "no retention" if kind is None else f"{kind} {point}" if point else str(kind)


def _keeps_no_longer(purpose: Purpose, below: Purpose) -> bool:
    """Return whether data are kept no longer; another kind counts as longer, unless `below` has no end."""
    one, other = purpose.retention, below.retention
    if other is None or kind_of(other) == "indefinite":
        return True
    if one is None or kind_of(one) != kind_of(other):
        return False
    if kind_of(one) == "fixeddate":
        return day(str(one.point_in_time)) <= day(str(other.point_in_time))
    new, old = duration(str(one.point_in_time)), duration(str(other.point_in_time))
    # Months differ in length, so every day of four years is tried as the end of the purpose.
    first = date(2023, 1, 1).toordinal()
    days = (date.fromordinal(first + at) for at in range(1461))
    return (
        new <= old
        if new.days == old.days or new.months == old.months
        else all(new.after(each) <= old.after(each) for each in days)
    )


def _wider_data(purpose: Purpose, below: Purpose, here: str) -> Iterator[tuple[str, str]]:
    old = {each.name: each for each in below.data if accepted_from(each) < NEVER}
    for at, each in enumerate(purpose.data):
        path = f"{here}.dataList.data[{at}]"
        before = old.get(each.name)
        if before is None:
            yield path, f"the underlying policy has no datum {each.name!r}. Leave it out"
            continue
        new_group, old_group = group_of(each), group_of(before)
        if _STRICTNESS[new_group] < _STRICTNESS[old_group] or (
            new_group != old_group and new_group != "EI" and old_group != "NSD"
        ):
            yield (
                path,
                f"{each.name!r} was {old_group} in the underlying policy, and is {new_group} now. Keep it",
            )
        new, floor = levels_of(each), levels_of(before)
        if new.least < floor.least:
            yield (
                f"{path}.anonymizationMethod",
                f"min of {each.name!r} is {new.least}, below the {floor.least} of the underlying policy. Raise it",
            )


def _requirements(purpose: Purpose) -> tuple[Requirement, ...]:
    """Return the requirements of a purpose; none if they are invalid, which `check` reports."""
    try:
        return terms_of(purpose).requirements
    except VeilError:
        return ()


def _models(purpose: Purpose) -> list[PrivacyModel]:
    models = []
    for each in _requirements(purpose):
        try:
            models.append(each.model())
        except VeilError:  # it needs hierarchies, and is compared as written
            continue
    return models


def _lower_models(purpose: Purpose, below: Purpose, here: str) -> Iterator[tuple[str, str]]:
    new = _models(purpose)
    raw_new = {each[:3] for each in _requirements(purpose)}
    for requirement in terms_of(below).requirements:
        if requirement[:3] in raw_new:
            continue
        try:
            model = requirement.model()
        except VeilError:
            model = None
        if model is None or implied(new, model) is None:
            yield (
                f"{here}.privacyModelList",
                f"the underlying policy asks for {model or requirement.kind}, which does not follow from what is asked now. Add it",
            )


def _lost_pseudonyms(purpose: Purpose, below: Purpose, here: str) -> Iterator[tuple[str, str]]:
    now = {name for method in purpose.pseudonymization for name in method.data}
    names = {each.name for each in purpose.data}
    for method in below.pseudonymization:
        for name in method.data:
            if name in names and name not in now:
                yield (
                    f"{here}.pseudonymizationMethodList",
                    f"the underlying policy asks for pseudonyms of {str(name)!r}. Ask for them, too",
                )
