"""The decision of a policy on the request of one recipient for one purpose on one day.

The order is fixed: the identity of the recipient, the policy and the purpose, the recipients of the purpose,
retention. The first refusal is the answer, and a policy allows no more than those under it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import date
from typing import NamedTuple

from veil.policy.documents.elements import Policy, Purpose
from veil.policy.rules.consent import (
    accepted_from,
    is_accepted,
    is_unprotected,
    refused_data,
    relatives,
    withheld_data,
)
from veil.policy.rules.retention import due_day

UNKNOWN = "the recipient is not known"
CREDENTIAL = "the credential is not that of the recipient"
NO_PURPOSE = "there is no such purpose"
POLICY_REFUSED = "the policy, or a required purpose of it, was not accepted"
NOT_ACCEPTED = "the purpose was not accepted"
NO_DATA = "no datum of the purpose was accepted"
NOT_ALLOWED = "the recipient is not one of the purpose"
RECIPIENT_REFUSED = "the recipient was not accepted"
THIRD_COUNTRY = "the recipient is in a third country, without an adequacy decision or safeguards"
WITHDRAWN = "consent was withdrawn"
RETENTION = "retention is over"

REASONS = (
    *(UNKNOWN, CREDENTIAL, NO_PURPOSE, POLICY_REFUSED, NOT_ACCEPTED, NO_DATA, NOT_ALLOWED, RECIPIENT_REFUSED),
    *(THIRD_COUNTRY, WITHDRAWN, RETENTION),
)


class Request(NamedTuple):
    """A request: the recipient, the purpose and the day."""

    purpose: str
    recipient: str
    on: date
    credential: str | None = None
    ended: date | None = None
    """The day on which the purpose ended, if it has."""


class PolicyVerdict(NamedTuple):
    """The decision of a policy: a purpose with the data to withhold, or the reason of a refusal."""

    purpose: Purpose | None
    reason: str | None = None
    withheld: frozenset[str] = frozenset()


def decide(policy: Policy, request: Request, withdrawn: date | None = None) -> PolicyVerdict:
    """Decide whether a record under this policy may be used, and which of its data may not.

    >>> from veil.policy.documents.elements import Data, Entity
    >>> data = Data("age"), Data("illness", accepted=False)
    >>> purposes = (Purpose("research", opt_out=True, recipients=(Entity("lab"),), data=data),)
    >>> verdict = decide(Policy("p", purposes=purposes), Request("research", "lab", date(2026, 1, 1)))
    >>> verdict.reason is None, verdict.withheld
    (True, frozenset({'illness'}))
    >>> decide(Policy("p", purposes=purposes), Request("marketing", "lab", date(2026, 1, 1))).reason
    'there is no such purpose'
    """
    purpose = policy.purpose(request.purpose)
    reason = _no_entry(policy, request)
    if reason is None and purpose is None:
        reason = NO_PURPOSE
    if reason is not None or purpose is None:
        return PolicyVerdict(None, reason)
    family = [purpose, *relatives(policy, purpose)]
    refused = {name for each in family for name in refused_data(each, request.on)}
    for under in policy.underlying:
        below = decide(under, request)
        if below.reason is not None:
            return below
        refused |= below.withheld
    withheld = withheld_data(purpose, refused)
    reason = _refusal(policy, family, withheld, request) or _end(purpose, request, withdrawn)
    return PolicyVerdict(None, reason) if reason is not None else PolicyVerdict(purpose, None, withheld)


def _no_entry(policy: Policy, request: Request) -> str | None:
    """Return why a recipient is turned away: unknown, or without the credential."""
    recipients = [
        each for purpose in policy.purposes for each in purpose.recipients if each.name == request.recipient
    ]
    if not recipients:
        return UNKNOWN
    # All are compared, so that the time reveals nothing.
    credential = (request.credential or "").encode()
    fits = [
        each.auth_info is None or hmac.compare_digest(each.auth_info.encode(), credential)
        for each in recipients
    ]
    return None if all(fits) else CREDENTIAL


def _refusal(policy: Policy, family: list[Purpose], withheld: frozenset[str], request: Request) -> str | None:
    """Return the consent that is missing. A purpose is refused with one that contains it or is part of it."""
    purpose, *others = family
    if accepted_from(policy) > request.on:
        return POLICY_REFUSED
    if not is_accepted(purpose, request.on) or any(accepted_from(each) > request.on for each in others):
        return NOT_ACCEPTED
    if purpose.data and withheld.issuperset(str(each.name) for each in purpose.data):
        return NO_DATA
    if all(each.name != request.recipient for each in purpose.recipients):
        return NOT_ALLOWED
    recipients = [each for one in family for each in one.recipients if each.name == request.recipient]
    if any(accepted_from(each) > request.on for each in recipients):
        return RECIPIENT_REFUSED
    return THIRD_COUNTRY if any(map(is_unprotected, recipients)) else None


def _end(purpose: Purpose, request: Request, withdrawn: date | None) -> str | None:
    """Return what has ended: consent that was withdrawn, or retention."""
    if withdrawn is not None and withdrawn <= request.on:
        return WITHDRAWN
    due = due_day(purpose.retention, request.ended)
    return RETENTION if due is not None and due <= request.on else None


def decide_all(
    policies: Mapping[str, Policy], request: Request, withdrawn: Mapping[str, date] | None = None
) -> dict[str, PolicyVerdict]:
    """Decide on a request under each policy."""
    days = withdrawn or {}
    return {name: decide(each, request, days.get(name)) for name, each in policies.items()}
